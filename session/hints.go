package session

import (
	"slices"
	"strings"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/layers/fence"
	"hexapla/layers/tokens"
	"hexapla/storage"
)

// leastHint is the fewest tokens that a hint can be of use in.
const leastHint = 16

// hintKey names a hint: it is a function of the workspace as of its output.
type hintKey struct {
	output, counter string
	most            int
	edited          int64 // sequence of the newest edit
}

// withHints puts a line behind each failure that was met before and resolved: it
// stands behind the last output of the same turn, so that a call and its results
// stay together.
func (p *packer) withHints(pieces []layers.Piece, outputs []output) ([]layers.Piece, error) {
	if p.ws.opts.Policy.HintCap < leastHint {
		return pieces, nil
	}
	var hints []layers.Piece // by sequence
	for i := range outputs {
		o := &outputs[i]
		form, err := p.hint(o)
		if err != nil {
			return nil, err
		}
		told := slices.ContainsFunc(hints, func(h layers.Piece) bool {
			_, before, _ := strings.Cut(h.Forms[0].Text, ", resolved in ")
			_, now, _ := strings.Cut(form.Text, ", resolved in ")
			return before == now
		})
		if form.Text != "" && !told {
			hints = append(hints, layers.Piece{ID: hintID(o.id), Seq: o.seq, Served: true, Forms: []layers.Form{form}})
		}
	}
	if len(hints) == 0 {
		return pieces, nil
	}
	out := make([]layers.Piece, 0, len(pieces)+len(hints))
	for i := range pieces {
		out = append(out, pieces[i])
		last := i+1 == len(pieces) || pieces[i+1].Seq != pieces[i].Seq
		for last && len(hints) > 0 && hints[0].Seq <= pieces[i].Seq {
			out = append(out, hints[0])
			hints = hints[1:]
		}
	}
	return out, nil
}

// hintID is the id of the line behind an output.
func hintID(output string) string { return "seen:" + output }

// hint is the line behind an output; it has no text if there is nothing to say.
func (p *packer) hint(o *output) (layers.Form, error) {
	if !o.tried || !o.attempt.Failed || o.attempt.Command() == "" || len(o.errors) == 0 {
		return layers.Form{}, nil
	}
	key := hintKey{o.id, p.counter.Name(), p.ws.opts.Policy.HintCap, p.edited}
	if form, ok := p.ws.hints.get(key); ok {
		return form, nil
	}
	v, err := p.at(o.seq - 1)
	if err != nil {
		return layers.Form{}, err
	}
	form, err := p.hintFor(v, o.id, o.errors)
	if err == nil {
		p.ws.hints.put(key, form)
	}
	return form, err
}

// hintFor looks error patterns up as of a view. The newest output before that
// shows one must be resolved: else the error is being worked on, or was told of
// there.
func (p *packer) hintFor(v storage.View, id string, patterns []string) (layers.Form, error) {
	for _, pattern := range patterns {
		if !digest.Telling(pattern) {
			continue
		}
		place, err := newestOutput(v, pattern)
		if err != nil {
			return layers.Form{}, err
		}
		if place == nil {
			continue
		}
		r, ok, err := p.ws.resolution(v, *place, true)
		if err != nil {
			return layers.Form{}, err
		}
		if ok && r.Command != "" && (len(r.Changes) > 0 || r.Finding != "") {
			return p.form(layers.FormLine, hintLine(p.ws.fence, id, r, p.ws.opts.Policy.HintCap, p.counter)), nil
		}
	}
	return layers.Form{}, nil
}

// newestOutput returns the newest output of which a view shows that it has an
// error pattern, nil if there is none among the newest mentions.
func newestOutput(v storage.View, pattern string) (place *Place, err error) {
	const look = 20
	n := 0
	failed := v.Mentions("error", pattern, false, func(_, _ string, seq int64) bool {
		n++
		place, err = outputAt(v, seq)
		return err == nil && place == nil && n < look
	})
	if err == nil {
		err = failed
	}
	return place, err
}

// hintLine says what resolved an error, in at most most tokens.
func hintLine(mark fence.Fence, id string, r Resolution, most int, counter layers.Counter) string {
	var b strings.Builder
	b.WriteString(mark.Heading("### "+id) + " seen in " + r.Failed.ID + ", resolved in " + r.Resolved.ID)
	if files := changedFiles(r.Changes, 3); len(files) > 0 {
		b.WriteString(" by a change of " + mark.Clean(strings.Join(files, ", ")))
	}
	b.WriteString(": `" + mark.Clean(strings.ReplaceAll(r.Command, "`", "'")) + "` passed")
	if r.Finding != "" {
		b.WriteString(". " + mark.Clean(r.Finding))
	}
	text := oneLine(b.String())
	if cut := tokens.Prefix(counter, text, most-3); len(cut) < len(text) {
		if at := strings.LastIndexByte(cut, ' '); at > len(cut)/2 {
			cut = cut[:at]
		}
		text = strings.TrimRight(cut, " ,.;:") + " …"
	}
	return text + "\n"
}

// changedFiles are the names of the files that were changed, the last ones
// first, each once.
func changedFiles(changes []Change, most int) []string {
	var files []string
	for i := len(changes) - 1; i >= 0 && len(files) < most; i-- {
		if name := tail(changes[i].File, 2); !slices.Contains(files, name) {
			files = append(files, name)
		}
	}
	return files
}

// pendingHint is the line behind a tool's output that is not recorded yet, if
// the conversation waits for one output only.
func (p *packer) pendingHint(conversation, id, content string) (layers.Form, error) {
	if p.ws.opts.Policy.HintCap < leastHint {
		return layers.Form{}, nil
	}
	n := p.view.ListLen(listOfTurns(conversation))
	body, _, ok, err := latest[turnRecord](p.view, kindTurn, turnID(conversation, n))
	if err != nil || !ok || len(body.Calls) != 1 {
		return layers.Form{}, err
	}
	call := body.Calls[0]
	result := layers.ToolResult{Tool: call.Name, Compressed: digest.ToolResult(digest.ToolOutput{
		Tool: call.Name, Input: call.Input, Output: content,
	}, p.ws.standard())}
	attempt, ok := digest.AttemptOf(call, &result)
	if !ok || !attempt.Failed || attempt.Command() == "" {
		return layers.Form{}, nil
	}
	return p.hintFor(p.view, id, result.Compressed.ErrorPatterns)
}
