package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"time"

	"hexapla/layers"
	"hexapla/retrieval"
	"hexapla/rpc/wire"
	"hexapla/session"
	"hexapla/storage"
)

// This file is where wire types and domain types meet, and the only one.

// domainError gives a domain error its place on the wire. Errors that it does
// not know stay as they are and become internal errors.
func domainError(err error) error {
	if err == nil {
		return nil
	}
	var invalid *session.InvalidError
	var large *session.TooLargeError
	var limit *session.LimitError
	var budget *layers.BudgetError
	var missing *session.NotFoundError
	var locked *storage.LockedError
	switch {
	case errors.As(err, &locked):
		e := NewError(wire.KindLocked, "another process has the workspace's store open")
		e.Data.PID = locked.PID
		return e
	case errors.As(err, &missing):
		e := NewError(wire.KindNotFound, missing.Error())
		e.Data.Path = missing.Path
		return e
	case errors.As(err, &invalid):
		e := InvalidParams(invalid.Path, invalid.Error())
		e.Data.Limit = invalid.Limit
		return e
	case errors.As(err, &large):
		e := NewError(wire.KindTooLarge, large.Error())
		e.Data.Path, e.Data.Limit = large.Path, large.Limit
		return e
	case errors.As(err, &limit):
		kind := wire.KindBreakerFailed
		if limit.Code == session.CodeTokenLimit {
			kind = wire.KindTokenLimit
		}
		e := NewError(kind, limit.Error())
		e.Data.Path, e.Data.Limit, e.Data.SmallestTotal = "limit", int64(limit.Limit), int64(limit.Tokens)
		return e
	case errors.As(err, &budget):
		e := NewError(wire.KindBudgetTooSmall, budget.Error())
		e.Data.Path, e.Data.SmallestTotal = "budget.total", int64(budget.Smallest)
		e.Data.NeverDropped = &wire.NeverDropped{
			Reserved: budget.Needs.Reserved, System: budget.Needs.System, Pins: budget.Needs.Pins,
			Request: budget.Needs.Request, Errors: budget.Needs.Errors, Other: budget.Needs.Rest,
		}
		return e
	}
	for _, known := range []struct {
		target  error
		kind    wire.Kind
		message string
	}{
		{session.ErrConversationDone, wire.KindConversationDone, "the conversation is completed; record without its id to open the next"},
		{session.ErrStateChanged, wire.KindStateChanged, "the cursor belongs to an older state; start again"},
		{session.ErrForgotten, wire.KindForgotten, "it was forgotten; nothing of it is left"},
		{session.ErrQuota, wire.KindQuota, "the workspace has used up storage.maxBytes: forget conversations or raise it; reading, forgetting and exporting go on"},
		{session.ErrResources, wire.KindResourceLimit, "the process may not open more files: close a workspace, or raise the limit"},
		{session.ErrNotFound, wire.KindNotFound, "no such session, conversation, blob, pack or sequence in this workspace"},
		{session.ErrClosed, wire.KindShuttingDown, "the server is shutting down"},
		{storage.ErrNotFound, wire.KindNotFound, "no such session, conversation, blob, pack or sequence in this workspace"},
		{storage.ErrKeyReused, wire.KindOpIDReused, "the key was used before for a request with other content"},
		{storage.ErrSchemaTooNew, wire.KindSchemaTooNew, "a newer Hexapla wrote the store; it was left untouched"},
		{storage.ErrCorrupt, wire.KindCorrupt, "the store is damaged; it was left untouched"},
		{storage.ErrDamaged, wire.KindCorrupt, "a record of the store is damaged"},
		{storage.ErrBlobDamaged, wire.KindBlobDamaged, "the stored bytes are missing or do not match their checksum"},
		{storage.ErrFull, wire.KindStorageFull, "the disk is full; reads still work"},
		{storage.ErrReadOnly, wire.KindReadOnly, "the store cannot be written to"},
		{storage.ErrBusy, wire.KindBusy, "the store is being read or erased; ask again"},
		{storage.ErrTooLarge, wire.KindTooLarge, "a text is over its limit"},
		{storage.ErrClosed, wire.KindShuttingDown, "the server is shutting down"},
		{retrieval.ErrQueryTooComplex, wire.KindQueryTooComplex, "the query has too many bytes or terms"},
	} {
		if errors.Is(err, known.target) {
			return NewError(known.kind, known.message)
		}
	}
	return err
}

func timeToWire(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.999Z07:00")
}

// timeFromWire reads an RFC 3339 time. It is a claim: what cannot be read
// counts as not given (V9) only when it is empty.
func timeFromWire(path, s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return 0, InvalidParams(path, path+`: must be a time such as "2026-01-31T12:00:00Z"`)
	}
	return t.UnixMilli(), nil
}

// boundFromWire reads a time that bounds a listing; nil for none.
func boundFromWire(path, s string) (*int64, error) {
	if s == "" {
		return nil, nil
	}
	ms, err := timeFromWire(path, s)
	return &ms, err
}

