package session

import (
	"context"
	"slices"

	"hexapla/layers"
	"hexapla/storage"
)

// Bounds of what waits to be served.
const (
	maxWaiting      = 200 // deferrals of a session
	defaultDeferral = 5   // turns after which one expires
	maxDeferral     = 1000
)

// Deferral is a request that waits for room.
type Deferral struct {
	ID        string        `json:"id"`        // "d7"
	Asked     string        `json:"asked"`     // the id asked for
	Detail    layers.Detail `json:"detail"`    //
	Query     string        `json:"query"`     // what DetailMixed is to answer
	Reason    string        `json:"reason"`    // DeferredQuota or DeferredBudget
	Sequence  int64         `json:"sequence"`  // as of which it was asked
	Turns     int           `json:"turns"`     // after which it expires
	MaxTokens int           `json:"maxTokens"` // of the request
	Left      int           `json:"-"`         // turns until it expires
}

// queueRecord is the body of a queue record: what waits in a session, oldest
// first. It is part of the store, so that what is served when is, too.
type queueRecord struct {
	Waiting []Deferral `json:"waiting"`
}

// waiting reads what waits in a session, with the turns that each has left when
// some more than the view shows are being recorded.
func waiting(v storage.View, session string, more int) ([]Deferral, error) {
	body, _, _, err := latest[queueRecord](v, kindQueue, session)
	if err != nil || len(body.Waiting) == 0 {
		return nil, err
	}
	most := 0
	for i := range body.Waiting {
		most = max(most, body.Waiting[i].Turns+1)
	}
	recorded, err := newestTurns(v, session, most)
	if err != nil {
		return nil, err
	}
	for i := range body.Waiting {
		d := &body.Waiting[i]
		d.Left = d.Turns - more
		for _, seq := range recorded {
			if seq > d.Sequence {
				d.Left--
			}
		}
	}
	return body.Waiting, nil
}

// newestTurns returns the sequences of a session's newest turns, at most n.
func newestTurns(v storage.View, session string, n int) ([]int64, error) {
	l, err := lineOf(v, session)
	if err != nil {
		return nil, err
	}
	var out []int64
	for i := l.length; i > 0 && len(out) < n; i-- {
		entries, err := l.list(i-1, i)
		if err != nil {
			return nil, err
		}
		list := listOfTurns(entries[0].ID)
		total := v.ListLen(list)
		turns, err := v.List(list, max(0, total-(n-len(out))), total)
		if err != nil {
			return nil, err
		}
		for k := len(turns) - 1; k >= 0; k-- {
			out = append(out, turns[k].Seq)
		}
	}
	return out, nil
}

// Deferrals lists what waits in the session, oldest first.
func (s *Session) Deferrals() (list []Deferral, seq int64, err error) {
	err = s.Workspace.view(0, func(v storage.View) error {
		seq = v.Seq()
		list, err = waiting(v, s.ID, 0)
		return err
	})
	return slices.DeleteFunc(list, func(d Deferral) bool { return d.Left < 0 }), seq, err
}

// CancelReply lists the deferrals that were taken away.
type CancelReply struct {
	Cancelled []string
	Sequence  int64 `json:"-"`
}

// CancelDeferrals takes deferrals out of the queue. One that does not wait gives
// ErrNotFound, and then none is taken out.
func (s *Session) CancelDeferrals(ctx context.Context, ids []string, key string) (CancelReply, error) {
	if len(ids) == 0 || len(ids) > maxWaiting {
		return CancelReply{}, &InvalidError{Path: "deferrals", Message: "must name 1 deferral or more and not too many", Limit: maxWaiting}
	}
	reply, receipt, err := write(ctx, s.Workspace, "context/cancel", s.ID, key, ids, func(tx *storage.Tx) (CancelReply, error) {
		list, err := waiting(tx.View(), s.ID, 0)
		if err != nil {
			return CancelReply{}, err
		}
		out := CancelReply{Cancelled: []string{}}
		for _, id := range ids {
			at := slices.IndexFunc(list, func(d Deferral) bool { return d.ID == id && d.Left >= 0 })
			if at < 0 {
				return CancelReply{}, notFound("deferral", id)
			}
			list = slices.Delete(list, at, at+1)
			out.Cancelled = append(out.Cancelled, id)
		}
		tx.Put(storage.Draft{Kind: kindQueue, ID: s.ID, Body: encode(queueRecord{Waiting: list})})
		return out, nil
	})
	reply.Sequence = receipt.Seq
	return reply, err
}

// serveWaiting serves what waits, now that turns were recorded in the same
// write.
func (s *Session) serveWaiting(ctx context.Context, tx *storage.Tx, turns int) (served []ContextItem, expired []Deferral, err error) {
	list, err := waiting(tx.View(), s.ID, turns)
	if err != nil || len(list) == 0 {
		return nil, nil, err
	}
	reply, err := s.answer(ctx, tx, ContextRequest{MaxTokens: min(list[0].MaxTokens, defaultRequestTokens)}, turns)
	return reply.ServedDeferred, reply.Expired, err
}
