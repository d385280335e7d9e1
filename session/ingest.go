package session

import (
	"context"
	"fmt"
	"strings"

	"hexapla/layers"
	"hexapla/layers/answer"
	"hexapla/storage"
)

// IngestRequest carries a model's answer.
type IngestRequest struct {
	Conversation string        `json:"conversation"`
	Answer       answer.Answer `json:"answer"`
	Done         bool          `json:"done"`
	Time         int64         `json:"time"`
	Key          string        `json:"-"`
}

// IngestReply tells what became of an answer.
type IngestReply struct {
	Conversation string
	Number       int
	Applied      bool // housekeeping
	Context      *ContextReply
	Problems     []answer.Problem
	Flags        []Flag
	Swing        *Swing
	Memory       *MemoryChange // nil where no memory item moved to another tier
	// SummarySource says who speaks in the conversation's summary: the model, or
	// the rule that stands in for it.
	SummarySource string
	Results       []OwnResult
	Sequence      int64 `json:"-"`
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
			Flags: out.Flags, Swing: out.Swing, Memory: out.Memory, SummarySource: out.Summary,
		}
		return reply, s.finishIngest(ctx, tx, a, 1, &reply)
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
	if a.Housekeeping == nil && a.Requests == nil && !req.Done && len(a.Problems) == 0 && len(a.Calls) == 0 {
		return IngestReply{}, invalid("response", "the answer is empty")
	}
	reply, receipt, err := write(ctx, ws, "response/ingest", s.ID, req.Key, req, func(tx *storage.Tx) (IngestReply, error) {
		reply := IngestReply{Applied: a.Housekeeping != nil, Problems: a.Problems}
		if a.Housekeeping != nil || req.Done {
			out, err := ws.record(tx, s.ID, RecordRequest{Conversation: req.Conversation, Done: req.Done, Housekeeping: a.Housekeeping}, nil)
			if err != nil {
				return reply, err
			}
			reply.Conversation, reply.Flags, reply.Swing, reply.Memory, reply.SummarySource = out.Conversation, out.Flags, out.Swing, out.Memory, out.Summary
		}
		return reply, s.finishIngest(ctx, tx, a, 0, &reply)
	})
	reply.Sequence = receipt.Seq
	return reply, err
}

// finishIngest answers the context requests of an answer and says what became
// of the rest.
func (s *Session) finishIngest(ctx context.Context, tx *storage.Tx, a answer.Answer, turns int, reply *IngestReply) error {
	var err error
	if reply.Conversation != "" && reply.SummarySource == "" {
		if reply.SummarySource, err = summarySource(tx.View(), reply.Conversation); err != nil {
			return err
		}
	}
	if a.Requests == nil {
		served, expired, err := s.serveWaiting(ctx, tx, turns)
		if err != nil {
			return err
		}
		if len(served)+len(expired) > 0 {
			reply.Context = &ContextReply{
				Items: []ContextItem{}, Deferred: []Deferred{}, Topics: []TopicSummary{}, Archived: []string{},
				ServedDeferred: served, Expired: expired,
			}
		}
	} else {
		request := ContextRequest{Topics: a.Requests.Topics, Archive: a.Requests.Archive, MaxTokens: defaultRequestTokens}
		for i, retrieve := range a.Requests.Retrieve {
			for _, message := range retrieve.Correct() {
				reply.Problems = append(reply.Problems, answer.Problem{
					Part: answer.PartRequests, Message: fmt.Sprintf("retrieveConversations[%d].%s", i, message),
				})
			}
			request.Retrieve = append(request.Retrieve, retrieve)
		}
		served, err := s.answer(ctx, tx, request, turns)
		var bad *InvalidError
		switch {
		case asInvalid(err, &bad):
			reply.Problems = append(reply.Problems, answer.Problem{Part: answer.PartRequests, Message: bad.Error()})
		case err != nil:
			return err
		default:
			reply.Context = &served
		}
	}
	reply.Results = ownResults(a.Calls, reply)
	return nil
}

// summarySource tells where the summary of a conversation that this write made
// none of comes from. A conversation without one is summed up by rule wherever it
// is shown.
func summarySource(v storage.View, conversation string) (string, error) {
	trio, _, ok, err := latest[trioRecord](v, kindTrio, conversation)
	if err != nil || !ok || trio.Summary.Source == "" {
		return layers.SourceRule, err
	}
	return trio.Summary.Source, nil
}

// OwnResult is what to return to the model for a call of one of Hexapla's tools.
type OwnResult struct {
	CallID string
	Tool   string
	Text   string
}

// ownResults says what to return for each call. All context requests of an
// answer are answered at once, in the result of the first call that made them.
func ownResults(calls []answer.OwnCall, reply *IngestReply) []OwnResult {
	out := []OwnResult{}
	answered := ""
	for _, call := range calls {
		var b strings.Builder
		switch {
		case call.Name == answer.HousekeepingTool:
			b.WriteString("noted\n")
			for _, flag := range reply.Flags[:min(len(reply.Flags), maxNamed)] {
				fmt.Fprintf(&b, "left out, nothing bears it out: %s: %s %q\n", flag.Path, flag.Kind, flag.Text)
			}
		case answered != "":
			b.WriteString("answered together with call " + answered + "\n")
		case reply.Context == nil:
			b.WriteString("nothing was asked for\n")
		default:
			answered = either(call.ID, "before")
			writeServed(&b, reply.Context)
		}
		for _, problem := range call.Problems {
			b.WriteString("not used: " + problem.Message + "\n")
		}
		out = append(out, OwnResult{CallID: call.ID, Tool: call.Name, Text: b.String()})
	}
	return out
}

// maxNamed bounds the ids that a result names as not served.
const maxNamed = 50

// writeServed writes what context requests gave, as a model reads it.
func writeServed(b *strings.Builder, reply *ContextReply) {
	for _, item := range reply.Items {
		b.WriteString(item.Text)
	}
	for _, topic := range reply.Topics {
		b.WriteString(oneLine(topic.Topic) + ": " + either(topic.Summary, "nothing is known") + "\n")
	}
	if len(reply.Archived) > 0 {
		b.WriteString("archived: " + strings.Join(reply.Archived, " ") + "\n")
	}
	for _, d := range reply.Deferred[:min(len(reply.Deferred), maxNamed)] {
		b.WriteString("not served: " + oneLine(d.ID) + ": " + d.Reason + "\n")
	}
	if more := len(reply.Deferred) - maxNamed; more > 0 {
		fmt.Fprintf(b, "not served: %d more\n", more)
	}
}
