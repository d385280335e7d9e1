package session

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"hexapla/layers"
	"hexapla/storage"
)

// Answer is a model's answer in its four parts (H9).
type Answer struct {
	Content      string
	ToolUses     []layers.ToolCall
	Housekeeping *layers.Housekeeping
	Requests     *ContextRequest
	Problems     []Problem
}

// Problem is a part of an answer that could not be used.
type Problem struct {
	Part    string // "housekeeping", "contextRequests" or "toolUses"
	Message string
}

// Where blocks stand in an answer's text. A block holds one JSON object with
// the members housekeeping and contextRequests.
var blockMarks = [...]struct{ open, close string }{
	{"```hexapla\n", "```"},
	{"<hexapla>", "</hexapla>"},
}

// maxProblems bounds the problems that are reported of one answer.
const maxProblems = 20

// SplitAnswer takes an answer's text apart. Whatever is not a block is content;
// a block that cannot be read is left out of the content and reported.
func SplitAnswer(text string) Answer {
	var a Answer
	var content strings.Builder
	for {
		at, mark := -1, 0
		for i := range blockMarks {
			if k := strings.Index(text, blockMarks[i].open); k >= 0 && (at < 0 || k < at) {
				at, mark = k, i
			}
		}
		if at < 0 {
			content.WriteString(text)
			break
		}
		content.WriteString(text[:at])
		body := text[at+len(blockMarks[mark].open):]
		end := strings.Index(body, blockMarks[mark].close)
		if end < 0 {
			a.problem("housekeeping", "the block is cut off: no "+blockMarks[mark].close)
			end = len(body)
			text = ""
		} else {
			text = body[end+len(blockMarks[mark].close):]
		}
		a.readBlock(body[:end])
	}
	a.Content = strings.TrimSpace(content.String())
	return a
}

func (a *Answer) problem(part, message string) {
	if len(a.Problems) < maxProblems {
		a.Problems = append(a.Problems, Problem{part, message})
	}
}

// readBlock reads one block. What can be used of it is used, member by member.
func (a *Answer) readBlock(body string) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &members); err != nil {
		a.problem("housekeeping", "the block is not a JSON object: "+jsonError(err))
		return
	}
	if raw, ok := members["housekeeping"]; ok {
		h := a.readHousekeeping(raw)
		if h != nil {
			a.Housekeeping = h
		}
	}
	if raw, ok := members["contextRequests"]; ok {
		a.readRequests(raw)
	}
}

// jsonError is an error of the decoder without content of the answer.
func jsonError(err error) string {
	switch e := err.(type) {
	case *json.SyntaxError:
		return fmt.Sprintf("not valid at byte %d", e.Offset)
	case *json.UnmarshalTypeError:
		return fmt.Sprintf("%s must not be a %s", either(e.Field, "it"), e.Value)
	}
	return "cannot be read"
}

// said is the form in which a model gives housekeeping. Every member is
// optional.
type saidLLM struct {
	ResponseHeader struct {
		Topic       string         `json:"topic"`
		Summary     string         `json:"summary"`
		KeyEntities []string       `json:"keyEntities"`
		Outcome     layers.Outcome `json:"outcome"`
	} `json:"responseHeader"`
	ContextSummary string                 `json:"contextSummary"`
	KeyDecisions   []string               `json:"keyDecisions"`
	CodeChanges    []layers.CodeChange    `json:"codeChanges"`
	OpenQuestions  []string               `json:"openQuestions"`
	CurrentContext *layers.CurrentContext `json:"currentContext"`
}

