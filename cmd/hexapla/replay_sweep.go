package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"hexapla/layers"
)

// sweepPoint is a setting that a sweep replays with.
type sweepPoint struct {
	name    string // what differs from the default; empty for the default itself
	budget  int
	changes map[string]int // members of the policy
}

// sweepPoints are the settings of a sweep: one number at a time around the
// default, those first on which cost and reach depend most.
func sweepPoints(budget int) []sweepPoint {
	points := []sweepPoint{{budget: budget}}
	for _, b := range []int{budget / 2, budget * 3 / 4, budget * 3 / 2, budget * 2} {
		points = append(points, sweepPoint{name: fmt.Sprintf("budget %d", b), budget: b})
	}
	for _, vary := range []struct {
		member string
		values []int
	}{
		{"lowWaterPercent", []int{20, 50, 70}},
		{"openingFoldPercent", []int{0, 100}},
		{"resultCap", []int{250, 1000, 2000}},
		{"freshCap", []int{1000, 4000}},
		{"namesPercent", []int{0, 25, 75}},
		{"cutNamesPercent", []int{0, 25, 75}},
		{"windowDeferrals", []int{0, 8}},
		{"openErrors", []int{0}},
	} {
		for _, value := range vary.values {
			points = append(points, sweepPoint{
				name: fmt.Sprintf("%s %d", vary.member, value), budget: budget, changes: map[string]int{vary.member: value},
			})
		}
	}
	return points
}

// policy returns the point's policy as JSON, on top of another.
func (s sweepPoint) policy(base string) (string, error) {
	members := map[string]any{}
	if base != "" {
		if err := json.Unmarshal([]byte(base), &members); err != nil {
			return "", fmt.Errorf("--policy: %w", err)
		}
	}
	for name, value := range s.changes {
		members[name] = value
	}
	data, err := json.Marshal(members)
	return string(data), err
}

// sweepResult is what came of one setting.
type sweepResult struct {
	point  sweepPoint
	totals totals
}

// runSweep replays all files once for each setting.
func runSweep(ctx context.Context, p program, r *replayer, files []string) error {
	points := sweepPoints(r.options.budget)
	var results []sweepResult
	for i, point := range points {
		policy, err := point.policy(r.options.policy)
		if err != nil {
			return usageError{err}
		}
		if _, err := layers.ParsePolicy([]byte(policy), layers.DefaultPolicy()); err != nil {
			return fmt.Errorf("sweep: %w", err)
		}
		one := *r
		one.options.budget, one.options.policy = point.budget, policy
		one.dir, one.server, one.seen = filepath.Join(r.dir, fmt.Sprint(i)), nil, map[string]int{}
		one.sweep = fmt.Sprintf("setting %d of %d, ", i+1, len(points))
		if i > 0 {
			one.errs = io.Discard // said at the first setting
		}
		total, err := one.all(ctx, files)
		if one.server != nil {
			err = errors.Join(err, one.server.stop(ctx))
		}
		if err != nil {
			return err
		}
		results = append(results, sweepResult{point, total})
	}
	if r.options.json {
		if err := writeSweepJSON(p.out, results); err != nil {
			return fmt.Errorf("sweep: %w", err)
		}
	} else {
		writeSweep(p.out, results)
	}
	if r.options.chart != "" {
		if err := os.WriteFile(r.options.chart, []byte(sweepChart(results)), 0o644); err != nil {
			return fmt.Errorf("sweep: %w", err)
		}
	}
	return nil
}

// all replays files and adds them up.
func (r *replayer) all(ctx context.Context, files []string) (totals, error) {
	var results []*fileResult
	for i, name := range files {
		r.position = fmt.Sprintf("%sfile %d of %d, ", r.sweep, i+1, len(files))
		work, err := r.read(name)
		if err != nil {
			r.progress.clear()
			fmt.Fprintf(r.errs, "hexapla: %v\n", err)
			continue
		}
		if err := r.start(ctx); err != nil {
			return totals{}, err
		}
		result, err := r.run(ctx, work)
		r.progress.clear()
		if err != nil {
			return totals{}, fmt.Errorf("sweep: %s: %w", name, explain(err))
		}
		results = append(results, result)
	}
	if len(results) == 0 {
		return totals{}, errors.New("sweep: no file could be replayed")
	}
	return sum(results), nil
}

func (s sweepResult) name() string {
	if s.point.name == "" {
		return "default"
	}
	return s.point.name
}

// shares returns what packs cost of the full history, without and with the
// system overhead.
func (s sweepResult) shares() (history, billed float64) {
	t := s.totals
	return ratio(t.history.pack.Equivalents(), t.history.full.Equivalents()), ratio(t.billed.pack.Equivalents(), t.billed.full.Equivalents())
}

func (h held) share() float64 { return ratio(float64(h.pack), float64(h.all)) }

func writeSweep(w io.Writer, results []sweepResult) {
	fmt.Fprint(w, "billed input of packs as a share of the full history with the provider's cache; what the\n"+
		"next tool call needed and the pack held\n\n")
	rows := [][]string{{"setting", "tokens a pack", "same", "history", "with overhead", "paths", "identifiers"}}
	for _, s := range results {
		history, billed := s.shares()
		t := s.totals
		rows = append(rows, []string{
			s.name(), thousands(t.pack / int64(max(len(t.calls), 1))), percent(t.cachedShare()), percent(history), percent(billed),
			percent(t.needs.paths.share()), percent(t.needs.identifiers.share()),
		})
	}
	writeAligned(w, rows)
	fmt.Fprintf(w, "\ndefault: budget %d, %s\n", results[0].point.budget, strings.Trim(defaultPolicy(), "{}"))
}

func defaultPolicy() string {
	data, err := json.Marshal(layers.DefaultPolicy())
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func writeSweepJSON(w io.Writer, results []sweepResult) error {
	type line struct {
		Setting string         `json:"setting"`
		Budget  int            `json:"budget"`
		Policy  map[string]int `json:"policy,omitempty"`
		jsonResult
	}
	enc := json.NewEncoder(w)
	for _, s := range results {
		if err := enc.Encode(line{s.name(), s.point.budget, s.point.changes, s.totals.json()}); err != nil {
			return err
		}
	}
	return nil
}
