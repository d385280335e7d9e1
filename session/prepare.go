package session

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/layers/terms"
	"hexapla/storage"
)

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
	changes  []digest.FileChange // that the call made
}

// pending are the tool calls that wait for their results.
type pending struct {
	query string // that opened the conversation
	calls map[string]digest.MadeCall
}

// take notes what a turn asks or calls.
func (p *pending) take(turn *layers.Turn) {
	if turn.Role == layers.RoleUser && turn.Kind == layers.InputUserQuery {
		p.query = turn.Text
	}
	for _, call := range turn.Calls {
		p.calls[call.ID] = digest.MadeCall{Call: call, Said: turn.Text, Query: p.query}
	}
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
	waiting, err := ws.pendingCalls(session)
	if err != nil {
		return nil, err
	}
	out := make([]preparedTurn, 0, len(req.Turns))
	for i, turn := range req.Turns {
		path := fmt.Sprintf("turns[%d]", i)
		if err := checkTurn(path, &turn); err != nil {
			return nil, err
		}
		waiting.take(&turn)
		p, err := ws.prepareTurn(ctx, path, turn, waiting.calls)
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
// conversation in progress, by their id, and what was asked in it.
func (ws *Workspace) pendingCalls(session string) (pending, error) {
	waiting := pending{calls: map[string]digest.MadeCall{}}
	err := ws.view(0, func(v storage.View) error {
		id, _, err := ongoing(v, session)
		if err != nil || id == "" {
			return err
		}
		first, _, _, err := latest[turnRecord](v, kindTurn, turnID(id, 1))
		if err != nil {
			return err
		}
		waiting.take(&first.Turn)
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
			waiting.take(&body.Turn)
		}
		return nil
	})
	return waiting, err
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

func (ws *Workspace) prepareTurn(ctx context.Context, path string, turn layers.Turn, calls map[string]digest.MadeCall) (preparedTurn, error) {
	p := preparedTurn{turn: turn}
	p.turn.Results = append([]layers.ToolResult(nil), turn.Results...)
	for i := range p.turn.Results {
		result := &p.turn.Results[i]
		at := fmt.Sprintf("%s.toolResults[%d]", path, i)
		if len(result.Content) > maxTextSize {
			return p, &TooLargeError{Path: at + ".content", Limit: maxTextSize}
		}
		made, known := calls[result.CallID]
		if result.Tool == "" {
			result.Tool = either(made.Call.Name, "tool")
		}
		output, err := ws.prepareOutput(ctx, at, result, made.Call.Input)
		if err != nil {
			return p, err
		}
		if known {
			output.changes = digest.FileChanges(made, result, ws.standard())
		}
		p.outputs = append(p.outputs, output)
	}
	p.terms, p.mentions = foundBy(saidIn(&turn))
	p.tokens = ws.standard().Count(plainTurn(&p.turn))
	return p, nil
}

func (ws *Workspace) prepareOutput(ctx context.Context, path string, result *layers.ToolResult, input string) (preparedOutput, error) {
	var out preparedOutput
	if result.Blob.SHA256 == "" {
		staged, err := ws.stage(ctx, []byte(result.Content), either(result.Blob.MIME, "text/plain"))
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
	out.terms, out.mentions = foundBy(text)
	return out, nil
}

// saidIn is what a turn is found by: its text and its calls. Its outputs are
// records of their own.
func saidIn(turn *layers.Turn) string {
	var text strings.Builder
	text.WriteString(turn.Text)
	for _, call := range turn.Calls {
		text.WriteString("\n" + call.Name + " " + call.Input)
	}
	return text.String()
}

// foundBy is what a record with a text is found by; nothing for an empty one.
func foundBy(text string) (words []byte, mentions []storage.Mention) {
	if text == "" {
		return nil, nil
	}
	entities := digest.EntitiesOf(text)
	return terms.NewDoc(text, entities).Encode(), mentionsOf(entities)
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
