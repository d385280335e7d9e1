package session

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/layers/tokens"
	"hexapla/retrieval"
	"hexapla/storage"
)

// SearchRequest is a search.
type SearchRequest struct {
	Query  string
	Kind   string // FindConversations (when empty), FindTurns or FindOutputs
	Limit  int
	AsOf   int64
	Cursor string
}

// What a search finds.
const (
	FindConversations = "conversation"
	FindTurns         = "turn"
	FindOutputs       = "output"
)

// SearchHit is one hit.
type SearchHit struct {
	Conversation string
	Turn         int
	Blob         layers.BlobRef
	Score        float64
	Coverage     float64
	Parts        retrieval.ScoreParts
	Snippet      string
	Header       layers.Header
}

// SearchReply is the hits, best first.
type SearchReply struct {
	Hits     []SearchHit
	Cursor   string
	Sequence int64
	Degraded bool
	Model    string // what nearness in meaning goes by; "" where it has no part
}

const (
	defaultHits   = 10
	maxHits       = 100
	maxQuery      = 8 << 10 // bytes
	snippetTokens = 60
)

// Search finds conversations, turns or tool outputs by relevance.
func (s *Session) Search(ctx context.Context, req SearchRequest) (SearchReply, error) {
	switch {
	case strings.TrimSpace(req.Query) == "":
		return SearchReply{}, invalid("query", "must not be empty")
	case len(req.Query) > maxQuery:
		return SearchReply{}, fmt.Errorf("%w: over %d bytes", retrieval.ErrQueryTooComplex, maxQuery)
	case req.Limit < 0 || req.Limit > maxHits:
		return SearchReply{}, &InvalidError{Path: "limit", Message: "out of range", Limit: maxHits}
	}
	if req.Limit == 0 {
		req.Limit = defaultHits
	}
	var kinds []string
	var weights retrieval.Weights // the usual ones
	switch req.Kind {
	case "", FindConversations:
		weights = retrieval.ConversationWeights()
	case FindTurns:
		kinds = []string{kindTurn}
		weights = retrieval.TurnWeights()
	case FindOutputs:
		kinds = []string{kindOutput}
	default:
		return SearchReply{}, invalid("kind", `must be "conversation", "turn" or "output"`)
	}
	offset, asOf, err := parsePage(req.Cursor, req.AsOf)
	if err != nil {
		return SearchReply{}, err
	}
	ws := s.Workspace
	var reply SearchReply
	err = ws.view(asOf, func(v storage.View) error {
		reply.Sequence = v.Seq()
		query := asText(req.Query)
		found, err := ws.search(ctx, v, retrieval.Query{
			Text: query, Entities: digest.EntitiesOf(query), Kinds: kinds, Limit: req.Limit, Offset: offset,
			Weights: weights, Reciprocal: ws.opts.Embeddings.Fusion == FusionReciprocal,
		})
		if err != nil {
			return err
		}
		reply.Degraded, reply.Model = found.Degraded, found.Model
		for _, hit := range found.Hits {
			out, err := ws.searchHit(v, hit, query)
			if err != nil {
				return err
			}
			reply.Hits = append(reply.Hits, out)
		}
		if found.Total > offset+len(found.Hits) && len(found.Hits) > 0 {
			reply.Cursor = fmt.Sprintf("%d@%d", offset+len(found.Hits), v.Seq())
		}
		return nil
	})
	return reply, err
}

// searchHit reads what a hit shows from the store; no text comes from the
// index.
func (ws *Workspace) searchHit(v storage.View, hit retrieval.Hit, query string) (SearchHit, error) {
	out := SearchHit{Conversation: hit.Conversation, Score: hit.Score, Coverage: hit.Coverage, Parts: hit.Parts}
	text := ""
	switch hit.Kind {
	case kindTurn:
		body, _, _, err := latest[turnRecord](v, kindTurn, hit.ID)
		if err != nil {
			return out, err
		}
		out.Turn = body.Number
		text = plainTurn(&body.Turn)
	case kindOutput:
		body, _, _, err := latest[outputRecord](v, kindOutput, hit.ID)
		if err != nil {
			return out, err
		}
		out.Turn, out.Blob = body.Turn, body.Blob
		text, _ = ws.readText(body.Blob)
	}
	trio, _, ok, err := latest[trioRecord](v, kindTrio, hit.Conversation)
	if err == nil && !ok {
		trio, err = ws.ruleTrio(v, hit.Conversation)
	}
	if err != nil {
		return out, err
	}
	out.Header = trio.Header
	if text == "" {
		text = trio.Summary.Content
	}
	out.Snippet = snippet(text, query, ws.standard())
	return out, nil
}

