package session

import (
	"context"
	"errors"

	"hexapla/storage"
)

// FlashWhenFull saves the memory of the session's agent when a pack has reached the
// share of its limit at which a flash save is due (T4), once until a later pack is
// below it again. The limit is what the pack may take: its budget, or the warning
// mark of the agent's limit, at which packs are laid out anew. It returns
// nil where nothing is due: also for packs of the past, for an agent that saved
// nothing, and where settings have it done by the client alone. The pack is good
// whether it succeeds or not.
func (s *Session) FlashWhenFull(ctx context.Context, pack *PackReply, past bool) (*FlashReply, error) {
	ws := s.Workspace
	if past || !ws.opts.Memory.AutoFlash {
		return nil, nil
	}
	full := pack.Pack.Budget.Total - pack.Pack.Budget.Reserved
	if pack.Limit != nil && pack.Limit.Warning > 0 {
		full = min(full, pack.Limit.Warning)
	}
	used := pack.Pack.Used()
	due := full > 0 && int64(used)*100 >= int64(full)*int64(ws.opts.Memory.FlashPercent)
	s.mu.Lock()
	crossed := due && !s.full
	s.full = due
	s.mu.Unlock()
	if !crossed {
		return nil, nil
	}
	kept := false
	err := ws.view(0, func(v storage.View) error {
		t, err := s.memoryAt(v, "")
		kept = err == nil && t.length > 0
		return err
	})
	var none *InvalidError // the session has no agent
	if errors.As(err, &none) || err == nil && !kept {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	reply, err := s.FlashSaveMemory(ctx, FlashSave{Tokens: used, Limit: full})
	if err != nil {
		return nil, err
	}
	return &reply, nil
}
