package session

import (
	"context"

	"hexapla/layers"
	"hexapla/storage"
)

// Limits of pins.
const (
	maxPins     = 50
	maxPinBytes = 8 << 10
)

// Pin is a text that stands in every pack of the workspace and is never dropped.
type Pin struct {
	ID     string
	Text   string
	Tokens int // by the session's model
}

// pinRecord is the body of a pin.
type pinRecord struct {
	Text    string `json:"text"`
	Removed bool   `json:"removed,omitempty"`
}

// PinReply is the receipt of a pin.
type PinReply struct {
	Pin      Pin
	Sequence int64 `json:"-"`
}

// pinRequest is what a key stands for.
type pinRequest struct {
	Pin  string `json:"pin,omitempty"`
	Text string `json:"text,omitempty"`
}

// AddPin pins a text. A text that is pinned already keeps its pin.
func (s *Session) AddPin(ctx context.Context, text, key string) (PinReply, error) {
	text = asText(text)
	switch {
	case text == "":
		return PinReply{}, invalid("text", "must not be empty")
	case len(text) > maxPinBytes:
		return PinReply{}, &InvalidError{Path: "text", Message: "too long", Limit: maxPinBytes}
	}
	reply, receipt, err := write(ctx, s.Workspace, "pin/add", s.ID, key, pinRequest{Text: text}, func(tx *storage.Tx) (PinReply, error) {
		pins, err := s.pins(tx.View())
		if err != nil {
			return PinReply{}, err
		}
		for _, pin := range pins {
			if pin.Text == text {
				return PinReply{Pin: pin}, nil
			}
		}
		if len(pins) >= maxPins {
			return PinReply{}, &InvalidError{Path: "text", Message: "there are too many pins; remove one", Limit: maxPins}
		}
		pin := Pin{ID: tx.NextID("p"), Text: text, Tokens: s.pinItem("", text).Form.Tokens}
		during, _, err := ongoing(tx.View(), s.ID)
		if err != nil {
			return PinReply{}, err
		}
		tx.Put(storage.Draft{Kind: kindPin, ID: pin.ID, Parent: during, Body: encode(pinRecord{Text: text}), Lists: []string{listPins}})
		return PinReply{Pin: pin}, nil
	})
	reply.Sequence = receipt.Seq
	return reply, err
}

// RemovePin takes a pin away. Packs of the past keep it.
func (s *Session) RemovePin(ctx context.Context, id, key string) (PinReply, error) {
	reply, receipt, err := write(ctx, s.Workspace, "pin/remove", s.ID, key, pinRequest{Pin: id}, func(tx *storage.Tx) (PinReply, error) {
		pins, err := s.pins(tx.View())
		if err != nil {
			return PinReply{}, err
		}
		for _, pin := range pins {
			if pin.ID == id {
				tx.Put(storage.Draft{Kind: kindPin, ID: id, Body: encode(pinRecord{Removed: true})})
				return PinReply{Pin: pin}, nil
			}
		}
		return PinReply{}, notFound("pin", id)
	})
	reply.Sequence = receipt.Seq
	return reply, err
}

// Pins lists the workspace's pins, oldest first.
func (s *Session) Pins() (pins []Pin, seq int64, err error) {
	err = s.Workspace.view(0, func(v storage.View) error {
		seq = v.Seq()
		pins, err = s.pins(v)
		return err
	})
	return pins, seq, err
}

func (s *Session) pins(v storage.View) ([]Pin, error) {
	pins, err := pinsOf(v)
	for i := range pins {
		pins[i].Tokens = s.pinItem("", pins[i].Text).Form.Tokens
	}
	return pins, err
}

// pinItem is a pin as it stands in a pack.
func (s *Session) pinItem(id, text string) layers.Item {
	p := packer{ws: s.Workspace, counter: s.Workspace.counter(s.Model())}
	return p.pinItem(id, text)
}

func (p *packer) pinItem(id, text string) layers.Item {
	return layers.Item{ID: id, Form: p.form(layers.FormFull, block(p.ws.fence.Heading("# Pinned"), p.ws.fence.Clean(text)))}
}

// pinItems are the pins as of the pack's view.
func (p *packer) pinItems() ([]layers.Item, error) {
	pins, err := pinsOf(p.view)
	if err != nil {
		return nil, err
	}
	var items []layers.Item
	for _, pin := range pins {
		items = append(items, p.pinItem(pin.ID, pin.Text))
	}
	return items, nil
}

// pinsOf returns the pins as of a view, without their tokens.
func pinsOf(v storage.View) ([]Pin, error) {
	entries, err := v.List(listPins, 0, v.ListLen(listPins))
	if err != nil {
		return nil, err
	}
	pins := []Pin{}
	for _, entry := range entries {
		body, _, ok, err := latest[pinRecord](v, kindPin, entry.ID)
		if err != nil {
			return nil, err
		}
		if ok && !body.Removed {
			pins = append(pins, Pin{ID: entry.ID, Text: body.Text})
		}
	}
	return pins, nil
}
