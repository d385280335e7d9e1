package session

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/layers/tokens"
	"hexapla/storage"
)

// shown is a conversation, or one of its turns, as text.
type shown struct {
	text    string
	tokens  int
	detail  layers.Detail
	whole   bool    // nothing of the detail was left out for want of tokens
	covered float64 // share of the question's words that it holds, in [0,1]; 0 without a question
	next    int     // the passage to go on with; 0 at the end
}

// question is what a conversation is asked about.
type question struct {
	text string
	from int // passages that were shown before
}

// show renders a conversation ("c12") or a turn ("c12#3") in a detail, within
// most tokens; 0 means no limit. DetailMixed gives the least that answers the
// question, if there is one, else the most that fits.
func (ws *Workspace) show(v storage.View, id string, detail layers.Detail, about question, most int, counter layers.Counter) (shown, error) {
	at, v, err := lookUp(v, id)
	if err != nil {
		return shown{}, err
	}
	conversation := at.conversation
	if at.turn != "" {
		return ws.showTurn(v, conversation, at.turn, most, counter)
	}
	if q, ok := seek(about.text); ok && detail == layers.DetailMixed {
		return ws.showCheapest(v, conversation, q, about.from, most, counter)
	}
	if detail == layers.DetailFull || detail == layers.DetailMixed {
		full, err := ws.showFull(v, conversation, most, counter)
		if err != nil {
			return shown{}, err
		}
		if detail == layers.DetailFull || most == 0 || full.tokens <= most && full.detail == layers.DetailFull {
			full.detail = layers.DetailFull
			return full, nil
		}
		detail = layers.DetailSummary
		summary, err := ws.showTrio(v, conversation, detail, most, counter)
		if err != nil || summary.tokens <= most {
			return summary, err
		}
		detail = layers.DetailHeader
	}
	return ws.showTrio(v, conversation, detail, most, counter)
}

// showTrio renders a header or a summary.
func (ws *Workspace) showTrio(v storage.View, conversation string, detail layers.Detail, most int, counter layers.Counter) (shown, error) {
	trio, _, ok, err := latest[trioRecord](v, kindTrio, conversation)
	if err == nil && !ok {
		trio, err = ws.ruleTrio(v, conversation)
	}
	if err != nil {
		return shown{}, err
	}
	text := digest.RenderHeader(trio.Header)
	if detail == layers.DetailSummary {
		text = digest.RenderSummary(trio.Summary, conversation)
	}
	return fit(ws.fence.Clean(text), detail, most, counter), nil
}

// showTurn renders one turn in full, or the one tool result that is named by
// "3/2".
func (ws *Workspace) showTurn(v storage.View, conversation, turn string, most int, counter layers.Counter) (shown, error) {
	number, result, _ := strings.Cut(turn, "/")
	body, seq, ok, err := latest[turnRecord](v, kindTurn, conversation+"#"+number)
	if err != nil {
		return shown{}, err
	}
	if !ok {
		return shown{}, notFound("turn", conversation+"#"+turn)
	}
	if result != "" {
		i, err := strconv.Atoi(result)
		if err != nil || i < 1 || i > len(body.Results) {
			return shown{}, notFound("turn", conversation+"#"+turn)
		}
		body.Results = body.Results[i-1 : i]
	}
	policy := ws.opts.Policy
	policy.ResultCap, policy.CallCap = maxTextSize, maxTextSize
	if most > 0 {
		policy.ResultCap, policy.CallCap = most, most
	}
	s := ws.shaper(counter, policy)
	var b strings.Builder
	for _, piece := range s.pieces(conversation, &body.Turn, seq) {
		b.WriteString(piece.Forms[0].Text)
	}
	return fit(b.String(), layers.DetailFull, most, counter), nil
}

