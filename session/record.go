package session

import (
	"context"
	"fmt"
	"strings"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/storage"
)

// Limits of one record request.
const (
	maxTurns    = 10000
	maxTextSize = 16 << 20 // bytes of one text or tool output
	maxResults  = 1000     // tool calls or results in one turn
)

// RecordRequest carries turns of a conversation. A tool result has either
// Content or the reference of an output that was stored before.
type RecordRequest struct {
	Conversation string               `json:"conversation"`
	Turns        []layers.Turn        `json:"turns"`
	Contents     []string             `json:"contents"` // of all results, in order; part of what a key stands for
	Done         bool                 `json:"done"`
	Outcome      layers.Outcome       `json:"outcome"`
	Housekeeping *layers.Housekeeping `json:"housekeeping"`
	Key          string               `json:"-"`
}

// RecordReply is the receipt of a record request.
type RecordReply struct {
	Conversation string
	Numbers      []int
	Opened       bool
	Done         bool
	Completed    string
	Results      []StoredResult
	Summary      string        `json:"-"` // source of the summary that this write made; "" if it made none
	Flags        []Flag        // claims of the housekeeping that nothing bears out
	Swing        *Swing        // nil if layer 0 says much the same as before
	Memory       *MemoryChange // nil where no memory item moved to another tier
	// ServedDeferred is what waited for room and now has it. It is in the next
	// pack.
	ServedDeferred []ContextItem
	Expired        []Deferral
	Sequence       int64 `json:"-"`
}

// StoredResult is a tool result as it is stored.
type StoredResult struct {
	Compressed layers.CompressedToolResult
	Blob       layers.BlobRef
}

// Record stores turns. It returns when they are on disk.
//
// Without a conversation id, turns that begin with a user query open the next
// conversation and complete the one in progress; other turns go on with it.
func (s *Session) Record(ctx context.Context, req RecordRequest) (RecordReply, error) {
	ws := s.Workspace
	prepared, err := ws.prepare(ctx, s.ID, req)
	if err != nil {
		return RecordReply{}, err
	}
	reply, receipt, err := write(ctx, ws, "conversation/record", s.ID, req.Key, req, func(tx *storage.Tx) (RecordReply, error) {
		reply, err := ws.record(tx, s.ID, req, prepared)
		if err == nil && len(prepared) > 0 {
			reply.ServedDeferred, reply.Expired, err = s.serveWaiting(ctx, tx, len(prepared))
		}
		return reply, err
	})
	if err != nil {
		return RecordReply{}, err
	}
	reply.Sequence = receipt.Seq
	return reply, nil
}

// record writes prepared turns. It runs inside the store's writer.
func (ws *Workspace) record(tx *storage.Tx, session string, req RecordRequest, turns []preparedTurn) (RecordReply, error) {
	v := tx.View()
	reply := RecordReply{Results: []StoredResult{}, Numbers: []int{}}
	renewal := renewal{session: session}
	at, err := ws.place(tx, v, session, req, turns, &reply, &renewal)
	if err != nil {
		return reply, err
	}
	number, total := at.turns, at.total
	appended := make([]layers.Turn, 0, len(turns))
	var changed []changeVersion
	for i := range turns {
		p := &turns[i]
		p.turn.Shared = at.by.Shared
		number++
		total += int64(p.tokens)
		changed = append(changed, putChanges(tx, at, p, number)...)
		reply.Results = append(reply.Results, putTurn(tx, at.id, number, p, total)...)
		turn := p.turn
		turn.Number = number
		reply.Numbers = append(reply.Numbers, number)
		appended = append(appended, turn)
		tx.Add(counterTokens, int64(p.tokens))
	}
	tx.Add(counterTurns, int64(len(turns)))
	reply.Conversation = at.id
	change := completion{id: at.id, record: at.record, appended: appended, changed: changed, housekeeping: req.Housekeeping}
	var out kept
	switch {
	case req.Done:
		change.outcome = req.Outcome
		if change.outcome == "" {
			change.outcome = layers.OutcomeCompleted
		}
		reply.Done = true
		if out, err = ws.complete(tx, change); err != nil {
			return reply, err
		}
		renewal.done = append(renewal.done, out)
	case req.Housekeeping != nil:
		if out, err = ws.keepHouse(tx, change); err != nil {
			return reply, err
		}
		renewal.ongoing = &out.exchange
	case reply.Opened:
		renewal.ongoing = &digest.Exchange{Conversation: layers.Conversation{
			ID: at.id, Session: session, Opened: at.record.Opened, Outcome: layers.OutcomeOngoing, Turns: appended,
		}}
	default:
		return reply, nil
	}
	renewal.housekeeping, reply.Flags, reply.Summary = out.said(), out.flags(), out.trio.Summary.Source
	renewed, err := ws.renew(tx, renewal)
	reply.Swing, reply.Memory = renewed.swing, renewed.memory
	return reply, err
}