// momentFromWire reads a sequence number or a time in Unix milliseconds; time is
// nil for a sequence and for null.
func momentFromWire(path string, moment any) (sequence int64, time *int64, err error) {
	const want = `: must be a sequence number, or a time such as "2026-01-31T12:00:00Z"`
	switch m := moment.(type) {
	case nil:
		return 0, nil, nil
	case float64:
		if m == math.Trunc(m) && math.Abs(m) <= 1<<53 {
			return int64(m), nil, nil
		}
	case json.Number: // beyond what a float64 holds
		if sequence, err := m.Int64(); err == nil {
			return sequence, nil, nil
		}
	case string:
		if ms, err := timeFromWire(path, m); err == nil && m != "" {
			return 0, &ms, nil
		}
	}
	return 0, nil, InvalidParams(path, path+want)
}

func blobToWire(ref layers.BlobRef) wire.BlobRef {
	return wire.BlobRef{SHA256: ref.SHA256, Size: ref.Size, MIME: ref.MIME}
}

func optionalBlob(ref layers.BlobRef) *wire.BlobRef {
	if ref.SHA256 == "" {
		return nil
	}
	w := blobToWire(ref)
	return &w
}

func compressedToWire(c layers.CompressedToolResult, blob layers.BlobRef) wire.CompressedToolResult {
	return wire.CompressedToolResult{
		Tool: c.Tool, Summary: c.Summary, Entities: list(c.Entities), KeyFiles: list(c.KeyFiles),
		ErrorPatterns: list(c.ErrorPatterns), Pointers: list(c.Pointers), Blob: blobToWire(blob),
	}
}

