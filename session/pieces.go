package session

import (
	"slices"
	"strings"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/layers/excerpt"
	"hexapla/layers/fence"
	"hexapla/layers/tokens"
)

// Tokens of the shorter forms of a piece. They are part of the packing policy
// (layers.PolicyVersion).
const (
	briefText  = 80 // an assistant's text in brief
	briefQuery = 160
	lineTokens = 28 // any piece in one line
	briefFacts = 60 // files, errors and places of a tool output in brief
)

// shaper makes the forms of pieces.
type shaper struct {
	counter layers.Counter
	policy  layers.Policy
	fence   fence.Fence
	// read returns the content of a tool output, or false if its bytes are
	// missing or damaged.
	read func(layers.BlobRef) (string, bool)
}

// pieces returns the pieces of a turn. A turn with several tool results gives
// a piece for each, so that they can be shown in different detail.
func (s *shaper) pieces(conversation string, turn *layers.Turn, seq int64) []layers.Piece {
	id := turnID(conversation, turn.Number)
	turn = s.clean(turn)
	switch turn.Role {
	case layers.RoleUser:
		names := s.names(turn.Text)
		names.Active = true
		return []layers.Piece{{ID: id, Seq: seq, User: true, Forms: s.userForms(id, turn), Names: names}}
	case layers.RoleAssistant:
		names := s.names(saidBy(turn))
		names.Active = true
		return []layers.Piece{{ID: id, Seq: seq, Answer: true, Forms: s.assistantForms(id, turn), Names: names, Calls: s.whole(turn.Calls)}}
	}
	out := make([]layers.Piece, 0, len(turn.Results)+1)
	if turn.Text != "" {
		out = append(out, layers.Piece{ID: id, Seq: seq, Forms: s.userForms(id, turn), Names: s.names(turn.Text)})
	}
	for i := range turn.Results {
		resultID := id
		if len(turn.Results) > 1 {
			resultID = outputID(conversation, turn.Number, i)
		}
		out = append(out, s.result(resultID, &turn.Results[i], seq))
	}
	return out
}

// clean returns a turn as it may be shown. Its outputs are cleaned where they are
// read.
func (s *shaper) clean(turn *layers.Turn) *layers.Turn {
	out := *turn
	out.Text = s.fence.Clean(turn.Text)
	out.Calls = slices.Clone(turn.Calls)
	for i := range out.Calls {
		out.Calls[i].Name, out.Calls[i].Input = s.fence.Clean(out.Calls[i].Name), s.fence.Clean(out.Calls[i].Input)
	}
	out.Results = slices.Clone(turn.Results)
	for i := range out.Results {
		r := &out.Results[i]
		r.Tool, r.Compressed.Summary = s.fence.Clean(r.Tool), s.fence.Clean(r.Compressed.Summary)
	}
	return &out
}

func (s *shaper) userForms(id string, turn *layers.Turn) []layers.Form {
	role := "user"
	switch turn.Kind {
	case layers.InputUserFeedback:
		role = "user feedback"
	case layers.InputToolResponse:
		role = "tool"
	}
	if turn.Shared {
		role += " of a shared memory"
	}
	head := s.fence.Heading("### " + id + " " + role)
	return s.forms(
		layers.Form{Detail: layers.FormFull, Text: block(head, turn.Text)},
		layers.Form{Detail: layers.FormBrief, Text: block(head, s.trim(turn.Text, briefQuery))},
		layers.Form{Detail: layers.FormLine, Text: s.line(head, turn.Text)},
	)
}

func (s *shaper) assistantForms(id string, turn *layers.Turn) []layers.Form {
	head := s.fence.Heading("### " + id + " assistant")
	var full, brief strings.Builder
	full.WriteString(turn.Text)
	brief.WriteString(s.trim(turn.Text, briefText))
	for _, call := range turn.Calls {
		newLine(&full)
		newLine(&brief)
		full.WriteString("call " + call.Name + " " + s.cut(call.Input, s.policy.CallCap))
		brief.WriteString("call " + call.Name + " " + oneLine(tokens.Prefix(s.counter, digest.Gist(call.Input), s.policy.CallBriefCap)))
	}
	// The lines of the results say what the calls were about.
	line := turn.Text
	if line == "" && len(turn.Calls) > 0 {
		line = "call " + callNames(turn.Calls)
	}
	return s.forms(
		layers.Form{Detail: layers.FormFull, Text: block(head, full.String())},
		layers.Form{Detail: layers.FormBrief, Text: block(head, brief.String())},
		layers.Form{Detail: layers.FormLine, Text: s.line(head, line)},
	)
}

// whole returns the calls if a full form shows each of them whole, else nil.
func (s *shaper) whole(calls []layers.ToolCall) []layers.ToolCall {
	for _, call := range calls {
		if s.cut(call.Input, s.policy.CallCap) != call.Input {
			return nil
		}
	}
	return calls
}

