package session

import (
	"context"
	"errors"
	"strings"

	"hexapla/layers"
	"hexapla/storage"
)

// UndoRequest asks for what a pack of the session lost.
type UndoRequest struct {
	Checksum  string `json:"checksum"`
	MaxTokens int    `json:"maxTokens"` // of what is served again; 0 means defaultUndoTokens
	Key       string `json:"-"`
}

const (
	defaultUndoTokens = 2000
	// smallestPart is the room in tokens in which a part of a thing is worth
	// serving.
	smallestPart = 200
)

// Restored is a thing that was lost and is part of the next pack.
type Restored struct {
	ID     string // as in Loss
	Handle string
	Detail layers.Detail
	Tokens int
	Whole  bool // it has as many tokens as it had
}

// NotRestored is a thing that was lost and still is.
type NotRestored struct {
	ID     string
	Handle string
	Reason string
}

// Reasons for not restoring.
const (
	NotRestoredBudget   = "budget"    // no tokens left
	NotRestoredLimit    = "limit"     // too many things at once
	NotRestoredServed   = "served"    // it was asked for since, or is part of another thing that is restored
	NotRestoredPackOnly = "pack_only" // the pack before alone has it
)

// UndoReply is the pack before, and what the undo wrote.
type UndoReply struct {
	Previous    string    `json:"-"` // checksum of the pack before, as it was
	Pack        PackReply `json:"-"` // that pack, built again
	Restored    []Restored
	NotRestored []NotRestored
	Unarchived  []string // conversations that layers 1 and 3 may show again from the next fold on
	Sequence    int64    `json:"-"`
}

// Undo gives the pack before a pack of the session, serves what was lost, newest
// first within the tokens, so that it is part of the next pack, and takes back
// what was archived between the two or lost by it. Errors: ErrNotFound for a
// checksum that is not in the audit log, an *InvalidError for a pack that lost
// nothing, has none before it or is another session's.
func (s *Session) Undo(ctx context.Context, req UndoRequest) (UndoReply, error) {
	if req.MaxTokens < 0 {
		return UndoReply{}, invalid("maxTokens", "must not be negative")
	}
	if req.MaxTokens == 0 {
		req.MaxTokens = defaultUndoTokens
	}
	r, err := s.lossesBetween(ctx, req.Checksum, "")
	if err != nil {
		return UndoReply{}, err
	}
	if r.To.Pack.Session != s.ID {
		return UndoReply{}, invalid("checksum", "is of a pack of another session")
	}
	reply, receipt, err := write(ctx, s.Workspace, "pack/undo", s.ID, req.Key, req, func(tx *storage.Tx) (UndoReply, error) {
		return s.undo(tx, &r, req.MaxTokens)
	})
	if err != nil {
		return UndoReply{}, err
	}
	reply.Previous, reply.Pack, reply.Sequence = r.Against, r.From, receipt.Seq
	return reply, nil
}