// putTurn writes a turn and its tool outputs. total is of all the session's
// turns up to this one.
func putTurn(tx *storage.Tx, conversation string, number int, p *preparedTurn, total int64) []StoredResult {
	var stored []StoredResult
	turn := p.turn
	turn.Number = number
	tx.Put(storage.Draft{
		Kind: kindTurn, ID: turnID(conversation, number), Parent: conversation, Lists: []string{listOfTurns(conversation)},
		Body:  encode(turnRecord{Turn: turn, Tokens: p.tokens, Total: total}),
		Terms: p.terms, Mentions: p.mentions,
	})
	for k, output := range p.outputs {
		result := &turn.Results[k]
		if output.hasBlob {
			tx.AddBlob(output.staged)
			if !output.staged.Existed {
				tx.Add(counterBlobs, 1)
				tx.Add(counterBlobBytes, result.Blob.Size)
			}
		}
		tx.Put(storage.Draft{
			Kind: kindOutput, ID: outputID(conversation, number, k), Parent: conversation,
			Body:  encode(outputRecord{Turn: number, Result: k, Tool: result.Tool, Blob: result.Blob}),
			Terms: output.terms, Mentions: output.mentions,
		})
		stored = append(stored, StoredResult{Compressed: result.Compressed, Blob: result.Blob})
	}
	return stored
}

// placement is where turns go.
type placement struct {
	id     string
	by     sessionRecord
	record conversationRecord
	turns  int   // turns that the conversation has
	total  int64 // tokens of all the session's turns
}

// place finds the conversation that the turns belong to, and opens it if it is
// new.
func (ws *Workspace) place(tx *storage.Tx, v storage.View, session string, req RecordRequest, turns []preparedTurn, reply *RecordReply, r *renewal) (placement, error) {
	var at placement
	body, _, ok, err := latest[sessionRecord](v, kindSession, session)
	if err != nil {
		return at, err
	}
	if !ok || body.Closed {
		return at, fmt.Errorf("session %q is closed: %w", session, ErrNotFound)
	}
	at.by = body
	current, record, err := ongoing(v, session)
	if err != nil {
		return at, err
	}
	l, err := lineOf(v, session)
	if err != nil {
		return at, err
	}
	if at.total, err = l.runningTotal(); err != nil {
		return at, err
	}
	if req.Conversation != "" && req.Conversation != current {
		return at, ws.refuse(v, session, req.Conversation)
	}
	opens := req.Conversation == "" && len(turns) > 0 && turns[0].turn.Kind == layers.InputUserQuery
	if !opens {
		if current == "" {
			return at, invalid("turns[0]", "no conversation is in progress; the first turn must be a user_query")
		}
		at.id, at.record, at.turns = current, record, v.ListLen(listOfTurns(current))
		return at, nil
	}
	if current != "" {
		done, err := ws.complete(tx, completion{id: current, record: record, outcome: layers.OutcomeCompleted})
		if err != nil {
			return at, err
		}
		r.done = append(r.done, done)
		reply.Completed = current
	}
	at.id = tx.NextID("c")
	at.record = conversationRecord{Session: session, Outcome: layers.OutcomeOngoing, Time: turns[0].turn.Time}
	at.record.Opened = tx.Put(storage.Draft{
		Kind: kindConversation, ID: at.id, Parent: session, Body: encode(at.record),
		Lists: []string{listConversations, listOfSession(session), l.record.List},
	})
	reply.Opened = true
	learned, err := returnLessons(v, opensWith(turns))
	if err == nil {
		err = learned.put(tx)
	}
	return at, err
}

// refuse says why turns cannot go to a conversation that is not the one in
// progress. Nothing of other sessions is told.
func (ws *Workspace) refuse(v storage.View, session, conversation string) error {
	body, _, ok, err := latest[conversationRecord](v, kindConversation, conversation)
	switch {
	case err != nil:
		return err
	case !ok:
		return missing(v, conversation, conversation)
	case body.Session != session:
		return notFound("conversation", conversation)
	}
	by, gone, err := superseded(v, conversation)
	if err != nil {
		return err
	}
	if gone {
		return fmt.Errorf("conversation %q was superseded by %q: %w", conversation, by, ErrConversationDone)
	}
	return fmt.Errorf("conversation %q: %w", conversation, ErrConversationDone)
}

// sessionTokens returns the tokens of all the session's turns in full.
func sessionTokens(v storage.View, session string) (int64, error) {
	l, err := lineOf(v, session)
	if err != nil {
		return 0, err
	}
	total, err := l.runningTotal()
	return total + l.record.Delta, err
}

// runningTotal is the total that the newest turn was recorded with. It does not
// know of edits.
func (l line) runningTotal() (int64, error) {
	for n := l.length; n > 0; n-- {
		entries, err := l.list(n-1, n)
		if err != nil {
			return 0, err
		}
		turns := listOfTurns(entries[0].ID)
		count := l.view.ListLen(turns)
		if count == 0 {
			continue
		}
		last, err := l.view.List(turns, count-1, count)
		if err != nil {
			return 0, err
		}
		body, err := turnAt(l.view, last[0])
		return body.Total, err
	}
	return 0, nil
}

// turnAt reads a turn of a list as the view shows it: an edit makes a new
// version and leaves its place in the list.
func turnAt(v storage.View, entry storage.ListEntry) (turnRecord, error) {
	body, _, ok, err := latest[turnRecord](v, kindTurn, entry.ID)
	if err == nil && !ok {
		err = fmt.Errorf("turn %q is listed but has no record: %w", entry.ID, storage.ErrDamaged)
	}
	return body, err
}

// plainTurn is a turn in full as any client would send it, without headings:
// what FullHistory counts.
func plainTurn(turn *layers.Turn) string {
	var b strings.Builder
	b.WriteString(turn.Text)
	for _, call := range turn.Calls {
		b.WriteString("\n" + call.Name + " " + call.Input)
	}
	for i := range turn.Results {
		b.WriteString("\n" + turn.Results[i].Content)
	}
	b.WriteString("\n")
	return b.String()
}