// showFull renders a whole conversation. When it does not fit, every piece is
// shown in the richest detail in which all fit together, and detail is not
// DetailFull then.
func (ws *Workspace) showFull(v storage.View, conversation string, most int, counter layers.Counter) (shown, error) {
	pieces, err := ws.pieces(v, conversation, counter)
	if err != nil {
		return shown{}, err
	}
	for level := 0; ; level++ {
		total := 0
		var b strings.Builder
		for i := range pieces {
			form := pieces[i].Forms[min(level, len(pieces[i].Forms)-1)]
			total += form.Tokens
			b.WriteString(form.Text)
		}
		if most == 0 || total <= most || level == 3 {
			out := fit(b.String(), layers.DetailFull, most, counter)
			if level > 0 || total > most && most > 0 {
				out.detail, out.whole = layers.DetailMixed, false
			}
			return out, nil
		}
	}
}

// fit counts a text and cuts it at most tokens.
func fit(text string, detail layers.Detail, most int, counter layers.Counter) shown {
	out := shown{text: text, tokens: counter.Count(text), detail: detail, whole: true}
	if most > 0 && out.tokens > most {
		out.text = tokens.Prefix(counter, text, most)
		out.tokens, out.whole = counter.Count(out.text), false
	}
	return out
}

// ConversationRequest names a conversation and a detail.
type ConversationRequest struct {
	Conversation string
	Detail       layers.Detail
	MaxTokens    int
	AsOf         int64
	Cursor       string
	Query        string // what DetailMixed is to answer
}

// ConversationReply is a conversation in the detail asked for.
type ConversationReply struct {
	Conversation string    // that was read: what a superseded id stands for
	Versions     []Version // what it was before, oldest first
	Detail       layers.Detail
	Text         string
	Tokens       int
	Covered      float64 // share of the query's words that the text holds, in [0,1]
	Header       layers.Header
	Summary      layers.Summary
	Turns        []layers.Turn       // of the text, for DetailFull
	Sources      []layers.Provenance // of the turns
	Trust        layers.Trust        // the least of the conversation's
	Cursor       string
	Sequence     int64
}

// Conversation reads one conversation. With MaxTokens, full text comes in
// pages of whole pieces; a piece that is too large for a page comes as its
// richest form that fits.
func (s *Session) Conversation(req ConversationRequest) (ConversationReply, error) {
	switch req.Detail {
	case "":
		req.Detail = layers.DetailFull
	case layers.DetailHeader, layers.DetailSummary, layers.DetailFull, layers.DetailMixed:
	default:
		return ConversationReply{}, invalid("detail", `must be "header", "summary", "full" or "mixed"`)
	}
	if req.MaxTokens < 0 {
		return ConversationReply{}, invalid("maxTokens", "must not be negative")
	}
	ws := s.Workspace
	counter := ws.counter(s.Model())
	from, asOf, err := parsePage(req.Cursor, req.AsOf)
	if err != nil {
		return ConversationReply{}, err
	}
	var reply ConversationReply
	err = ws.view(asOf, func(v storage.View) error {
		reply.Sequence = v.Seq()
		at, v, err := lookUp(v, req.Conversation)
		if err != nil {
			return err
		}
		if at.turn != "" {
			return notFound("conversation", req.Conversation)
		}
		reply.Conversation = at.String()
		if reply.Versions, err = versionsOf(v, at.conversation); err != nil {
			return err
		}
		req.Conversation = at.conversation
		trio, _, ok, err := latest[trioRecord](v, kindTrio, req.Conversation)
		if err == nil && !ok {
			trio, err = ws.ruleTrio(v, req.Conversation)
		}
		if err != nil {
			return err
		}
		reply.Header, reply.Summary, reply.Trust = trio.Header, trio.Summary, trio.Trust
		if req.Detail == layers.DetailFull {
			return ws.page(v, req, from, counter, &reply)
		}
		out, err := ws.show(v, req.Conversation, req.Detail, question{req.Query, from}, req.MaxTokens, counter)
		reply.Detail, reply.Text, reply.Tokens, reply.Covered = out.detail, out.text, out.tokens, out.covered
		if out.next > 0 {
			reply.Cursor = fmt.Sprintf("%d@%d", out.next, reply.Sequence)
		}
		return err
	})
	return reply, err
}