func (s *Session) undo(tx *storage.Tx, r *Receipt, most int) (UndoReply, error) {
	v := tx.View()
	reply := UndoReply{Restored: []Restored{}, NotRestored: []NotRestored{}, Unarchived: []string{}}
	archived, err := s.letGo(v, r)
	if err != nil {
		return reply, err
	}
	if len(r.Losses) == 0 && len(archived) == 0 {
		return reply, invalid("checksum", "is of a pack that lost nothing")
	}
	for _, mark := range archived {
		tx.Put(storage.Draft{Kind: kindArchive, ID: mark.conversation, Parent: mark.conversation, Body: encode(archiveRecord{Since: mark.since, Restored: true})})
		reply.Unarchived = append(reply.Unarchived, mark.conversation)
	}
	known, err := s.servedSince(v, r.To.Pack.Sequence)
	if err != nil {
		return reply, err
	}
	counter := s.Workspace.counter(s.Model())
	body := servedRecord{}
	left := most
	for i := len(r.Losses) - 1; i >= 0; i-- {
		loss := &r.Losses[i]
		put := func(reason string) {
			reply.NotRestored = append(reply.NotRestored, NotRestored{ID: loss.ID, Handle: loss.Handle, Reason: reason})
		}
		item := servedItem{ID: loss.Handle, Detail: servedDetail(loss), Tokens: min(loss.From.Tokens, left)}
		switch {
		case loss.Handle == r.Against:
			put(NotRestoredPackOnly)
			continue
		case known[servedItem{ID: item.ID, Detail: item.Detail}]:
			put(NotRestoredServed)
			continue
		case len(body.Items) >= maxRequestedIDs:
			put(NotRestoredLimit)
			continue
		case item.Tokens < loss.From.Tokens && left < smallestPart:
			put(NotRestoredBudget)
			continue
		}
		known[servedItem{ID: item.ID, Detail: item.Detail}] = true
		out, err := s.Workspace.show(v, item.ID, item.Detail, question{}, item.Tokens, counter)
		if err != nil {
			return reply, err
		}
		left -= out.tokens
		body.Items = append(body.Items, item)
		reply.Restored = append(reply.Restored, Restored{
			ID: loss.ID, Handle: loss.Handle, Detail: item.Detail, Tokens: out.tokens, Whole: item.Tokens == loss.From.Tokens,
		})
	}
	if len(body.Items) > 0 {
		tx.Put(storage.Draft{
			Kind: kindServed, ID: "served:" + tx.NextID("r"), Parent: s.ID, Body: encode(body), Lists: []string{listOfServed(s.ID)},
		})
	}
	return reply, nil
}

// servedDetail is the detail in which a thing that was lost is served again.
func servedDetail(loss *Loss) layers.Detail {
	switch {
	case strings.Contains(loss.Handle, "#"):
		return layers.DetailFull
	case loss.From.Detail == string(layers.DetailHeader):
		return layers.DetailHeader
	case isPieceID(loss.ID): // a conversation that was served
		return layers.DetailFull
	}
	return layers.DetailSummary
}

// archiveMark says that a conversation was let go.
type archiveMark struct {
	conversation string
	since        int64
}

// letGo returns the session's conversations that were archived between the two
// packs of a receipt, or that the second lost because they were.
func (s *Session) letGo(v storage.View, r *Receipt) ([]archiveMark, error) {
	var ids []string
	for i := range r.Losses {
		if r.Losses[i].Reason == layers.DropArchive {
			conversation, _, _ := strings.Cut(r.Losses[i].ID, "#")
			ids = append(ids, conversation)
		}
	}
	for seq := r.From.Pack.Sequence + 1; seq <= r.To.Pack.Sequence; seq++ {
		record, err := v.Get(seq)
		if errors.Is(err, storage.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if record.Kind == kindArchive {
			ids = append(ids, record.ID)
		}
	}
	var out []archiveMark
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		conversation, _, _, err := latest[conversationRecord](v, kindConversation, id)
		if err != nil {
			return nil, err
		}
		since, restored, err := archivedIn(v, id)
		if err != nil {
			return nil, err
		}
		if conversation.Session == s.ID && since != 0 && restored == 0 && since <= r.To.Pack.Sequence {
			out = append(out, archiveMark{id, since})
		}
	}
	return out, nil
}

// servedSince returns what was served to the session after a sequence, without
// tokens.
func (s *Session) servedSince(v storage.View, seq int64) (map[servedItem]bool, error) {
	list := listOfServed(s.ID)
	n := v.ListLen(list)
	entries, err := v.List(list, max(0, n-maxServed), n)
	if err != nil {
		return nil, err
	}
	known := map[servedItem]bool{}
	for _, entry := range entries {
		if entry.Seq <= seq {
			continue
		}
		body, _, _, err := latest[servedRecord](v, kindServed, entry.ID)
		if err != nil {
			return nil, err
		}
		for _, item := range body.Items {
			known[servedItem{ID: item.ID, Detail: item.Detail}] = true
		}
	}
	return known, nil
}
