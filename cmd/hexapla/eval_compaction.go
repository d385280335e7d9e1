package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"hexapla/layers"
	"hexapla/layers/tokens"
	"hexapla/rpc/wire"
)

// compactionEval measures how much of what was needed after a boundary is in a
// pack that is built there.
type compactionEval struct {
	*replayer
	data    string
	budgets []int
	total   int // boundaries of the set
	results []boundaryResult
	left    int // boundaries that could not be measured
}

// boundaryResult is what came of one boundary.
type boundaryResult struct {
	boundary
	scores []budgetScore // by budget
}

// budgetScore is the shares of the identifiers that are there, 0 to 1.
type budgetScore struct {
	pack, tail float64
	used       int // tokens of the pack
}

// run measures boundaries, which are sorted by file. Those that cannot be
// measured are told and counted; an error is one of the server.
func (e *compactionEval) run(ctx context.Context, boundaries []boundary) error {
	for done := 0; done < len(boundaries); {
		n := 1
		for done+n < len(boundaries) && boundaries[done+n].file == boundaries[done].file {
			n++
		}
		if err := e.file(ctx, done, boundaries[done:done+n]); err != nil {
			return err
		}
		done += n
	}
	return nil
}

// leave tells why a boundary is not measured.
func (e *compactionEval) leave(b boundary, err error) {
	e.progress.clear()
	fmt.Fprintf(e.errs, "hexapla: %s: boundary at object %d left out: %v\n", b.file, b.object, err)
	e.left++
}

// file feeds one transcript and measures its boundaries on the way. done is how
// many of the set were looked at before.
func (e *compactionEval) file(ctx context.Context, done int, boundaries []boundary) error {
	name := filepath.Join(e.data, filepath.FromSlash(boundaries[0].file))
	e.position = fmt.Sprintf("boundary %d of %d, ", done+1, e.total)
	w, marks, err := e.readMarked(name)
	if err != nil {
		for _, b := range boundaries {
			e.leave(b, err)
		}
		return nil
	}
	if err := e.start(ctx); err != nil {
		return err
	}
	f, err := e.open(ctx, w)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fed := 0
	for i, b := range boundaries {
		e.position = fmt.Sprintf("boundary %d of %d, ", done+i+1, e.total)
		if err := b.locate(marks); err != nil {
			e.leave(b, err)
			continue
		}
		end := before(w.messages, b.line)
		if end == 0 {
			e.leave(b, fmt.Errorf("nothing was said before line %d", b.line))
			continue
		}
		for ; fed < end; fed++ {
			e.progress.show("%s%s: message %d of %d", e.position, filepath.Base(name), fed+1, end)
			if err := f.feed(ctx, w.messages[fed].Message); err != nil {
				return fmt.Errorf("%s:%d: %w", name, w.messages[fed].Line, err)
			}
		}
		result := boundaryResult{boundary: b}
		for _, budget := range e.budgets {
			score, err := e.score(ctx, f, w, b, end, budget)
			if err != nil {
				return fmt.Errorf("%s:%d: budget %d: %w", name, b.line, budget, err)
			}
			result.scores = append(result.scores, score)
		}
		e.results = append(e.results, result)
	}
	return nil
}

// readMarked reads a transcript and the boundaries in it.
func (e *compactionEval) readMarked(name string) (*work, []mark, error) {
	w, err := e.read(name)
	if err != nil {
		return nil, nil, err
	}
	f, err := openTranscript(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	marks, err := readMarks(f)
	return w, marks, err
}

// before returns how many messages were said before a line.
func before(messages []counted, line int) int {
	for i, m := range messages {
		if m.Line > line {
			return i
		}
	}
	return len(messages)
}

// score measures the pack at a boundary after end messages, and the tail of the
// same size.
func (e *compactionEval) score(ctx context.Context, f *feeder, w *work, b boundary, end, budget int) (budgetScore, error) {
	pack, err := f.build(ctx, wire.PackBuildParams{
		Budget: wire.Budget{Total: budget}, Model: w.session.Model, Layout: e.options.layout, Fill: true,
		Input: &wire.UserInput{Type: string(layers.InputUserQuery), Content: nextPrompt(w.messages[end:])},
	})
	if err != nil {
		return budgetScore{}, err
	}
	if pack.Tokens.Used > budget {
		return budgetScore{}, fmt.Errorf("the pack has %d tokens; this is a fault of the server", pack.Tokens.Used)
	}
	return budgetScore{
		pack: shareIn(pack.Text, b.gold), tail: shareIn(tail(w.counter, w.messages[:end], budget), b.gold),
		used: pack.Tokens.Used,
	}, nil
}

// nextPrompt returns what the user said before the agent went on, "continue"
// when nothing.
func nextPrompt(messages []counted) string {
	for _, m := range messages {
		if m.Role == layers.RoleAssistant {
			break
		}
		if m.Role == layers.RoleUser && m.Kind == layers.InputUserQuery && !m.Compaction {
			return m.Text
		}
	}
	return "continue"
}

// tail returns the newest part of the plain history that fits into a budget,
// the last message in it cut at its beginning. The client's own summaries are
// no part of it.
func tail(c layers.Counter, messages []counted, budget int) string {
	var newest []string
	for i := len(messages) - 1; i >= 0 && budget > 0; i-- {
		m := messages[i]
		if m.Compaction {
			continue
		}
		text := plainText(m.Message)
		if m.tokens > budget {
			text = tokens.Suffix(c, text, budget)
		}
		newest = append(newest, text)
		budget -= m.tokens
	}
	var b strings.Builder
	for i := len(newest) - 1; i >= 0; i-- {
		b.WriteString(newest[i])
	}
	return b.String()
}

// quoted is a text as it stands in JSON.
func quoted(text string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string can be encoded, and a Builder takes all
	return b.String()
}

// shareIn returns the share of the identifiers that occur verbatim in a text, or
// in that text as JSON: the gold was taken from JSON, so that "\tName" gave
// "tName".
func shareIn(text string, ids []string) float64 {
	found := 0
	asJSON := quoted(text)
	for _, id := range ids {
		if strings.Contains(text, id) || strings.Contains(asJSON, id) {
			found++
		}
	}
	return ratio(float64(found), float64(len(ids)))
}
