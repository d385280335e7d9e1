package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"

	"hexapla/layers"
	"hexapla/layers/tokens"
)

// countingError is how far off the predicted sizes of prompts are, relative to
// what the provider says.
type countingError struct {
	Mean float64 `json:"mean"`
	P95  float64 `json:"p95"`
}

func errorOf(errs []float64) countingError {
	if len(errs) == 0 {
		return countingError{}
	}
	sum := 0.0
	for _, e := range errs {
		sum += e
	}
	errs = slices.Sorted(slices.Values(errs))
	return countingError{places(sum / float64(len(errs))), places(errs[(len(errs)*95+99)/100-1])}
}

// countingResult is the errors over the prompts of a session or of all.
type countingResult struct {
	Set      string        `json:"set"`
	File     string        `json:"file,omitempty"`
	Sessions int           `json:"sessions,omitempty"`
	Prompts  int           `json:"prompts"`
	Before   countingError `json:"before"` // by the default factor and the overhead of the first call
	After    countingError `json:"after"`  // by what the usage of the calls before taught
	Factor   float64       `json:"factor,omitempty"`
	Band     float64       `json:"band,omitempty"`

	before, after []float64
}

// runCounting measures how well the provider's count of a prompt is predicted
// from our own, before and after learning from the usage of earlier calls. No
// prompt is predicted from itself or a later one.
func runCounting(p program, r *replayer, o evalOptions) error {
	files, err := filepath.Glob(filepath.Join(o.data, "claude-code", "*.jsonl"))
	if err != nil {
		return fmt.Errorf("eval: %w", err)
	}
	total := countingResult{Set: setCounting}
	var results []countingResult
	for i, name := range files {
		r.position = fmt.Sprintf("file %d of %d, ", i+1, len(files))
		work, err := r.read(name)
		if err != nil {
			r.progress.clear()
			fmt.Fprintf(p.errs, "hexapla: %v\n", err)
			continue
		}
		one := countPrompts(work, r.registry.ForModel(work.session.Model))
		if one.Prompts == 0 {
			continue
		}
		results = append(results, one)
		total.before, total.after = append(total.before, one.before...), append(total.after, one.after...)
		total.Sessions++
		total.Prompts += one.Prompts
	}
	r.progress.clear()
	if total.Prompts == 0 {
		return fmt.Errorf("eval: no usage of a provider in %s", filepath.Join(o.data, "claude-code"))
	}
	total.Before, total.After = errorOf(total.before), errorOf(total.after)
	if o.json {
		return json.NewEncoder(p.out).Encode(total)
	}
	writeCounting(p.out, results, total)
	return nil
}

// countPrompts predicts the prompts of one session, from the second on.
func countPrompts(w *work, c layers.Counter) countingResult {
	out := countingResult{Set: setCounting, File: filepath.Base(w.name)}
	start := factorOf(c)
	var samples []tokens.Sample
	history := 0
	for _, m := range w.messages {
		if m.Compaction {
			history = 0
		}
		if m.Role == layers.RoleAssistant && m.Usage != nil && m.Usage.Prompt() > 0 {
			s := tokens.Sample{Counted: history, Prompt: m.Usage.Prompt()}
			if len(samples) > 0 {
				off := func(f tokens.Fit) float64 {
					return math.Abs(float64(f.Predict(s.Counted)-s.Prompt)) / float64(s.Prompt)
				}
				out.before = append(out.before, off(tokens.Calibrate(samples[:1], start)))
				out.after = append(out.after, off(tokens.Calibrate(samples, start)))
			}
			samples = append(samples, s)
		}
		history += m.tokens
	}
	fit := tokens.Calibrate(samples, start)
	out.Prompts, out.Factor, out.Band = len(out.after), fit.Factor, fit.Band
	out.Before, out.After = errorOf(out.before), errorOf(out.after)
	return out
}

func writeCounting(w io.Writer, results []countingResult, total countingResult) {
	fmt.Fprintf(w, "how far the predicted size of a prompt is from the provider's count, over %s of %s:\n"+
		"before by the default factor and the first call's overhead, after by what earlier calls taught\n\n",
		plural(total.Prompts, "prompt"), plural(total.Sessions, "session"))
	rows := [][]string{{"session", "prompts", "before: mean", "p95", "after: mean", "p95", "factor", "band"}}
	add := func(name string, r countingResult, factor, band string) {
		rows = append(rows, []string{
			name, fmt.Sprint(r.Prompts), percent(r.Before.Mean), percent(r.Before.P95), percent(r.After.Mean), percent(r.After.P95), factor, band,
		})
	}
	for _, r := range results {
		band := "unknown"
		if r.Prompts >= 12 { // of fewer the band is a guess
			band = percent(r.Band)
		}
		add(r.File, r, fmt.Sprintf("%.2f", r.Factor), band)
	}
	add("all", total, "", "")
	writeAligned(w, rows)
}
