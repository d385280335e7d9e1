package rpc

import (
	"context"

	"hexapla/rpc/wire"
	"hexapla/session"
)

func (b *backend) pinAdd(ctx context.Context, p *wire.PinAddParams) (*wire.PinAddResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	reply, err := s.AddPin(ctx, p.Text, p.Key)
	if err != nil {
		return nil, domainError(err)
	}
	b.recorded(p.Session, wire.MethodPinAdd, reply.Sequence, "")
	return &wire.PinAddResult{Pin: pinToWire(reply.Pin), Sequence: reply.Sequence}, nil
}

func (b *backend) pinRemove(ctx context.Context, p *wire.PinRemoveParams) (*wire.PinRemoveResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	reply, err := s.RemovePin(ctx, p.Pin, p.Key)
	if err != nil {
		return nil, domainError(err)
	}
	b.recorded(p.Session, wire.MethodPinRemove, reply.Sequence, "")
	return &wire.PinRemoveResult{Pin: pinToWire(reply.Pin), Sequence: reply.Sequence}, nil
}

func (b *backend) pinList(_ context.Context, p *wire.PinListParams) (*wire.PinListResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	pins, seq, err := s.Pins()
	if err != nil {
		return nil, domainError(err)
	}
	out := &wire.PinListResult{Pins: make([]wire.Pin, 0, len(pins)), Sequence: seq}
	for _, pin := range pins {
		out.Pins = append(out.Pins, pinToWire(pin))
	}
	return out, nil
}

func pinToWire(pin session.Pin) wire.Pin { return wire.Pin(pin) }
