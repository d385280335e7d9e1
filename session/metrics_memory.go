package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/layers/terms"
	"hexapla/storage"
)

// Retrieval is how the context requests of a window fared. What is asked for is
// counted by id that was named or found for a query, by query that found nothing
// and by topic. Requests of programs that did not count are left out.
type Retrieval struct {
	Requests                   int
	Served, Deferred, NotFound int // of what was asked for
	// ReAsked is what the model had been given already, in no less detail and
	// tokens: by the pack before the request, or by a request in the same
	// conversation. The pack before is that of the same process.
	ReAsked int
}

// Asked is everything that was asked for.
func (r *Retrieval) Asked() int { return r.Served + r.Deferred + r.NotFound }

// retrieval adds up the context requests of the window; nil if there is none.
func (w *survey) retrieval() (*Retrieval, error) {
	var out *Retrieval
	err := w.newest(listRequests, func(entry storage.ListEntry) (bool, error) {
		record, err := w.end.Get(entry.Seq)
		if err != nil {
			return false, err
		}
		if w.req.OnlySession && record.Parent != w.session.ID {
			return true, nil
		}
		var body servedRecord
		if err := json.Unmarshal(record.Body, &body); err != nil {
			return false, fmt.Errorf("read served %q: %w", entry.ID, err)
		}
		if body.Asked == nil {
			return true, nil
		}
		if out == nil {
			out = &Retrieval{}
		}
		out.Requests++
		out.Served += body.Asked.Served
		out.Deferred += body.Asked.Deferred
		out.NotFound += body.Asked.NotFound
		out.ReAsked += body.Asked.ReAsked
		return true, nil
	})
	return out, err
}

// newest calls fn for the places of a list that were taken in the window, newest
// first, until it returns false.
func (w *survey) newest(list string, fn func(storage.ListEntry) (bool, error)) error {
	first, last := w.start.ListLen(list), w.end.ListLen(list)
	for last > first {
		at := max(first, last-pageOfList)
		entries, err := w.end.List(list, at, last)
		if err != nil {
			return err
		}
		for i := len(entries) - 1; i >= 0; i-- {
			if err := w.ctx.Err(); err != nil {
				return err
			}
			if goOn, err := fn(entries[i]); err != nil || !goOn {
				return err
			}
		}
		last = at
	}
	return w.end.Err()
}

// SummaryFidelity is how much of their full texts the headers and summaries of
// the window's completed conversations keep.
type SummaryFidelity struct {
	Conversations int  // that were looked at
	Limited       bool // there are more; the newest were looked at
	digest.Fidelity
}

// Kept counts things of one kind: those of note, and all.
type Kept = digest.Kept

// maxFidelity is how many conversations are looked at, the newest: it bounds the
// time that figures take.
const maxFidelity = 500

// trioVersion is a conversation's header and summary as of a write.
type trioVersion struct {
	conversation string
	seq          int64
}

// fidelity looks at the newest completed conversations that opened in the
// window, as of its end; nil if there is none.
func (w *survey) fidelity() (*SummaryFidelity, error) {
	out := &SummaryFidelity{}
	err := w.newest(w.conversations(), func(entry storage.ListEntry) (bool, error) {
		record, seq, ok, err := latest[conversationRecord](w.end, kindConversation, entry.ID)
		if err != nil || !ok || record.Outcome == layers.OutcomeOngoing || seq == entry.Seq {
			return err == nil, err
		}
		if out.Conversations == maxFidelity {
			out.Limited = true
			return false, nil
		}
		f, ok, err := w.session.Workspace.fidelityOf(w.end, entry.ID, record)
		if err != nil || !ok {
			return err == nil, err
		}
		out.Conversations++
		out.Fidelity = out.Fidelity.Add(f)
		return true, nil
	})
	if err != nil || out.Conversations == 0 {
		return nil, err
	}
	return out, nil
}