// list gives [] for nil: arrays on the wire are never null.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// inputText gives a tool's arguments as compact JSON text.
func inputText(input any) (string, error) {
	if input == nil {
		return "", nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(input); err != nil {
		return "", err
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// inputValue gives a tool's arguments as JSON again; text that is no JSON stays
// a string.
func inputValue(text string) any {
	if text == "" {
		return nil
	}
	if !json.Valid([]byte(text)) {
		return text
	}
	return json.RawMessage(text)
}

func callsFromWire(calls []wire.ToolCall) ([]layers.ToolCall, error) {
	var out []layers.ToolCall
	for _, call := range calls {
		input, err := inputText(call.Input)
		if err != nil {
			return nil, err
		}
		out = append(out, layers.ToolCall{ID: call.ID, Name: call.Name, Input: input})
	}
	return out, nil
}

func callsToWire(calls []layers.ToolCall) []wire.ToolCall {
	out := make([]wire.ToolCall, 0, len(calls))
	for _, call := range calls {
		out = append(out, wire.ToolCall{ID: call.ID, Name: call.Name, Input: inputValue(call.Input)})
	}
	return out
}

func turnFromWire(path string, t wire.Turn) (layers.Turn, error) {
	at, err := timeFromWire(path+".time", t.Time)
	if err != nil {
		return layers.Turn{}, err
	}
	calls, err := callsFromWire(t.ToolCalls)
	if err != nil {
		return layers.Turn{}, InvalidParams(path+".toolCalls", path+".toolCalls: input cannot be read")
	}
	out := layers.Turn{Role: layers.Role(t.Role), Kind: layers.InputKind(t.Kind), Text: t.Text, Calls: calls, Time: at}
	for i, r := range t.ToolResults {
		result := layers.ToolResult{CallID: r.CallID, Tool: r.Tool, Content: r.Content, IsError: r.IsError}
		result.Blob.MIME = r.MIME
		if r.Blob != nil {
			if r.Content != "" {
				at := path + ".toolResults[" + itoa(i) + "]"
				return out, InvalidParams(at, at+": give content or blob, not both")
			}
			result.Blob.SHA256 = r.Blob.SHA256
		}
		out.Results = append(out.Results, result)
	}
	return out, nil
}

func turnToWire(t layers.Turn) wire.RecordedTurn {
	out := wire.RecordedTurn{
		Number: t.Number, Role: string(t.Role), Kind: string(t.Kind), Text: t.Text,
		ToolCalls: callsToWire(t.Calls), ToolResults: []wire.RecordedToolResult{}, Time: timeToWire(t.Time),
	}
	for _, r := range t.Results {
		out.ToolResults = append(out.ToolResults, wire.RecordedToolResult{
			CallID: r.CallID, IsError: r.IsError, Compressed: compressedToWire(r.Compressed, r.Blob),
		})
	}
	return out
}

func headerToWire(h layers.Header) wire.Header {
	return wire.Header{
		ID: h.ID, Timestamp: timeToWire(h.Timestamp), Topic: h.Topic, KeyEntities: list(h.KeyEntities),
		Outcome: string(h.Outcome), TokenCount: h.TokenCount, Summary: h.Summary, Source: h.Source,
	}
}

func changesToWire(changes []layers.CodeChange) []wire.CodeChange {
	out := make([]wire.CodeChange, 0, len(changes))
	for _, c := range changes {
		out = append(out, wire.CodeChange{
			Files: list(c.Files), ChangeType: c.ChangeType, Summary: c.Summary, Impact: c.Impact, RelatedConversations: c.RelatedConversations,
		})
	}
	return out
}

func changesFromWire(changes []wire.CodeChange) []layers.CodeChange {
	var out []layers.CodeChange
	for _, c := range changes {
		out = append(out, layers.CodeChange(c))
	}
	return out
}

func summaryToWire(s layers.Summary) wire.Summary {
	return wire.Summary{
		Content: s.Content, KeyDecisions: list(s.KeyDecisions), CodeChanges: changesToWire(s.CodeChanges),
		OpenQuestions: list(s.OpenQuestions), Retrievable: s.Retrievable, Source: s.Source, Confidence: s.Confidence,
	}
}

func contextToWire(c layers.CurrentContext) wire.CurrentContext {
	return wire.CurrentContext{
		OverallNarrative: c.OverallNarrative, CurrentObjective: c.CurrentObjective, KeyAchievements: list(c.KeyAchievements),
		ActiveEntities: wire.ActiveEntities{
			Files: list(c.ActiveEntities.Files), Functions: list(c.ActiveEntities.Functions), Concepts: list(c.ActiveEntities.Concepts),
		},
		ContextualState: c.ContextualState, NextSteps: list(c.NextSteps), LastUpdated: timeToWire(c.LastUpdated), Source: c.Source,
	}
}

func housekeepingFromWire(h *wire.Housekeeping) (*layers.Housekeeping, error) {
	if h == nil {
		return nil, nil
	}
	out := &layers.Housekeeping{
		LLM: layers.HousekeepingLLM{
			ContextSummary: h.LLM.ContextSummary, KeyDecisions: h.LLM.KeyDecisions,
			CodeChanges: changesFromWire(h.LLM.CodeChanges), OpenQuestions: h.LLM.OpenQuestions,
		},
		User: layers.HousekeepingUser(h.User),
	}
	if r := h.LLM.ResponseHeader; r != nil {
		out.LLM.ResponseHeader = layers.Header{Topic: r.Topic, Summary: r.Summary, KeyEntities: r.KeyEntities, Outcome: layers.Outcome(r.Outcome)}
		switch out.LLM.ResponseHeader.Outcome {
		case "", layers.OutcomeOngoing, layers.OutcomeCompleted, layers.OutcomeError:
		default:
			const path = "housekeeping.llm.responseHeader.outcome"
			return nil, InvalidParams(path, path+`: must be "ongoing", "completed" or "error"`)
		}
	}
	if c := h.LLM.CurrentContext; c != nil {
		out.LLM.CurrentContext = &layers.CurrentContext{
			OverallNarrative: c.OverallNarrative, CurrentObjective: c.CurrentObjective, KeyAchievements: c.KeyAchievements,
			ActiveEntities:  layers.ActiveEntities(c.ActiveEntities),
			ContextualState: c.ContextualState, NextSteps: c.NextSteps,
		}
	}
	return out, nil
}

func requestsFromWire(r wire.ContextRequests) session.ContextRequest {
	out := session.ContextRequest{Topics: r.SummarizeTopics, Archive: r.ArchiveConversations}
	for _, one := range r.RetrieveConversations {
		out.Retrieve = append(out.Retrieve, session.Retrieve{
			IDs: one.ConversationIDs, Format: layers.Detail(one.Format), Priority: one.Priority, Query: one.Query, Limit: one.Limit, Cursor: one.Cursor,
		})
	}
	return out
}

func answerToWire(r session.ContextReply) wire.ContextAnswer {
	out := wire.ContextAnswer{Items: contextItemsToWire(r.Items), Deferred: []wire.Deferred{}, Topics: []wire.TopicSummary{}, Archived: list(r.Archived)}
	out.ServedDeferred, out.Expired = contextItemsToWire(r.ServedDeferred), deferralsToWire(r.Expired)
	for _, d := range r.Deferred {
		out.Deferred = append(out.Deferred, wire.Deferred{Conversation: d.ID, Detail: string(d.Detail), Reason: d.Reason, Deferral: d.Deferral})
	}
	for _, t := range r.Topics {
		out.Topics = append(out.Topics, wire.TopicSummary{Topic: t.Topic, Summary: t.Summary, Conversations: list(t.Conversations)})
	}
	return out
}

func dropsToWire(drops []layers.Drop) []wire.Dropped {
	out := make([]wire.Dropped, 0, len(drops))
	for _, d := range drops {
		out = append(out, wire.Dropped(d))
	}
	return out
}

func partsToWire(p retrieval.ScoreParts) wire.ScoreParts {
	return wire.ScoreParts(p)
}
