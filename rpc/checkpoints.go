package rpc

import (
	"context"

	"hexapla/layers"
	"hexapla/rpc/wire"
	"hexapla/session"
)

func (b *backend) memoryFlashSave(ctx context.Context, p *wire.MemoryFlashSaveParams) (*wire.MemoryFlashSaveResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	reply, err := s.FlashSaveMemory(ctx, session.FlashSave{Agent: p.Agent, Items: draftsFromWire(p.Items), Tokens: p.Tokens, Limit: p.Limit, Key: p.Key})
	if err != nil {
		return nil, domainError(err)
	}
	out := &wire.MemoryFlashSaveResult{
		Due: reply.Due, Percent: reply.Percent, Items: savedToWire(reply.Items), Hot: itemsToWire(reply.Hot), Memory: countsToWire(reply.Change), Sequence: reply.Sequence,
	}
	if reply.Due {
		checkpoint := wire.MemoryCheckpoint(reply.Checkpoint)
		out.Checkpoint = &checkpoint
		b.recorded(p.Session, wire.MethodMemoryFlashSave, reply.Sequence, "")
		b.remembered(p.Session, "flashSave", reply.Change, reply.Sequence)
	}
	return out, nil
}

func (b *backend) memoryCheckpoints(_ context.Context, p *wire.MemoryCheckpointsParams) (*wire.MemoryCheckpointsResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	list, total, seq, err := s.Checkpoints(p.Agent, p.Limit)
	if err != nil {
		return nil, domainError(err)
	}
	out := &wire.MemoryCheckpointsResult{Checkpoints: []wire.MemoryCheckpoint{}, Total: total, Sequence: seq}
	for _, checkpoint := range list {
		out.Checkpoints = append(out.Checkpoints, wire.MemoryCheckpoint(checkpoint))
	}
	return out, nil
}

func (b *backend) memoryRestore(ctx context.Context, p *wire.MemoryRestoreParams) (*wire.MemoryRestoreResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	reply, err := s.RestoreMemory(ctx, p.Agent, p.Checkpoint, p.Key)
	if err != nil {
		return nil, domainError(err)
	}
	b.recorded(p.Session, wire.MethodMemoryRestore, reply.Sequence, "")
	b.remembered(p.Session, "restore", reply.Change, reply.Sequence)
	return &wire.MemoryRestoreResult{Removed: reply.Removed, Memory: countsToWire(reply.Change), Sequence: reply.Sequence}, nil
}

func (b *backend) memoryDiff(_ context.Context, p *wire.MemoryDiffParams) (*wire.MemoryDiffResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	req := session.MemoryDiff{Agent: p.Agent, Checkpoint: p.Checkpoint, Tiers: tiersFromWire(p.Tiers)}
	for _, item := range p.Held {
		req.Held = append(req.Held, session.HeldItem(item))
	}
	reply, err := s.DiffMemory(req)
	if err != nil {
		return nil, domainError(err)
	}
	return &wire.MemoryDiffResult{
		Agent: reply.Agent, Added: itemsToWire(reply.Added), Changed: itemsToWire(reply.Changed), Removed: reply.Removed,
		Unchanged: reply.Unchanged, More: reply.More, Sequence: reply.Sequence,
	}, nil
}

func draftsFromWire(items []wire.MemoryDraft) []session.ItemDraft {
	var out []session.ItemDraft
	for _, item := range items {
		out = append(out, session.ItemDraft{ID: item.ID, Type: layers.ItemType(item.Type), Content: item.Content})
	}
	return out
}

func savedToWire(items []session.SavedItem) []wire.MemorySaved {
	out := []wire.MemorySaved{}
	for _, item := range items {
		out = append(out, wire.MemorySaved{ID: item.ID, Tier: string(item.Tier), Importance: item.Importance, Tokens: item.Tokens})
	}
	return out
}