func (a *Answer) readHousekeeping(raw json.RawMessage) *layers.Housekeeping {
	var members struct {
		LLM  map[string]json.RawMessage `json:"llm"`
		User map[string]json.RawMessage `json:"user"`
	}
	if err := json.Unmarshal(raw, &members); err != nil {
		a.problem("housekeeping", jsonError(err))
		return nil
	}
	var llm saidLLM
	var h layers.Housekeeping
	a.readMember(members.LLM, "responseHeader", &llm.ResponseHeader)
	a.readMember(members.LLM, "contextSummary", &llm.ContextSummary)
	a.readMember(members.LLM, "keyDecisions", &llm.KeyDecisions)
	a.readMember(members.LLM, "codeChanges", &llm.CodeChanges)
	a.readMember(members.LLM, "openQuestions", &llm.OpenQuestions)
	a.readMember(members.LLM, "currentContext", &llm.CurrentContext)
	a.readMember(members.User, "queryHeader", &h.User.QueryHeader)
	a.readMember(members.User, "understoodIntent", &h.User.UnderstoodIntent)
	a.readMember(members.User, "contextUsed", &h.User.ContextUsed)
	a.readMember(members.User, "satisfaction", &h.User.Satisfaction)
	a.readMember(members.User, "corrections", &h.User.Corrections)
	switch llm.ResponseHeader.Outcome {
	case "", layers.OutcomeOngoing, layers.OutcomeCompleted, layers.OutcomeError:
	default:
		a.problem("housekeeping", `responseHeader.outcome must be "ongoing", "completed" or "error"`)
		llm.ResponseHeader.Outcome = ""
	}
	h.LLM = layers.HousekeepingLLM{
		ResponseHeader: layers.Header{
			Topic: llm.ResponseHeader.Topic, Summary: llm.ResponseHeader.Summary,
			KeyEntities: llm.ResponseHeader.KeyEntities, Outcome: llm.ResponseHeader.Outcome,
		},
		ContextSummary: llm.ContextSummary, KeyDecisions: llm.KeyDecisions, CodeChanges: llm.CodeChanges,
		OpenQuestions: llm.OpenQuestions, CurrentContext: llm.CurrentContext,
	}
	return &h
}

func (a *Answer) readMember(members map[string]json.RawMessage, name string, into any) {
	raw, ok := members[name]
	if !ok {
		return
	}
	if err := json.Unmarshal(raw, into); err != nil {
		a.problem("housekeeping", name+": "+jsonError(err))
	}
}

func (a *Answer) readRequests(raw json.RawMessage) {
	var members struct {
		Retrieve []json.RawMessage `json:"retrieveConversations"`
		Topics   []string          `json:"summarizeTopics"`
		Archive  []string          `json:"archiveConversations"`
	}
	if err := json.Unmarshal(raw, &members); err != nil {
		a.problem("contextRequests", jsonError(err))
		return
	}
	r := ContextRequest{Topics: members.Topics, Archive: members.Archive}
	for i, raw := range members.Retrieve[:min(len(members.Retrieve), maxRequestedIDs)] {
		var one struct {
			IDs      []string      `json:"conversationIds"`
			Snake    []string      `json:"conversation_ids"`
			Format   layers.Detail `json:"format"`
			Priority string        `json:"priority"`
			Query    string        `json:"query"`
			Limit    int           `json:"limit"`
			Cursor   string        `json:"cursor"`
		}
		if err := json.Unmarshal(raw, &one); err != nil {
			a.problem("contextRequests", fmt.Sprintf("retrieveConversations[%d]: %s", i, jsonError(err)))
			continue
		}
		r.Retrieve = append(r.Retrieve, Retrieve{
			IDs: append(one.IDs, one.Snake...), Format: one.Format, Priority: one.Priority, Query: one.Query, Limit: one.Limit, Cursor: one.Cursor,
		})
	}
	if len(members.Retrieve) > maxRequestedIDs {
		a.problem("contextRequests", fmt.Sprintf("only the first %d of retrieveConversations are used", maxRequestedIDs))
	}
	if !r.Empty() {
		a.Requests = &r
	}
}

// IngestRequest carries a model's answer.
type IngestRequest struct {
	Conversation string `json:"conversation"`
	Answer       Answer `json:"answer"`
	Done         bool   `json:"done"`
	Time         int64  `json:"time"`
	Key          string `json:"-"`
}