// callNames lists the tools that were called, each once.
func callNames(calls []layers.ToolCall) string {
	var names []string
	for _, call := range calls {
		if !slices.Contains(names, call.Name) {
			names = append(names, call.Name)
		}
	}
	return strings.Join(names, ", ")
}

func newLine(b *strings.Builder) {
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
}

// names returns the names in a text and what they take in a roster.
func (s *shaper) names(text string) layers.Names {
	names := digest.NamesOf(text)
	for _, list := range [][]string{names.Paths, names.Identifiers} {
		for _, name := range list {
			names.Tokens += s.counter.Count(" " + name)
		}
	}
	return names
}

// saidBy is all that an assistant's turn says, for its names.
func saidBy(turn *layers.Turn) string {
	var b strings.Builder
	b.WriteString(turn.Text)
	for _, call := range turn.Calls {
		newLine(&b)
		b.WriteString(digest.Arguments(call.Input))
	}
	return b.String()
}

// result is the piece of a tool's output.
func (s *shaper) result(id string, result *layers.ToolResult, seq int64) layers.Piece {
	piece := layers.Piece{ID: id, Seq: seq, Result: &layers.CallResult{CallID: result.CallID, Failed: result.IsError}}
	heading := "### " + id + " tool " + oneLine(result.Tool)
	if result.IsError {
		heading += " failed"
	}
	head := s.fence.Heading(heading)
	brief := block(head, result.Compressed.Summary+s.fence.Clean(facts(s, result.Compressed)))
	line := s.line(head, result.Compressed.Summary)
	content, ok := s.read(result.Blob)
	if !ok {
		brief = block(s.fence.Heading(heading+" (blob_missing)"), result.Compressed.Summary)
		piece.Forms = s.forms(layers.Form{Detail: layers.FormBrief, Text: brief}, layers.Form{Detail: layers.FormLine, Text: line})
		return piece
	}
	content = s.fence.Clean(content)
	piece.Names = s.names(content)
	piece.Forms = s.forms(
		layers.Form{Detail: layers.FormFull, Text: block(head, s.cut(content, s.policy.ResultCap))},
		layers.Form{Detail: layers.FormExcerpt, Text: block(head, s.cut(content, s.policy.ExcerptCap))},
		layers.Form{Detail: layers.FormBrief, Text: brief},
		layers.Form{Detail: layers.FormLine, Text: line},
	)
	if s.policy.FreshCap > s.policy.ResultCap {
		if fresh := block(head, s.cut(content, s.policy.FreshCap)); len(fresh) > len(piece.Forms[0].Text) {
			piece.Fresh = s.forms(layers.Form{Detail: layers.FormFull, Text: fresh})
		}
	}
	return piece
}

// facts are the places a compressed result points at, within briefFacts tokens.
func facts(s *shaper, c layers.CompressedToolResult) string {
	var b strings.Builder
	list := func(name string, items []string) {
		if len(items) > 0 {
			b.WriteString("\n" + name + ": " + strings.Join(items, ", "))
		}
	}
	list("errors", c.ErrorPatterns)
	list("files", c.KeyFiles)
	list("at", c.Pointers)
	list("names", c.Entities)
	text := tokens.Prefix(s.counter, b.String(), briefFacts)
	if len(text) < b.Len() {
		if cut := strings.LastIndexAny(text, ",\n"); cut >= 0 {
			text = text[:cut]
		}
	}
	return strings.TrimRight(text, " ,")
}

// cut returns text within a cap of tokens.
func (s *shaper) cut(text string, most int) string {
	return excerpt.Cut(text, most, s.policy.CutNamesPercent, s.counter)
}

func (s *shaper) trim(text string, most int) string {
	text, _ = digest.Trim(text, most, s.counter)
	return text
}

// line is a piece in one line of at most lineTokens beside its heading.
func (s *shaper) line(head, text string) string {
	const look = 400 // bytes that can matter for so few tokens
	if len(text) > look {
		text = strings.ToValidUTF8(text[:look], "")
	}
	return head + ": " + strings.TrimRight(oneLine(tokens.Prefix(s.counter, oneLine(text), lineTokens)), " ") + "\n"
}

// block is a heading line and a text that ends in exactly one line feed more
// than it has.
func block(head, text string) string {
	if text == "" {
		return head + "\n"
	}
	if strings.HasSuffix(text, "\n") {
		return head + "\n" + text
	}
	return head + "\n" + text + "\n"
}

// forms counts the forms and leaves out those that are not shorter than the
// one before.
func (s *shaper) forms(forms ...layers.Form) []layers.Form {
	out := forms[:0]
	for _, form := range forms {
		form.Tokens = s.counter.Count(form.Text)
		if n := len(out); n > 0 && form.Tokens >= out[n-1].Tokens {
			continue
		}
		out = append(out, form)
	}
	return out
}
