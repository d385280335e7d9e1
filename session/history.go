package session

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"hexapla/layers"
	"hexapla/layers/answer"
	"hexapla/layers/history"
	"hexapla/layers/terms"
	"hexapla/storage"
)

// Limits of a list of messages.
const (
	maxMessages   = 100_000 // messages
	archivedAtOne = 2_000   // messages that one write archives
	maxWindow     = 100_000_000
)

// historyPercent is how much of a model's limit a list may take before it is
// pruned, and what it is pruned to (requirement P2).
const historyPercent = 80

// historyKey is the purpose of the store's key that archived messages are named
// with, so that a name does not tell its message.
const historyKey = "history"

// HistoryRequest is a bare list of messages, which need not have been recorded.
type HistoryRequest struct {
	Messages  []json.RawMessage // oldest first, in one provider's shape
	System    json.RawMessage   // what is sent apart from the messages; nil for nothing
	Model     string            // "" for the session's
	Limit     int               // tokens; 0 for the model's context window
	Budget    int               // tokens of what stays, System among them; 0 for Threshold percent of the limit
	Threshold int               // percent of the limit; 0 for 80
	Keep      int               // messages that a summary leaves; 0 for history.DefaultKeep
	Key       string            `json:"-"`
}

// HistoryStats is how full a list of messages is (requirement P4).
type HistoryStats struct {
	Items        int
	Tokens       int // of messages and system
	SystemTokens int // of System alone
	Limit        int
	Known        bool // whether the model is; otherwise Limit is the default's, if none was given
	Estimate     bool
	Threshold    int     // percent
	Utilization  float64 // percent of Limit
	NeedsPruning bool    // Utilization is over Threshold
	Problems     []history.Problem
}

// RemovedMessage is a message that was removed and archived.
type RemovedMessage struct {
	ID      string // of the archived message
	Message int    // index in the list
	Tokens  int
	Reason  history.Reason
	Score   history.Score
}

// HistoryReply is what became of a list of messages.
type HistoryReply struct {
	Before, After HistoryStats
	Kept          []int // indices, in order
	Removed       []RemovedMessage
	// Summary stands for the removed messages in the shape of the others, behind
	// the kept ones before SummaryAt; nil if there is none.
	Summary       json.RawMessage
	SummaryAt     int // index in Kept that it goes before
	SummaryTokens int
	Sequence      int64
}

// historyList is a list of messages that has been read.
type historyList struct {
	*history.List
	stats   HistoryStats
	counter layers.Counter
	system  int
}

// readHistory reads and counts a list of messages.
func (s *Session) readHistory(req *HistoryRequest) (*historyList, error) {
	ws := s.Workspace
	if req.Model == "" {
		req.Model = s.Model()
	}
	if req.Threshold == 0 {
		req.Threshold = historyPercent
	}
	switch {
	case len(req.Messages) > maxMessages:
		return nil, &InvalidError{Path: "messages", Message: "too many messages", Limit: maxMessages}
	case req.Limit < 0 || req.Limit > maxWindow:
		return nil, &InvalidError{Path: "limit", Message: "must be between 1 and 100000000", Limit: maxWindow}
	case req.Budget < 0 || req.Budget > maxWindow:
		return nil, &InvalidError{Path: "budget", Message: "must be between 1 and 100000000", Limit: maxWindow}
	case req.Threshold < 1 || req.Threshold > 100:
		return nil, &InvalidError{Path: "threshold", Message: "must be between 1 and 100", Limit: 100}
	case req.Keep < 0 || req.Keep > maxMessages:
		return nil, &InvalidError{Path: "keep", Message: "must be between 1 and 100000", Limit: maxMessages}
	}
	counter := ws.counter(req.Model)
	messages := make([]history.Message, len(req.Messages))
	for i, raw := range req.Messages {
		m, err := ws.messages.read(raw, counter)
		if err != nil {
			path := "messages[" + strconv.Itoa(i) + "]"
			if len(raw) > maxTextSize {
				return nil, &TooLargeError{Path: path, Limit: maxTextSize}
			}
			return nil, invalid(path, "must be a message of Anthropic's Messages, OpenAI's Chat Completions or Responses, or Gemini")
		}
		messages[i] = m
	}
	l := &historyList{List: history.New(messages), counter: counter}
	if len(req.System) > 0 {
		l.system = counter.Count(answer.TextIn(req.System))
	}
	model, known := ws.opts.Models.Lookup(req.Model)
	limit := req.Limit
	if limit == 0 {
		limit = model.ContextWindow
	}
	l.stats = HistoryStats{Limit: limit, Known: known, Estimate: counter.Estimate(), Threshold: req.Threshold, SystemTokens: l.system}
	l.stats = l.statsOf(len(messages), l.Tokens, l.Problems)
	return l, nil
}