// page fills a reply with pieces from the given one on.
func (ws *Workspace) page(v storage.View, req ConversationRequest, from int, counter layers.Counter, reply *ConversationReply) error {
	pieces, err := ws.pieces(v, req.Conversation, counter)
	if err != nil {
		return err
	}
	if from > len(pieces) {
		return fmt.Errorf("cursor: %w", ErrStateChanged)
	}
	reply.Detail = layers.DetailFull
	var b strings.Builder
	numbers := map[int64]bool{}
	for i := from; i < len(pieces); i++ {
		form := pieces[i].Forms[0]
		if req.MaxTokens > 0 && reply.Tokens+form.Tokens > req.MaxTokens {
			if reply.Tokens > 0 {
				reply.Cursor = fmt.Sprintf("%d@%d", i, reply.Sequence)
				break
			}
			for _, shorter := range pieces[i].Forms {
				form = shorter
				if form.Tokens <= req.MaxTokens {
					break
				}
			}
			cut := fit(form.Text, layers.DetailFull, req.MaxTokens, counter)
			form.Text, form.Tokens = cut.text, cut.tokens
		}
		b.WriteString(form.Text)
		reply.Tokens += form.Tokens
		numbers[pieces[i].Seq] = true
	}
	reply.Text = b.String()
	list := listOfTurns(req.Conversation)
	entries, err := v.List(list, 0, v.ListLen(list))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !numbers[entry.Seq] {
			continue
		}
		body, err := turnAt(v, entry)
		if err != nil {
			return err
		}
		reply.Turns = append(reply.Turns, body.Turn)
	}
	reply.Sources, err = ws.sources(v, req.Conversation, reply.Turns)
	return err
}

// parsePage reads a cursor of the form "position@sequence".
func parsePage(cursor string, asOf int64) (from int, seq int64, err error) {
	if cursor == "" {
		return 0, asOf, nil
	}
	position, sequence, ok := strings.Cut(cursor, "@")
	from, err = strconv.Atoi(position)
	if ok && err == nil && from >= 0 {
		seq, err = strconv.ParseInt(sequence, 10, 64)
	}
	if !ok || err != nil || from < 0 || seq <= 0 {
		return 0, 0, invalid("cursor", "is not a cursor of this method")
	}
	return from, seq, nil
}

// Blob reads a stored output. The text begins at offset and ends at a
// character's border; next is where to go on, 0 at the end.
func (s *Session) Blob(ctx context.Context, sha string, offset, length int64) (ref layers.BlobRef, text string, next int64, err error) {
	const most = 16 << 20
	switch {
	case len(sha) != 64 || strings.Trim(sha, "0123456789abcdef") != "":
		return ref, "", 0, invalid("sha256", "must be 64 hex digits in lower case")
	case offset < 0:
		return ref, "", 0, invalid("offset", "must not be negative")
	case length < 0 || length > most:
		return ref, "", 0, &InvalidError{Path: "length", Message: "out of range", Limit: most}
	case length == 0:
		length = 1 << 20
	}
	data, ref, err := s.Workspace.store.ReadBlob(ctx, sha, offset, length)
	if err != nil {
		return ref, "", 0, err
	}
	end := offset + int64(len(data))
	if end < ref.Size {
		data = wholeRunes(data)
		end = offset + int64(len(data))
		next = end
	}
	return ref, asText(string(data)), next, nil
}

// wholeRunes cuts a character that is not complete off the end.
func wholeRunes(data []byte) []byte {
	for back := 1; back <= 3 && back < len(data); back++ {
		c := data[len(data)-back]
		if c < 0x80 {
			return data
		}
		if c >= 0xc0 { // a leading byte
			need := 2
			if c >= 0xe0 {
				need++
			}
			if c >= 0xf0 {
				need++
			}
			if need > back {
				return data[:len(data)-back]
			}
			return data
		}
	}
	return data
}
