package session

import (
	"context"

	"hexapla/storage"
)

// Counts are counts and sizes of a workspace as it is.
type Counts struct {
	Sequence, FullTokens, BlobBytes, Indexed int64
	Conversations, Turns, Blobs              int
}

// Counts returns the workspace's counts and sizes.
func (ws *Workspace) Counts() (c Counts, err error) {
	err = ws.view(0, func(v storage.View) error {
		c.Sequence = v.Seq()
		c.Conversations = v.ListLen(listConversations)
		c.Turns = int(v.Counter(counterTurns))
		c.FullTokens = v.Counter(counterTokens)
		c.Blobs = int(v.Counter(counterBlobs))
		c.BlobBytes = v.Counter(counterBlobBytes)
		return nil
	})
	if ix := ws.openedIndex(); ix != nil {
		c.Indexed = ix.Watermark()
	}
	return c, err
}

// MetricsRequest is a window by sequence or by time, not both. A bound of 0 is
// open.
type MetricsRequest struct {
	OnlySession      bool
	FromSeq, ToSeq   int64 // first and last sequence
	Since, Until     int64 // Unix ms; Until is the first moment behind the window
	windowed, byTime bool
}

// Window is the part of the store that figures are of.
type Window struct {
	From, To             int64 // first and last sequence; To is From-1 when the window is empty
	First, Last          int64 // Unix ms of the oldest and the newest pack; 0 if there is none
	Conversations, Turns int   // that opened and were recorded in it
}

// Metrics are figures of a window. All come from what is on disk, so they are
// the same after a restart. A figure that has nothing to be made of is nil.
type Metrics struct {
	Window    Window
	Packs     Packs
	Retrieval *Retrieval
	Fidelity  *SummaryFidelity
	Drift     *Drift
}

func (r *MetricsRequest) check() error {
	switch {
	case r.FromSeq < 0:
		return invalid("sinceSequence", "must not be negative")
	case r.ToSeq < 0:
		return invalid("untilSequence", "must not be negative")
	case (r.FromSeq != 0 || r.ToSeq != 0) && (r.Since != 0 || r.Until != 0):
		return invalid("since", "give a window by time or by sequence, not both")
	case r.ToSeq != 0 && r.FromSeq > r.ToSeq:
		return invalid("untilSequence", "must not be before sinceSequence")
	case r.Until != 0 && r.Since > r.Until:
		return invalid("until", "must not be before since")
	}
	r.byTime = r.Since != 0 || r.Until != 0
	r.windowed = r.byTime || r.FromSeq != 0 || r.ToSeq != 0
	return nil
}

// Metrics returns figures of a window of the workspace, or of the session alone.
//
// Packs belong to a window by the sequence at which they were built, or by when.
// Everything else has a sequence alone: in a window by time it belongs where the
// first pack belongs that was built with it, and what came behind the newest
// pack belongs with that one. The audit log keeps its newest 10,000 packs; a
// window by time does not reach further back.
func (s *Session) Metrics(ctx context.Context, req MetricsRequest) (m Metrics, err error) {
	if err := req.check(); err != nil {
		return m, err
	}
	snapshot, err := s.Workspace.store.Snapshot()
	if err != nil {
		return m, err
	}
	defer snapshot.Release()
	w := survey{session: s, ctx: ctx, snapshot: snapshot, req: req}
	if m.Packs, err = w.packs(); err != nil {
		return m, err
	}
	if m.Window, err = w.window(); err != nil {
		return m, err
	}
	m.Window.First, m.Window.Last = w.first, w.last
	if m.Retrieval, err = w.retrieval(); err != nil {
		return m, err
	}
	if m.Fidelity, err = w.fidelity(); err != nil {
		return m, err
	}
	m.Drift, err = w.drift()
	return m, err
}

// survey gathers the figures of one window.
type survey struct {
	session  *Session
	ctx      context.Context
	snapshot *storage.Snapshot
	req      MetricsRequest

	from, to    int64        // sequences from < n ≤ to, once the packs were read
	end         storage.View // as of to
	start       storage.View // as of from
	first, last int64        // times of the oldest and the newest pack
}

// conversations is the list of the conversations that are looked at.
func (w *survey) conversations() string {
	if w.req.OnlySession {
		return listOfSession(w.session.ID)
	}
	return listConversations
}

// window finds the views of the window's ends and counts what lies between.
func (w *survey) window() (Window, error) {
	out := Window{From: w.from + 1, To: w.to}
	var err error
	if w.start, err = w.snapshot.At(w.from); err != nil {
		return out, err
	}
	if w.end, err = w.snapshot.At(w.to); err != nil {
		return out, err
	}
	list := w.conversations()
	first, last := w.start.ListLen(list), w.end.ListLen(list)
	out.Conversations = last - first
	if !w.req.windowed && !w.req.OnlySession {
		out.Turns = int(w.end.Counter(counterTurns))
		return out, w.end.Err()
	}
	err = w.newest(list, func(entry storage.ListEntry) (bool, error) {
		out.Turns += w.end.ListLen(listOfTurns(entry.ID))
		return true, nil
	})
	if err != nil || w.from == 0 {
		return out, err
	}
	sessions, err := w.sessions()
	if err != nil {
		return out, err
	}
	for _, session := range sessions {
		if err := w.ctx.Err(); err != nil {
			return out, err
		}
		// Only the newest conversation of a session may have gone on.
		list := listOfSession(session)
		n := w.start.ListLen(list)
		before, err := w.start.List(list, n-1, n)
		if err != nil {
			return out, err
		}
		for _, entry := range before {
			turns := listOfTurns(entry.ID)
			out.Turns += w.end.ListLen(turns) - w.start.ListLen(turns)
		}
	}
	return out, w.start.Err()
}

// sessions are the sessions that are looked at, newest first.
func (w *survey) sessions() ([]string, error) {
	if w.req.OnlySession {
		return []string{w.session.ID}, nil
	}
	entries, err := w.end.List(listSessions, 0, w.end.ListLen(listSessions))
	if err != nil {
		return nil, err
	}
	var out []string
	for i := len(entries) - 1; i >= 0; i-- {
		out = append(out, entries[i].ID)
	}
	return out, nil
}

// pageOfList is how many places of a list are read before a cancellation is
// looked for.
const pageOfList = 256
