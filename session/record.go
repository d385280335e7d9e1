package session

import (
	"context"
	"encoding/json"
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
	Flags        []Flag // claims of the housekeeping that nothing bears out
	Swing        *Swing // nil if layer 0 says much the same as before
	Sequence     int64  `json:"-"`
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
		return ws.record(tx, s.ID, req, prepared)
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
	for i := range turns {
		p := &turns[i]
		number++
		total += int64(p.tokens)
		turn := p.turn
		turn.Number = number
		tx.Put(storage.Draft{
			Kind: kindTurn, ID: turnID(at.id, number), Parent: at.id, Lists: []string{listOfTurns(at.id)},
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
				Kind: kindOutput, ID: outputID(at.id, number, k), Parent: at.id,
				Body:  encode(outputRecord{Turn: number, Result: k, Tool: result.Tool, Blob: result.Blob}),
				Terms: output.terms, Mentions: output.mentions,
			})
			reply.Results = append(reply.Results, StoredResult{Compressed: result.Compressed, Blob: result.Blob})
		}
		reply.Numbers = append(reply.Numbers, number)
		appended = append(appended, turn)
		tx.Add(counterTokens, int64(p.tokens))
	}
	tx.Add(counterTurns, int64(len(turns)))
	reply.Conversation = at.id
	change := completion{id: at.id, record: at.record, appended: appended, housekeeping: req.Housekeeping}
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
	renewal.housekeeping, reply.Flags = out.said(), out.flags()
	renewed, err := ws.renew(tx, renewal)
	reply.Swing = renewed.swing
	return reply, err
}

// placement is where turns go.
type placement struct {
	id     string
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
	current, record, err := ongoing(v, session)
	if err != nil {
		return at, err
	}
	if at.total, err = sessionTokens(v, session); err != nil {
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
		Lists: []string{listConversations, listOfSession(session)},
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
	case !ok || body.Session != session:
		return notFound("conversation", conversation)
	}
	return fmt.Errorf("conversation %q: %w", conversation, ErrConversationDone)
}

// sessionTokens returns the tokens of all the session's turns in full.
func sessionTokens(v storage.View, session string) (int64, error) {
	list := listOfSession(session)
	for n := v.ListLen(list); n > 0; n-- {
		entries, err := v.List(list, n-1, n)
		if err != nil {
			return 0, err
		}
		turns := listOfTurns(entries[0].ID)
		count := v.ListLen(turns)
		if count == 0 {
			continue
		}
		last, err := v.List(turns, count-1, count)
		if err != nil {
			return 0, err
		}
		record, err := v.Get(last[0].Seq)
		if err != nil {
			return 0, err
		}
		var body turnRecord
		if err := json.Unmarshal(record.Body, &body); err != nil {
			return 0, fmt.Errorf("read turn %q: %w", record.ID, err)
		}
		return body.Total, nil
	}
	return 0, nil
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