// fidelityOf measures the trio of a conversation; false if it has none.
func (ws *Workspace) fidelityOf(v storage.View, id string, record conversationRecord) (digest.Fidelity, bool, error) {
	trio, seq, ok, err := latest[trioRecord](v, kindTrio, id)
	if err != nil || !ok {
		return digest.Fidelity{}, false, err
	}
	key := trioVersion{id, seq}
	if f, ok := ws.fidelity.get(key); ok {
		return f, true, nil
	}
	turns, tokens, err := turnsOf(v, id, maxTurnNumber)
	if err != nil {
		return digest.Fidelity{}, false, err
	}
	var outputs []layers.Entities
	for i := range turns {
		for k := range turns[i].Results {
			names, err := outputNames(v, outputID(id, turns[i].Number, k))
			if err != nil {
				return digest.Fidelity{}, false, err
			}
			outputs = append(outputs, names)
		}
	}
	f := digest.FidelityOf(digest.Exchange{Tokens: tokens, Conversation: layers.Conversation{
		ID: id, Session: record.Session, Opened: record.Opened, Outcome: record.Outcome, Turns: turns,
	}}, outputs, digest.RenderHeader(trio.Header)+digest.RenderSummary(trio.Summary, id), ws.standard())
	ws.fidelity.put(key, f)
	return f, true, nil
}

// outputNames returns the names and errors in a tool output, as search knows
// them: the output itself is not read.
func outputNames(v storage.View, id string) (layers.Entities, error) {
	var out layers.Entities
	record, ok, err := v.Latest(kindOutput, id)
	if err != nil || !ok {
		return out, err
	}
	encoded, ok, err := v.Terms(record.Seq)
	if err != nil || !ok {
		return out, err
	}
	err = terms.Names(encoded, func(name []byte, entity bool) {
		if !entity {
			return
		}
		for _, kind := range []struct {
			prefix string
			list   *[]string
		}{{terms.EntityFile, &out.Files}, {terms.EntityFunction, &out.Functions}, {terms.EntityError, &out.Errors}} {
			if text, ok := strings.CutPrefix(string(name), kind.prefix); ok {
				*kind.list = append(*kind.list, text)
			}
		}
	})
	return out, err
}

// Drift is how far layer 0 moved from version to version. The distance of two
// versions is 1 less the terms that they share over all their terms: 0 says the
// same, 1 shares nothing.
type Drift struct {
	Versions  int  // written in the window that have one before them in their session
	Limited   bool // there are more; the newest were looked at
	Mean, Max float64
}

// maxVersions is how many versions of layer 0 are looked at, the newest of the
// newest sessions.
const maxVersions = 500

// drift compares the window's versions of layer 0, each with the one before in
// its session; nil if there is none to compare.
func (w *survey) drift() (*Drift, error) {
	sessions, err := w.sessions()
	if err != nil {
		return nil, err
	}
	out := &Drift{}
	sum := 0.0
	for _, session := range sessions {
		if out.Limited {
			break
		}
		at := w.end
		var newer []string // terms of the version behind
		for known := false; ; known = true {
			if err := w.ctx.Err(); err != nil {
				return nil, err
			}
			body, seq, ok, err := latest[layers.CurrentContext](at, kindContext, session)
			if err != nil {
				return nil, err
			}
			if !ok {
				break
			}
			these := contextTerms(body)
			if known {
				if out.Versions == maxVersions {
					out.Limited = true
					break
				}
				d := distance(these, newer)
				out.Versions++
				out.Max = max(out.Max, d)
				sum += d
			}
			if seq <= w.from { // it was only there to be compared with
				break
			}
			newer = these
			if at, err = w.snapshot.At(seq - 1); err != nil {
				return nil, err
			}
		}
	}
	if out.Versions == 0 {
		return nil, nil
	}
	out.Mean = sum / float64(out.Versions)
	return out, nil
}

// contextTerms are the terms of layer 0, sorted, each once.
func contextTerms(cc layers.CurrentContext) []string {
	list := terms.Analyze(digest.RenderCurrentContext(cc))
	slices.Sort(list)
	return slices.Compact(list)
}

// distance is 1 less the Jaccard index of two sorted sets.
func distance(a, b []string) float64 {
	shared := 0
	for i, k := 0, 0; i < len(a) && k < len(b); {
		switch {
		case a[i] == b[k]:
			shared++
			i++
			k++
		case a[i] < b[k]:
			i++
		default:
			k++
		}
	}
	union := len(a) + len(b) - shared
	if union == 0 {
		return 0
	}
	return 1 - float64(shared)/float64(union)
}
