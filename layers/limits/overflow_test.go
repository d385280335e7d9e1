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
	registry := tokens.NewRegistry()
	return &limits.Breaker{Config: config, Counter: registry.Cached(registry.ForModel("")), Meaning: newMeaning(t)}
}

func newMeaning(t testing.TB) limits.Meaning {
	t.Helper()
	model, err := vectors.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	return &nearness.Texts{Model: model}
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

// TestB14_Overflow: stretches of recorded sessions of more than 10,000 tokens are
// brought within every limit, with all of the user's words, at a coherence above
// 0.85.
func TestB14_Overflow(t *testing.T) {
	t.Parallel()
	const size, most = 10_000, 20
	config := limits.Default()
	b := newBreaker(t, config)
	all := chats(t, size, most, b.Counter)
	if len(all) < 15 {
		t.Fatalf("only %d chats", len(all))
	}
	for _, limit := range []limits.Limit{
		config.Limit("", "", false), config.Limit("", "", true), config.Limit("", "cloud_grok", false), config.Limit("", "gpt4", false),
		{Tokens: config.MinLimit, Warning: config.MinLimit * 8 / 10}, {Tokens: 4000, Warning: 3200}, {Tokens: 9000, Warning: 7200},
	} {
		worst, sum, words, kept := 1.0, 0.0, 0.0, 0
		for i, units := range all {
			b.Meaning = newMeaning(t)
			r := b.Break(units, "", limit, nil)
			if !r.Success || r.After > limit.Tokens || r.Before < size {
				t.Errorf("chat %d: %d tokens of %d, limit %d", i, r.After, r.Before, limit.Tokens)
			}
			if r.P1Met != r.P1 {
				t.Errorf("chat %d: %d of %d units of priority 1 are there", i, r.P1Met, r.P1)
			}
			if r.Coherence <= 0.85 {
				t.Errorf("chat %d, limit %d: coherence %.3f", i, limit.Tokens, r.Coherence)
			}
			worst, sum = min(worst, r.Coherence), sum+r.Coherence
			words += (&nearness.Texts{}).Near(textsOf(units), [][]string{textsOf(r.Units)})[0]
			kept += r.After
		}
		n := float64(len(all))
		t.Logf("limit %d: coherence %.3f (worst %.3f), by words alone %.3f, %d tokens left", limit.Tokens, sum/n, worst, words/n, kept/len(all))
	}
}

func textsOf(units []limits.Unit) (texts []string) {
	for i := range units {
		texts = append(texts, units[i].Text)
	}
	return texts
}