// IngestReply tells what became of an answer.
type IngestReply struct {
	Conversation string
	Number       int
	Applied      bool // housekeeping
	Context      *ContextReply
	Problems     []Problem
	Sequence     int64 `json:"-"`
}

// Ingest records an answer as the assistant's turn, applies its housekeeping
// and answers its context requests, all in one write. A context request that
// cannot be used is reported and costs nothing else.
func (s *Session) Ingest(ctx context.Context, req IngestRequest) (IngestReply, error) {
	ws := s.Workspace
	a := req.Answer
	if a.Content == "" && len(a.ToolUses) == 0 {
		return s.ingestRest(ctx, req)
	}
	record := RecordRequest{
		Conversation: req.Conversation, Done: req.Done, Housekeeping: a.Housekeeping,
		Turns: []layers.Turn{{Role: layers.RoleAssistant, Text: a.Content, Calls: a.ToolUses, Time: req.Time}},
	}
	prepared, err := ws.prepare(ctx, s.ID, record)
	if err != nil {
		return IngestReply{}, err
	}
	reply, receipt, err := write(ctx, ws, "response/ingest", s.ID, req.Key, req, func(tx *storage.Tx) (IngestReply, error) {
		out, err := ws.record(tx, s.ID, record, prepared)
		if err != nil {
			return IngestReply{}, err
		}
		reply := IngestReply{
			Conversation: out.Conversation, Number: out.Numbers[0], Applied: a.Housekeeping != nil, Problems: a.Problems,
		}
		return reply, s.answerPart(ctx, tx, a, 1, &reply)
	})
	reply.Sequence = receipt.Seq
	if reply.Context != nil {
		s.prefetchAfter(reply.Context.Items)
	}
	return reply, err
}

// ingestRest takes an answer that has neither text nor tool calls.
func (s *Session) ingestRest(ctx context.Context, req IngestRequest) (IngestReply, error) {
	ws, a := s.Workspace, req.Answer
	if a.Housekeeping == nil && a.Requests == nil && !req.Done && len(a.Problems) == 0 {
		return IngestReply{}, invalid("response", "the answer is empty")
	}
	reply, receipt, err := write(ctx, ws, "response/ingest", s.ID, req.Key, req, func(tx *storage.Tx) (IngestReply, error) {
		reply := IngestReply{Applied: a.Housekeeping != nil, Problems: a.Problems}
		if a.Housekeeping != nil || req.Done {
			out, err := ws.record(tx, s.ID, RecordRequest{Conversation: req.Conversation, Done: req.Done, Housekeeping: a.Housekeeping}, nil)
			if err != nil {
				return reply, err
			}
			reply.Conversation = out.Conversation
		}
		return reply, s.answerPart(ctx, tx, a, 0, &reply)
	})
	reply.Sequence = receipt.Seq
	return reply, err
}

// answerPart answers the context requests of an answer.
func (s *Session) answerPart(ctx context.Context, tx *storage.Tx, a Answer, turns int, reply *IngestReply) error {
	if a.Requests == nil {
		served, expired, err := s.serveWaiting(ctx, tx, turns)
		if len(served)+len(expired) > 0 {
			reply.Context = &ContextReply{
				Items: []ContextItem{}, Deferred: []Deferred{}, Topics: []TopicSummary{}, Archived: []string{},
				ServedDeferred: served, Expired: expired,
			}
		}
		return err
	}
	request := *a.Requests
	if request.MaxTokens == 0 {
		request.MaxTokens = defaultRequestTokens
	}
	answer, err := s.answer(ctx, tx, request, turns)
	if err != nil {
		var bad *InvalidError
		if asInvalid(err, &bad) {
			reply.Problems = append(reply.Problems, Problem{"contextRequests", bad.Error()})
			return nil
		}
		return err
	}
	reply.Context = &answer
	return nil
}
