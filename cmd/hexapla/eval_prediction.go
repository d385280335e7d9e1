package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"hexapla/internal/needs"
	"hexapla/rpc/wire"
)

// predictedFiles is how many files a prediction may name.
const predictedFiles = 10

// predictionResult is how often the files of the next tool calls were predicted.
type predictionResult struct {
	Set       string  `json:"set"`
	File      string  `json:"file,omitempty"`
	Sessions  int     `json:"sessions,omitempty"`
	Needed    int     `json:"needed"` // files that calls named
	Known     int     `json:"known"`  // of these, those that occurred before
	Predicted int     `json:"predicted"`
	Recent    int     `json:"recent"` // among the files that calls named last, as many
	Share     float64 `json:"share"`
	Baseline  float64 `json:"baseline"`
}

func (r *predictionResult) add(o predictionResult) {
	r.Needed, r.Known = r.Needed+o.Needed, r.Known+o.Known
	r.Predicted, r.Recent = r.Predicted+o.Predicted, r.Recent+o.Recent
}

func (r *predictionResult) shares() {
	if r.Needed > 0 {
		r.Share = places(float64(r.Predicted) / float64(r.Needed))
		r.Baseline = places(float64(r.Recent) / float64(r.Needed))
	}
}

// runPrediction measures how often the files that the next tool calls name are
// among those that context/predict names first, beside those that were used last.
func runPrediction(ctx context.Context, p program, r *replayer, o evalOptions) error {
	files, err := filepath.Glob(filepath.Join(o.data, "claude-code", "*.jsonl"))
	if err != nil {
		return fmt.Errorf("eval: %w", err)
	}
	total := predictionResult{Set: setPrediction}
	var results []predictionResult
	for i, name := range files {
		r.position = fmt.Sprintf("file %d of %d, ", i+1, len(files))
		work, err := r.read(name)
		if err != nil {
			r.progress.clear()
			fmt.Fprintf(p.errs, "hexapla: %v\n", err)
			continue
		}
		if err := r.start(ctx); err != nil {
			return fmt.Errorf("eval: %w", err)
		}
		one, err := r.predict(ctx, work)
		if err != nil {
			return fmt.Errorf("eval: %w", explain(err))
		}
		if one.Needed == 0 {
			continue
		}
		one.shares()
		results = append(results, one)
		total.add(one)
		total.Sessions++
	}
	r.progress.clear()
	if total.Needed == 0 {
		return fmt.Errorf("eval: no tool call names a file in %s", filepath.Join(o.data, "claude-code"))
	}
	total.shares()
	if o.json {
		return json.NewEncoder(p.out).Encode(total)
	}
	writePrediction(p.out, results, total)
	return nil
}

// predict asks for a prediction before each model call of a session that calls
// tools with files.
func (r *replayer) predict(ctx context.Context, w *work) (predictionResult, error) {
	out := predictionResult{Set: setPrediction, File: filepath.Base(w.name)}
	feeder, err := r.open(ctx, w)
	if err != nil {
		return out, err
	}
	var recent []string // newest first
	known := map[string]bool{}
	for _, m := range w.messages {
		var files []string
		for _, call := range m.Calls {
			for _, file := range needs.Files(call) {
				if !slices.Contains(files, file) {
					files = append(files, file)
				}
			}
		}
		if len(files) > 0 && feeder.conversations > 0 {
			var result wire.ContextPredictResult
			if err := r.server.Call(ctx, wire.MethodContextPredict, wire.ContextPredictParams{Session: feeder.id, Limit: predictedFiles}, &result); err != nil {
				return out, fmt.Errorf("predict: %w", err)
			}
			var predicted []string
			for _, one := range result.Predictions {
				if one.Kind == "file" {
					predicted = append(predicted, one.Name)
				}
			}
			for _, file := range files {
				out.Needed++
				if known[file] {
					out.Known++
				}
				if needs.HasFile(predicted, file) {
					out.Predicted++
				}
				if needs.HasFile(recent[:min(len(recent), predictedFiles)], file) {
					out.Recent++
				}
			}
		}
		for _, file := range files {
			known[file] = true
			recent = slices.DeleteFunc(recent, func(f string) bool { return f == file })
			recent = append([]string{file}, recent...)
		}
		if err := feeder.feed(ctx, m.Message); err != nil {
			return out, err
		}
	}
	return out, nil
}

func writePrediction(w io.Writer, results []predictionResult, total predictionResult) {
	fmt.Fprintf(w, "share of the files that the next tool calls name, over %s:\n"+
		"predicted among the %d first of context/predict, recent among the %d files that calls named last\n\n",
		plural(total.Sessions, "session"), predictedFiles, predictedFiles)
	rows := [][]string{{"session", "files", "named before", "predicted", "recent"}}
	for _, r := range append(results, total) {
		name := r.File
		if name == "" {
			name = "all"
		}
		rows = append(rows, []string{name, fmt.Sprint(r.Needed), percent(float64(r.Known) / float64(r.Needed)), percent(r.Share), percent(r.Baseline)})
	}
	writeAligned(w, rows)
}
