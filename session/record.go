package session

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/layers/terms"
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
	Sequence     int64 `json:"-"`
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

// preparedTurn is a turn with everything that can be computed before its place
// in the store is known.
type preparedTurn struct {
	turn     layers.Turn
	tokens   int
	terms    []byte
	mentions []storage.Mention
	outputs  []preparedOutput
}

type preparedOutput struct {
	staged   storage.StagedBlob
	hasBlob  bool // staged is to be added
	terms    []byte
	mentions []storage.Mention
}

// prepare checks the turns, stores large outputs beside the store, compresses
// them, and counts and analyses the texts.
func (ws *Workspace) prepare(ctx context.Context, session string, req RecordRequest) ([]preparedTurn, error) {
	if len(req.Turns) > maxTurns {
		return nil, &InvalidError{Path: "turns", Message: "too many", Limit: maxTurns}
	}
	if len(req.Turns) == 0 && !req.Done && req.Housekeeping == nil {
		return nil, invalid("turns", "at least one turn, housekeeping or done is needed")
	}
	switch req.Outcome {
	case "", layers.OutcomeCompleted, layers.OutcomeError:
	default:
		return nil, invalid("outcome", "must be %q or %q", layers.OutcomeCompleted, layers.OutcomeError)
	}
	inputs, err := ws.pendingCalls(session)
	if err != nil {
		return nil, err
	}
	out := make([]preparedTurn, 0, len(req.Turns))
	for i, turn := range req.Turns {
		path := fmt.Sprintf("turns[%d]", i)
		if err := checkTurn(path, &turn); err != nil {
			return nil, err
		}
		for _, call := range turn.Calls {
			inputs[call.ID] = call
		}
		p, err := ws.prepareTurn(ctx, path, turn, inputs)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// callsBack is how many turns back the call of a tool result is looked for.
const callsBack = 8

// pendingCalls returns the tool calls of the last turns of the session's
// conversation in progress, by their id.
func (ws *Workspace) pendingCalls(session string) (map[string]layers.ToolCall, error) {
	calls := map[string]layers.ToolCall{}
	err := ws.view(0, func(v storage.View) error {
		id, _, err := ongoing(v, session)
		if err != nil || id == "" {
			return err
		}
		n := v.ListLen(listOfTurns(id))
		entries, err := v.List(listOfTurns(id), max(0, n-callsBack), n)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			body, _, _, err := latest[turnRecord](v, kindTurn, entry.ID)
			if err != nil {
				return err
			}
			for _, call := range body.Calls {
				calls[call.ID] = call
			}
		}
		return nil
	})
	return calls, err
}

func checkTurn(path string, turn *layers.Turn) error {
	if len(turn.Text) > maxTextSize {
		return &TooLargeError{Path: path + ".text", Limit: maxTextSize}
	}
	if len(turn.Calls) > maxResults {
		return &InvalidError{Path: path + ".toolCalls", Message: "too many", Limit: maxResults}
	}
	if len(turn.Results) > maxResults {
		return &InvalidError{Path: path + ".toolResults", Message: "too many", Limit: maxResults}
	}
	switch turn.Role {
	case layers.RoleUser:
		if turn.Kind == "" {
			turn.Kind = layers.InputUserQuery
		}
		if len(turn.Calls) > 0 || len(turn.Results) > 0 {
			return invalid(path, "a user turn has text only")
		}
	case layers.RoleAssistant:
		if turn.Kind != "" {
			return invalid(path+".kind", "an assistant turn has no kind")
		}
		if len(turn.Results) > 0 {
			return invalid(path+".toolResults", "an assistant turn has no tool results")
		}
	case layers.RoleTool:
		turn.Kind = layers.InputToolResponse
		if len(turn.Calls) > 0 {
			return invalid(path+".toolCalls", "a tool turn has no tool calls")
		}
		if len(turn.Results) == 0 {
			return invalid(path+".toolResults", "a tool turn needs at least one result")
		}
	default:
		return invalid(path+".role", `must be "user", "assistant" or "tool"`)
	}
	switch turn.Kind {
	case "", layers.InputUserQuery, layers.InputToolResponse, layers.InputUserFeedback:
		return nil
	}
	return invalid(path+".kind", `must be "user_query", "tool_response" or "user_feedback"`)
}

func (ws *Workspace) prepareTurn(ctx context.Context, path string, turn layers.Turn, inputs map[string]layers.ToolCall) (preparedTurn, error) {
	p := preparedTurn{turn: turn}
	p.turn.Results = append([]layers.ToolResult(nil), turn.Results...)
	for i := range p.turn.Results {
		result := &p.turn.Results[i]
		at := fmt.Sprintf("%s.toolResults[%d]", path, i)
		if len(result.Content) > maxTextSize {
			return p, &TooLargeError{Path: at + ".content", Limit: maxTextSize}
		}
		call := inputs[result.CallID]
		if result.Tool == "" {
			result.Tool = either(call.Name, "tool")
		}
		output, err := ws.prepareOutput(ctx, at, result, call.Input)
		if err != nil {
			return p, err
		}
		p.outputs = append(p.outputs, output)
	}
	var text strings.Builder
	text.WriteString(turn.Text)
	for _, call := range turn.Calls {
		text.WriteString("\n" + call.Name + " " + call.Input)
	}
	if text.Len() > 0 {
		entities := digest.EntitiesOf(text.String())
		p.terms = terms.NewDoc(text.String(), entities).Encode()
		p.mentions = mentionsOf(entities)
	}
	p.tokens = ws.standard().Count(plainTurn(&p.turn))
	return p, nil
}

func (ws *Workspace) prepareOutput(ctx context.Context, path string, result *layers.ToolResult, input string) (preparedOutput, error) {
	var out preparedOutput
	if result.Blob.SHA256 == "" {
		staged, err := ws.store.StageBlob(ctx, []byte(result.Content), either(result.Blob.MIME, "text/plain"))
		if err != nil {
			return out, err
		}
		out.staged, out.hasBlob = staged, true
		result.Blob = staged.Ref
	} else {
		data, ref, err := ws.store.ReadBlob(ctx, result.Blob.SHA256, 0, maxTextSize)
		if err != nil {
			return out, fmt.Errorf("%s.blob: %w", path, err)
		}
		result.Blob, result.Content = ref, string(data)
	}
	text := asText(result.Content)
	result.Compressed = digest.ToolResult(digest.ToolOutput{
		Tool: result.Tool, Input: input, Output: text, IsError: result.IsError,
	}, ws.standard())
	if text != "" {
		entities := digest.EntitiesOf(text)
		out.terms = terms.NewDoc(text, entities).Encode()
		out.mentions = mentionsOf(entities)
	}
	return out, nil
}

// asText gives text that can be analysed: invalid bytes are replaced.
func asText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// maxMentions bounds what one record adds to each part of the reference index.
const maxMentions = 100

func mentionsOf(e layers.Entities) []storage.Mention {
	var out []storage.Mention
	add := func(kind string, names []string) {
		for _, name := range names[:min(len(names), maxMentions)] {
			out = append(out, storage.Mention{Kind: kind, Name: name})
		}
	}
	add("file", withTails(e.Files))
	add("function", e.Functions)
	add("concept", e.Concepts)
	add("error", e.Errors)
	return out
}

// withTails adds the last parts of each path, so that a file is also found as
// "setup.go" or "cli/setup.go".
func withTails(files []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, file := range files[:min(len(files), maxMentions/3)] {
		for _, name := range []string{file, tail(file, 1), tail(file, 2)} {
			if !seen[name] {
				seen[name] = true
				out = append(out, name)
			}
		}
	}
	return out
}

// tail returns the last n parts of a path.
func tail(file string, n int) string {
	at := len(file)
	for range n {
		if at = strings.LastIndexByte(file[:at], '/'); at < 0 {
			return file
		}
	}
	return file[at+1:]
}

// record writes prepared turns. It runs inside the store's writer.
func (ws *Workspace) record(tx *storage.Tx, session string, req RecordRequest, turns []preparedTurn) (RecordReply, error) {
	v := tx.View()
	reply := RecordReply{Results: []StoredResult{}, Numbers: []int{}}
	renewal := renewal{session: session, housekeeping: req.Housekeeping}
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
	_, _, err = ws.renew(tx, renewal)
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
	return at, nil
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