func (l *historyList) statsOf(items, tokens int, problems []history.Problem) HistoryStats {
	s := l.stats
	s.Items, s.Tokens, s.Problems = items, tokens+l.system, problems
	s.Utilization = terms.Round(float64(s.Tokens) / float64(s.Limit) * 100)
	s.NeedsPruning = int64(s.Tokens)*100 > int64(s.Limit)*int64(s.Threshold)
	return s
}

// after is how full the list is with what stays of it and a summary.
func (l *historyList) after(o history.Outcome, summary int) HistoryStats {
	items, tokens := len(o.Kept), o.Tokens+summary
	if summary > 0 {
		items++
	}
	if len(o.Removed) == 0 {
		return l.stats
	}
	kept := make([]history.Message, len(o.Kept))
	for i, m := range o.Kept {
		kept[i] = l.Messages[m]
	}
	return l.statsOf(items, tokens, history.New(kept).Problems)
}

// HistoryStats tells how full a list of messages is, without changing anything.
func (s *Session) HistoryStats(req HistoryRequest) (HistoryStats, error) {
	l, err := s.readHistory(&req)
	if err != nil {
		return HistoryStats{}, err
	}
	return l.stats, nil
}

// PruneHistory takes the messages out of a list that are worth least, until it
// fits its budget, and archives them (requirement P2). A budget that is too small
// for what always stays gives an *InvalidError with the smallest that works.
func (s *Session) PruneHistory(ctx context.Context, req HistoryRequest) (HistoryReply, error) {
	l, err := s.readHistory(&req)
	if err != nil {
		return HistoryReply{}, err
	}
	return s.prune(ctx, &req, l)
}

// ManageHistory prunes a list that is over its threshold and leaves every other
// as it is (requirement P5).
func (s *Session) ManageHistory(ctx context.Context, req HistoryRequest) (HistoryReply, error) {
	l, err := s.readHistory(&req)
	if err != nil {
		return HistoryReply{}, err
	}
	if !l.stats.NeedsPruning {
		reply := HistoryReply{Before: l.stats, After: l.stats, Kept: l.Split(len(l.Messages)).Kept}
		return reply, s.Workspace.view(0, func(v storage.View) error { reply.Sequence = v.Seq(); return nil })
	}
	return s.prune(ctx, &req, l)
}

func (s *Session) prune(ctx context.Context, req *HistoryRequest, l *historyList) (HistoryReply, error) {
	budget := req.Budget
	if budget == 0 {
		budget = int(int64(l.stats.Limit) * int64(req.Threshold) / 100)
	}
	outcome, err := l.Prune(budget - l.system)
	var small *history.TooSmallError
	if errors.As(err, &small) {
		return HistoryReply{}, &HistoryBudgetError{Needed: small.Needed + l.system}
	}
	if err != nil {
		return HistoryReply{}, err
	}
	reply := HistoryReply{Before: l.stats, After: l.after(outcome, 0), Kept: outcome.Kept}
	return s.archive(ctx, "history/prune", req, l, outcome, reply)
}

// HistoryBudgetError says that system prompts and the newest message of a list do
// not fit.
type HistoryBudgetError struct {
	Needed int // the smallest budget that works
}

// Error names the smallest budget.
func (e *HistoryBudgetError) Error() string {
	return "budget: system prompts and the newest message take " + strconv.Itoa(e.Needed) + " tokens"
}

