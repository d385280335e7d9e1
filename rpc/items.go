package rpc

import (
	"context"

	"hexapla/layers"
	"hexapla/rpc/wire"
	"hexapla/session"
)

func (b *backend) memorySave(ctx context.Context, p *wire.MemorySaveParams) (*wire.MemorySaveResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	reply, err := s.SaveMemory(ctx, session.MemorySave{Agent: p.Agent, Items: draftsFromWire(p.Items), Remove: p.Remove, Key: p.Key})
	if err != nil {
		return nil, domainError(err)
	}
	b.recorded(p.Session, wire.MethodMemorySave, reply.Sequence, "")
	b.remembered(p.Session, "save", reply.Change, reply.Sequence)
	return &wire.MemorySaveResult{Items: savedToWire(reply.Items), Removed: reply.Removed, Memory: countsToWire(reply.Change), Sequence: reply.Sequence}, nil
}

func (b *backend) memoryLoad(ctx context.Context, p *wire.MemoryLoadParams) (*wire.MemoryLoadResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	reply, err := s.LoadMemory(ctx, session.MemoryLoad{Agent: p.Agent, Tiers: tiersFromWire(p.Tiers), IDs: p.IDs, Limit: p.Limit, Peek: p.Peek, Key: p.Key})
	if err != nil {
		return nil, domainError(err)
	}
	if !p.Peek && len(reply.Items) > 0 {
		b.recorded(p.Session, wire.MethodMemoryLoad, reply.Sequence, "")
	}
	return &wire.MemoryLoadResult{Agent: reply.Agent, Items: itemsToWire(reply.Items), More: reply.More, Sequence: reply.Sequence}, nil
}

func (b *backend) memoryRetier(ctx context.Context, p *wire.MemoryRetierParams) (*wire.MemoryRetierResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	reply, err := s.RetierMemory(ctx, p.Agent, p.Key)
	if err != nil {
		return nil, domainError(err)
	}
	if len(reply.Change.Moved) > 0 {
		b.recorded(p.Session, wire.MethodMemoryRetier, reply.Sequence, "")
		b.remembered(p.Session, "retier", reply.Change, reply.Sequence)
	}
	return &wire.MemoryRetierResult{Moved: movesToWire(reply.Change.Moved), Memory: countsToWire(reply.Change), Sequence: reply.Sequence}, nil
}

func (b *backend) memoryStats(_ context.Context, p *wire.MemoryStatsParams) (*wire.MemoryStatsResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	stats, seq, err := s.MemoryStats(p.Agent)
	if err != nil {
		return nil, domainError(err)
	}
	out := &wire.MemoryStatsResult{Agents: []wire.MemoryAgentStats{}, Sequence: seq}
	for _, agent := range stats {
		one := wire.MemoryAgentStats{Agent: agent.Agent, Tiers: []wire.MemoryTierStats{}, Items: agent.Items, Tokens: agent.Tokens, Archived: agent.Archived}
		for _, tier := range agent.Tiers {
			one.Tiers = append(one.Tiers, wire.MemoryTierStats{Tier: string(tier.Tier), Items: tier.Items, Tokens: tier.Tokens})
		}
		out.Agents = append(out.Agents, one)
	}
	return out, nil
}

// remembered tells clients that an agent's memory changed; nil for nothing.
func (b *backend) remembered(name, reason string, change *session.MemoryChange, sequence int64) {
	if change != nil {
		b.notify(name, wire.EventMemory, wire.MemoryParams{
			Session: name, Reason: reason, Moved: movesToWire(change.Moved), Memory: countsToWire(change), Sequence: sequence,
		})
	}
}

// maxMoves bounds the moves that a message names.
const maxMoves = 1000

func movesToWire(moves []session.TierMove) []wire.MemoryMove {
	out := []wire.MemoryMove{}
	for _, move := range moves[:min(len(moves), maxMoves)] {
		out = append(out, wire.MemoryMove{ID: move.ID, From: string(move.From), To: string(move.To)})
	}
	return out
}

func countsToWire(c *session.MemoryChange) wire.MemoryCounts {
	return wire.MemoryCounts{Agent: c.Agent, Hot: c.Hot, Warm: c.Warm, Cold: c.Cold}
}

func itemsToWire(items []session.MemoryItem) []wire.MemoryItem {
	out := []wire.MemoryItem{}
	for _, item := range items {
		out = append(out, wire.MemoryItem{
			ID: item.ID, Type: string(item.Type), Tier: string(item.Tier), Content: item.Content, Tokens: item.Tokens, Importance: item.Importance,
			AccessCount: item.Uses, Created: item.Created, LastAccessed: item.LastUsed, Archived: item.Archived,
		})
	}
	return out
}

func tiersFromWire(names []string) []layers.Tier {
	var out []layers.Tier
	for _, name := range names {
		out = append(out, layers.Tier(name))
	}
	return out
}