// snippet returns the lines of a text that hold most words of the query, at
// most snippetTokens.
func snippet(text, query string, counter layers.Counter) string {
	const look = 64 << 10
	text = strings.ToValidUTF8(text[:min(len(text), look)], "")
	words := strings.FieldsFunc(strings.ToLower(query), func(r rune) bool {
		return !(r == '_' || r == '.' || r == '/' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || r >= 0x80)
	})
	lines := strings.Split(text, "\n")
	best, most := 0, -1
	for i, line := range lines {
		lower := strings.ToLower(line)
		n := 0
		for _, word := range words[:min(len(words), 16)] {
			if len(word) > 2 && strings.Contains(lower, word) {
				n++
			}
		}
		if n > most {
			best, most = i, n
		}
	}
	return strings.TrimSpace(tokens.Prefix(counter, oneLine(strings.Join(lines[best:min(best+4, len(lines))], " ")), snippetTokens))
}

// Mention is one place where an entity is spoken of.
type Mention struct {
	Conversation string
	Turn         int
	Blob         layers.BlobRef
	Sequence     int64
}

// Reference is an entity and where it is spoken of.
type Reference struct {
	Kind     string
	Name     string
	Mentions []Mention
	Total    int
}

const (
	defaultReferences = 20
	maxReferences     = 200
	maxPlaces         = 50
)

// References looks an entity up in the reference index (H5).
func (s *Session) References(kind, name string, prefix bool, limit int) (refs []Reference, seq int64, err error) {
	switch {
	case name == "" || len(name) > maxURI:
		return nil, 0, invalid("name", "must have 1 to %d bytes", maxURI)
	case limit < 0 || limit > maxReferences:
		return nil, 0, &InvalidError{Path: "limit", Message: "out of range", Limit: maxReferences}
	case limit == 0:
		limit = defaultReferences
	}
	kinds := []string{kind}
	switch kind {
	case "":
		kinds = []string{"concept", "error", "file", "function"}
	case "file", "function", "concept", "error":
	default:
		return nil, 0, invalid("kind", `must be "file", "function", "concept" or "error"`)
	}
	err = s.Workspace.view(0, func(v storage.View) error {
		seq = v.Seq()
		for _, kind := range kinds {
			found, err := references(v, kind, name, prefix, limit-len(refs))
			if err != nil {
				return err
			}
			refs = append(refs, found...)
		}
		return nil
	})
	return refs, seq, err
}

// references reads the postings of a name. A path is also found by its last
// parts, which are mentions of their own.
func references(v storage.View, kind, name string, prefix bool, limit int) ([]Reference, error) {
	if limit <= 0 {
		return nil, nil
	}
	var refs []Reference
	var failed error
	gone, err := cutOff(v)
	if err != nil {
		return nil, err
	}
	edited := v.ListLen(listEdits) > 0
	err = v.Mentions(kind, name, prefix, func(kind, name string, seq int64) bool {
		n := len(refs)
		if n == 0 || refs[n-1].Name != name {
			if n == limit {
				return false
			}
			refs = append(refs, Reference{Kind: kind, Name: name})
			n++
		}
		ref := &refs[n-1]
		if edited {
			var now bool
			if now, failed = isNow(v, gone, seq); failed != nil {
				return false
			}
			if !now {
				return true
			}
		}
		ref.Total++
		if len(ref.Mentions) == maxPlaces {
			return true
		}
		var mention Mention
		if mention, failed = mentionAt(v, seq); failed != nil {
			return false
		}
		ref.Mentions = append(ref.Mentions, mention)
		return true
	})
	if err == nil {
		err = failed
	}
	refs = slices.DeleteFunc(refs, func(r Reference) bool { return r.Total == 0 })
	sort.SliceStable(refs, func(i, j int) bool { return refs[i].Name < refs[j].Name })
	return refs, err
}