// SummarizeHistory puts one message in the place of all but the last ones, made
// by rule, and archives what it stands for (requirement P3).
func (s *Session) SummarizeHistory(ctx context.Context, req HistoryRequest) (HistoryReply, error) {
	if req.Keep == 0 {
		req.Keep = history.DefaultKeep
	}
	l, err := s.readHistory(&req)
	if err != nil {
		return HistoryReply{}, err
	}
	outcome := l.Split(req.Keep)
	var old [][]byte
	for _, r := range outcome.Removed {
		old = append(old, req.Messages[r.Message])
	}
	// A summary that is not much smaller than what it stands for is of no use.
	text := s.Workspace.fence.Clean(history.Summarize(old, (l.Tokens-outcome.Tokens)/2, l.counter))
	if text == "" {
		outcome = l.Split(len(l.Messages))
	}
	reply := HistoryReply{Before: l.stats, After: l.stats, Kept: outcome.Kept}
	if len(outcome.Removed) > 0 {
		var provider answer.Provider
		for i := range l.Messages {
			if provider == "" {
				provider = l.Messages[i].Provider
			}
		}
		reply.Summary = history.UserMessage(text, provider)
		reply.SummaryTokens = l.counter.Count(text)
		for reply.SummaryAt < len(outcome.Kept) && outcome.Kept[reply.SummaryAt] < outcome.Removed[len(outcome.Removed)-1].Message {
			reply.SummaryAt++
		}
		reply.After = l.after(outcome, reply.SummaryTokens)
	}
	return s.archive(ctx, "history/summarize", &req, l, outcome, reply)
}

// archive stores what was removed. A message that is archived already is not
// stored again; where all are known to be, nothing is written. All is on disk when it returns; if it fails, what was stored
// before stays, which a repetition finds.
func (s *Session) archive(ctx context.Context, method string, req *HistoryRequest, l *historyList, outcome history.Outcome, reply HistoryReply) (HistoryReply, error) {
	ws := s.Workspace
	key := ws.store.Key(historyKey)
	var fresh []RemovedMessage // that are not known to be archived
	reply.Removed = slices.Grow(reply.Removed, len(outcome.Removed))
	for _, r := range outcome.Removed {
		id, archived := ws.messages.archivedAs(req.Messages[r.Message])
		if !archived {
			id = messageID(key, req.Messages[r.Message])
		}
		reply.Removed = append(reply.Removed, RemovedMessage{
			ID: id, Message: r.Message, Tokens: l.Messages[r.Message].Tokens, Reason: r.Reason, Score: l.Score(r.Message),
		})
		if !archived {
			fresh = append(fresh, reply.Removed[len(reply.Removed)-1])
		}
	}
	if len(fresh) == 0 {
		return reply, ws.view(0, func(v storage.View) error { reply.Sequence = v.Seq(); return nil })
	}
	for from := 0; from < len(fresh); from += archivedAtOne {
		part := fresh[from:min(from+archivedAtOne, len(fresh))]
		name := ""
		if from+archivedAtOne >= len(fresh) {
			name = req.Key
		}
		_, receipt, err := write(ctx, ws, method, s.ID, name, req, func(tx *storage.Tx) (struct{}, error) {
			during, _, err := ongoing(tx.View(), s.ID)
			if err != nil {
				return struct{}{}, err
			}
			raws := make([][]byte, len(part))
			for i, r := range part {
				raws[i] = req.Messages[r.Message]
			}
			return struct{}{}, s.putMessages(tx, during, raws)
		})
		if err != nil {
			return HistoryReply{}, err
		}
		reply.Sequence = receipt.Seq
		if receipt.Repeated { // it may have been forgotten since
			continue
		}
		for _, r := range part {
			ws.messages.archivedNow(req.Messages[r.Message], r.ID)
		}
	}
	return reply, nil
}

// messageRecord is the body of an archived message.
type messageRecord struct {
	Message string `json:"message"` // its JSON
}

func messageID(key, message []byte) string {
	h := hmac.New(sha256.New, key)
	h.Write(message)
	return "m" + hex.EncodeToString(h.Sum(nil)[:8])
}

// ArchivedMessage is a message that was removed from a list.
type ArchivedMessage struct {
	ID      string
	Message json.RawMessage
}

// maxArchivedAsked is how many messages are read at once.
const maxArchivedAsked = 1000

// ArchivedMessages reads messages that were removed, in the order asked for.
func (s *Session) ArchivedMessages(ids []string) (messages []ArchivedMessage, seq int64, err error) {
	if len(ids) > maxArchivedAsked {
		return nil, 0, &InvalidError{Path: "archived", Message: "too many", Limit: maxArchivedAsked}
	}
	err = s.Workspace.view(0, func(v storage.View) error {
		seq = v.Seq()
		for i, id := range ids {
			body, _, known, err := latest[messageRecord](v, kindMessage, id)
			if err != nil {
				return err
			}
			if !known {
				return &NotFoundError{Path: "archived[" + strconv.Itoa(i) + "]", Message: "no such message is archived"}
			}
			messages = append(messages, ArchivedMessage{ID: id, Message: json.RawMessage(body.Message)})
		}
		return nil
	})
	return messages, seq, err
}
