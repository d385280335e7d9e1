package rpc

import (
	"context"
	"encoding/json"

	"hexapla/layers"
	"hexapla/rpc/wire"
	"hexapla/session"
)

func (b *backend) packReceipt(ctx context.Context, p *wire.PackReceiptParams) (*wire.PackReceiptResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	r, err := s.Receipt(ctx, session.ReceiptRequest{Checksum: p.Checksum, Against: p.Against, Limit: p.Limit, Cursor: p.Cursor})
	if err != nil {
		return nil, domainError(err)
	}
	result := &wire.PackReceiptResult{
		From: markToWire(r.Against, r.From), To: markToWire(p.Checksum, r.To), Cursor: r.Cursor,
		Losses: make([]wire.Loss, 0, len(r.Losses)), Counts: make([]wire.FactCount, 0, len(r.Counts)), Facts: make([]wire.Fact, 0, len(r.Facts)),
	}
	for _, l := range r.Losses {
		result.Losses = append(result.Losses, wire.Loss{
			ID: l.ID, Section: l.Section, From: l.From.Detail, To: detailOr(l.To, layers.FormNone),
			FromTokens: l.From.Tokens, ToTokens: l.To.Tokens, Reason: l.Reason, Handle: l.Handle,
		})
	}
	for _, c := range r.Counts {
		result.Counts = append(result.Counts, wire.FactCount{Kind: string(c.Kind), Survived: c.Survived, Dropped: c.Dropped})
	}
	for _, f := range r.Facts {
		result.Facts = append(result.Facts, wire.Fact{Kind: string(f.Kind), Text: f.Text, Survived: f.Survived, Handle: f.Handle, In: f.In})
	}
	return result, nil
}

func (b *backend) packUndo(ctx context.Context, p *wire.PackUndoParams) (*wire.PackUndoResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	reply, err := s.Undo(ctx, session.UndoRequest{Checksum: p.Checksum, MaxTokens: p.MaxTokens, Key: p.Key})
	if err != nil {
		return nil, domainError(err)
	}
	b.recorded(p.Session, wire.MethodPackUndo, reply.Sequence, "")
	result := &wire.PackUndoResult{
		Previous: reply.Previous, Rebuilt: reply.Pack.Checksum, Match: reply.Pack.Checksum == reply.Previous,
		Pack: json.RawMessage(reply.Pack.Canonical), Unarchived: reply.Unarchived, Sequence: reply.Sequence,
		Restored: make([]wire.RestoredItem, 0, len(reply.Restored)), NotRestored: make([]wire.NotRestoredItem, 0, len(reply.NotRestored)),
	}
	for _, r := range reply.Restored {
		result.Restored = append(result.Restored, wire.RestoredItem{ID: r.ID, Handle: r.Handle, Detail: string(r.Detail), Tokens: r.Tokens, Whole: r.Whole})
	}
	for _, n := range reply.NotRestored {
		result.NotRestored = append(result.NotRestored, wire.NotRestoredItem(n))
	}
	return result, nil
}