// isNow tells that a record is the newest version of itself and was not cut off.
func isNow(v storage.View, gone map[string]int64, seq int64) (bool, error) {
	record, err := v.Get(seq)
	if err != nil || gone[record.Parent] != 0 {
		return false, err
	}
	newest, ok, err := v.Latest(record.Kind, record.ID)
	return ok && newest.Seq == seq, err
}

func mentionAt(v storage.View, seq int64) (Mention, error) {
	record, err := v.Get(seq)
	if err != nil {
		return Mention{}, err
	}
	m := Mention{Conversation: record.Parent, Sequence: seq}
	if record.Kind == kindOutput {
		body, _, _, err := latest[outputRecord](v, kindOutput, record.ID)
		if err != nil {
			return m, err
		}
		m.Turn, m.Blob = body.Turn, body.Blob
		return m, nil
	}
	_, turn, _ := strings.Cut(record.ID, "#")
	if _, err := fmt.Sscanf(turn, "%d", &m.Turn); err != nil {
		return m, fmt.Errorf("read id %q: %w", record.ID, storage.ErrDamaged)
	}
	return m, nil
}

// RecordTool stores a tool output outside of a turn.
func (s *Session) RecordTool(ctx context.Context, req ToolRequest) (ToolReply, error) {
	if req.Tool == "" {
		return ToolReply{}, invalid("tool", "must not be empty")
	}
	if len(req.Content) > maxTextSize {
		return ToolReply{}, &TooLargeError{Path: "content", Limit: maxTextSize}
	}
	ws := s.Workspace
	result := layers.ToolResult{Tool: req.Tool, Content: req.Content, IsError: req.IsError, Blob: layers.BlobRef{MIME: req.MIME}}
	prepared, err := ws.prepareOutput(ctx, "content", &result, req.Input)
	if err != nil {
		return ToolReply{}, err
	}
	reply, receipt, err := write(ctx, ws, "tool/record", s.ID, req.Key, req, func(tx *storage.Tx) (ToolReply, error) {
		tx.AddBlob(prepared.staged)
		if !prepared.staged.Existed {
			tx.Add(counterBlobs, 1)
			tx.Add(counterBlobBytes, result.Blob.Size)
		}
		body := toolRecord{Tool: req.Tool, Blob: result.Blob, Compressed: result.Compressed}
		tx.Put(storage.Draft{Kind: kindTool, ID: result.Blob.SHA256, Parent: s.ID, Body: encode(body)})
		return ToolReply{
			Result: StoredResult{Compressed: result.Compressed, Blob: result.Blob}, Duplicate: prepared.staged.Existed,
		}, nil
	})
	reply.Sequence = receipt.Seq
	return reply, err
}

// ToolRequest carries a tool output.
type ToolRequest struct {
	Tool    string `json:"tool"`
	Input   string `json:"input"`
	Content string `json:"content"`
	MIME    string `json:"mime"`
	IsError bool   `json:"isError"`
	Key     string `json:"-"`
}

// ToolReply is the receipt of a tool output.
type ToolReply struct {
	Result    StoredResult
	Duplicate bool
	Sequence  int64 `json:"-"`
}

// topic sums up what the conversations that speak of a topic say.
func (ws *Workspace) topic(ctx context.Context, v storage.View, topic string) (TopicSummary, error) {
	hits, err := ws.find(ctx, v, topic, defaultRetrieve)
	if err != nil {
		return TopicSummary{}, err
	}
	out := TopicSummary{Topic: topic}
	var parts []string
	for _, hit := range hits {
		id := hit.Conversation
		out.Conversations = append(out.Conversations, id)
		trio, _, ok, err := latest[trioRecord](v, kindTrio, id)
		if err == nil && !ok {
			trio, err = ws.ruleTrio(v, id)
		}
		if err != nil {
			return out, err
		}
		parts = append(parts, trio.Summary.Content)
	}
	out.Summary, _ = digest.Trim(strings.Join(parts, "\n"), layers.CapSummary, ws.standard())
	return out, nil
}
