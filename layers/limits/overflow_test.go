package limits_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hexapla/internal/shareddata"
	"hexapla/internal/transcript"
	"hexapla/layers"
	"hexapla/layers/limits"
	"hexapla/layers/tokens"
	"hexapla/retrieval/nearness"
	"hexapla/retrieval/vectors"
)

func newBreaker(t testing.TB, config limits.Config) *limits.Breaker {
	t.Helper()
	model, err := vectors.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	registry := tokens.NewRegistry()
	return &limits.Breaker{Config: config, Counter: registry.Cached(registry.ForModel("")), Meaning: &nearness.Texts{Model: model}}
}

// chats are stretches of about so many tokens of recorded sessions.
func chats(t testing.TB, size, most int, c layers.Counter) (out [][]limits.Unit) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(shareddata.Dir(t), "claude-code", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded sessions: ", err)
	}
	for _, file := range files {
		in, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		_, messages, _, err := transcript.ReadAll(file, in)
		_ = in.Close()
		if errors.Is(err, transcript.ErrForeign) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var units []limits.Unit
		sum := 0
		for _, m := range messages {
			for _, u := range unitsOf(&m.Turn) {
				u.Tokens = c.Count(u.Text)
				if u.Tokens > size/4 || u.Tokens == 0 {
					continue // one that is a context of its own
				}
				units = append(units, u)
				sum += u.Tokens
			}
			if sum >= size {
				if out = append(out, units); len(out) == most {
					return out
				}
				units, sum = nil, 0
			}
		}
	}
	return out
}

func unitsOf(turn *layers.Turn) (units []limits.Unit) {
	if text := strings.TrimSpace(turn.Text); text != "" {
		u := limits.Unit{Kind: limits.KindMessage, Text: text + "\n"}
		if turn.Role == layers.RoleUser {
			u.Priority = limits.PriorityP1
		}
		units = append(units, u)
	}
	for _, call := range turn.Calls {
		units = append(units, limits.Unit{Kind: limits.KindOther, Text: call.Line(), Priority: 2})
	}
	for _, r := range turn.Results {
		kind, name := limits.KindLog, ""
		if r.Tool == "Read" {
			kind, name = limits.KindCode, "file.go"
		}
		units = append(units, limits.Unit{Kind: kind, Name: name, Text: r.Content, Priority: 3})
	}
	return units
}

func TestProbe(t *testing.T) {
	config := limits.Default()
	b := newBreaker(t, config)
	words := &nearness.Texts{}
	all := chats(t, 10_000, 40, b.Counter)
	t.Log(len(all))
	for _, tokens := range []int{3500, 4200, 5000, 6000, 8000} {
		worst, sum, worstw, sumw, failed, undone := 1.0, 0.0, 1.0, 0.0, 0, 0
		for _, units := range all {
			limit := limits.Limit{Tokens: tokens, Warning: tokens * 8 / 10}
			r := b.Break(units, "", limit, nil)
			var before, after []string
			for _, u := range units {
				before = append(before, u.Text)
			}
			for _, u := range r.Units {
				after = append(after, u.Text)
			}
			w := words.Near(before, [][]string{after})[0]
			worst, sum, worstw, sumw = min(worst, r.Coherence), sum+r.Coherence, min(worstw, w), sumw+w
			if !r.Success {
				failed++
			}
			for _, s := range r.Steps {
				if s.Undone {
					undone++
				}
			}
			if tokens == 5000 {
				t.Log(r.Before, r.After, r.P1, r.P1Met, r.Coherence, w, r.Steps)
			}
		}
		n := float64(len(all))
		t.Logf("%d: vectors worst %.3f mean %.3f; words worst %.3f mean %.3f; failed %d undone %d", tokens, worst, sum/n, worstw, sumw/n, failed, undone)
	}
}
