package retrieval_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hexapla/retrieval"
)

// subject makes a subject of words.
func subject(id, thread, words string) retrieval.Subject {
	s := retrieval.Subject{ID: id, Thread: thread}
	for _, w := range strings.Fields(words) {
		s.Names = append(s.Names, retrieval.Name{Key: w, Show: w, Weight: 1, Label: true})
	}
	slices.SortFunc(s.Names, func(a, b retrieval.Name) int { return strings.Compare(a.Key, b.Key) })
	s.Names = slices.CompactFunc(s.Names, func(a, b retrieval.Name) bool { return a.Key == b.Key })
	return s
}

// shape tells clusters by the ids of their members, in order.
func shape(subjects []retrieval.Subject, clusters []retrieval.Cluster) string {
	var b strings.Builder
	for _, c := range clusters {
		var ids []string
		for _, m := range c.Members {
			ids = append(ids, subjects[m.Index].ID)
		}
		slices.Sort(ids)
		fmt.Fprintf(&b, "%s; ", strings.Join(ids, " "))
	}
	return b.String()
}

// TestH17_Group: subjects with rare names in common are one group, what is of
// nothing known is alone, and what follows in a thread is near but not for that
// alone together.
func TestH17_Group(t *testing.T) {
	t.Parallel()
	subjects := []retrieval.Subject{
		subject("a1", "", "lexer token scanner.go unicode the"),
		subject("b1", "", "retry backoff client.go timeout the"),
		subject("a2", "", "lexer scanner.go escape token the"),
		subject("b2", "", "backoff client.go jitter retry the"),
		subject("z", "", "licence the"),
		subject("a3", "", "lexer unicode escape the"),
	}
	clusters, err := retrieval.Group(t.Context(), subjects)
	if err != nil {
		t.Fatal(err)
	}
	if got := shape(subjects, clusters); got != "a1 a2 a3; b1 b2; z; " {
		t.Errorf("groups: %s", got)
	}
	if names := clusters[0].Names; !slices.Contains(names, "lexer") || slices.Contains(names, "the") && names[0] == "the" {
		t.Errorf("names: %v", names)
	}
	if m := clusters[0].Members; m[0].Score != 1 || m[len(m)-1].Score >= 1 {
		t.Errorf("members: %+v", m)
	}
	threads := []retrieval.Subject{subject("x", "s", "walrus"), subject("y", "s", "zeppelin")}
	if clusters, err = retrieval.Group(t.Context(), threads); err != nil || len(clusters) != 2 {
		t.Errorf("neighbours in a thread with nothing in common: %s, %v", shape(threads, clusters), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := retrieval.Group(ctx, subjects); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestH17_GroupLaws: each subject is in one group, groups come in their order,
// scores are in [0,1], and the same subjects give the same groups.
func TestH17_GroupLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		subjects := drawSubjects(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)), rapid.IntRange(0, 60).Draw(t, "n"))
		clusters, err := retrieval.Group(context.Background(), subjects)
		if err != nil {
			t.Fatal(err)
		}
		again, err := retrieval.Group(context.Background(), subjects)
		if err != nil || fmt.Sprint(again) != fmt.Sprint(clusters) {
			t.Fatalf("another result: %v", err)
		}
		seen := make([]bool, len(subjects))
		for i, c := range clusters {
			if i > 0 && len(c.Members) > len(clusters[i-1].Members) {
				t.Fatal("a larger group comes later")
			}
			for _, m := range c.Members {
				if seen[m.Index] || m.Score < 0 || m.Score > 1 {
					t.Fatalf("member %+v, seen %v", m, seen[m.Index])
				}
				seen[m.Index] = true
			}
		}
		if slices.Contains(seen, false) {
			t.Fatal("a subject is in no group")
		}
	})
}

func drawSubjects(r *rand.Rand, n int) []retrieval.Subject {
	var out []retrieval.Subject
	for i := range n {
		topic := r.IntN(n/5 + 1)
		var words []string
		for range 5 + r.IntN(60) {
			if r.IntN(3) == 0 {
				words = append(words, fmt.Sprintf("t%dw%d", topic, r.IntN(12)))
			} else {
				words = append(words, fmt.Sprintf("w%d", int(r.ExpFloat64()*400)))
			}
		}
		out = append(out, subject(fmt.Sprintf("c%d", i+1), fmt.Sprintf("s%d", i/20), strings.Join(words, " ")))
	}
	return out
}

func BenchmarkGroup2000(b *testing.B) {
	subjects := drawSubjects(rand.New(rand.NewPCG(7, 7)), retrieval.MaxSubjects)
	for b.Loop() {
		if _, err := retrieval.Group(b.Context(), subjects); err != nil {
			b.Fatal(err)
		}
	}
}
