package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"hexapla/layers/digest"
	"hexapla/session"
)

func clusters(t testing.TB, s *session.Session, req session.ClusterRequest) session.ClusterReply {
	t.Helper()
	reply, err := s.Clusters(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// TestH17_Clusters: conversations about the same are one cluster with a label of
// theirs and a kind; the same sequence gives the same bytes, also after a restart
// and after more was recorded.
func TestH17_Clusters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, done := open(t, dir)
	if r := clusters(t, s, session.ClusterRequest{}); len(r.Clusters) != 0 || r.Conversations != 0 {
		t.Errorf("of nothing: %+v", r)
	}
	bugs := []string{
		"Fix the crash of the lexer in scanner.go when an escape ends the file",
		"The lexer still fails on unicode escapes in scanner.go",
		"Why does scanLexeme panic in scanner.go?",
	}
	learning := []string{"How does the retry of client.go back off?", "Explain the backoff and jitter of the retry in client.go", "What does backoffFor in client.go return for the last retry?"}
	for i := range bugs {
		talk(t, s, bugs[i], "The lexer read past the end of the escape in scanner.go.")
		talk(t, s, learning[i], "The retry in client.go doubles its backoff each time.")
	}
	talk(t, s, "Thanks", "Welcome.")
	first := clusters(t, s, session.ClusterRequest{})
	if first.Total != 2 || first.Single != 1 || first.Conversations != 7 || first.Limited {
		t.Fatalf("%+v", first)
	}
	want := map[string]digest.Activity{"scanner.go": digest.ActivityBug, "client.go": digest.ActivityLearning}
	for _, c := range first.Clusters {
		var ids []string
		tokens := 0
		for _, m := range c.Members {
			ids = append(ids, m.Conversation)
			tokens += m.Tokens
		}
		slices.Sort(ids)
		name := "scanner.go"
		if ids[0] == "c2" {
			name = "client.go"
		}
		if fmt.Sprint(ids) != "[c1 c3 c5]" && fmt.Sprint(ids) != "[c2 c4 c6]" || c.Kind != want[name] || !slices.Contains(c.Names, name) || c.Label == "" || c.Tokens != tokens {
			t.Errorf("%v: %+v", ids, c)
		}
	}
	bytesOf := func(r session.ClusterReply) string {
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	talk(t, s, "Fix scanLexeme in scanner.go once more", "The lexer is mended.")
	now := clusters(t, s, session.ClusterRequest{})
	if len(now.Clusters[0].Members) != 4 {
		t.Errorf("one more: %+v", now.Clusters)
	}
	if again := clusters(t, s, session.ClusterRequest{AsOf: first.Sequence}); bytesOf(again) != bytesOf(first) {
		t.Errorf("as of before: %s, want %s", bytesOf(again), bytesOf(first))
	}
	if few := clusters(t, s, session.ClusterRequest{Limit: 1}); len(few.Clusters) != 1 || few.Total != now.Total {
		t.Errorf("one: %+v", few)
	}
	done()
	s, _ = open(t, dir)
	if again := clusters(t, s, session.ClusterRequest{}); bytesOf(again) != bytesOf(now) {
		t.Errorf("after a restart: %s, want %s", bytesOf(again), bytesOf(now))
	}
	var bad *session.InvalidError
	if _, err := s.Clusters(t.Context(), session.ClusterRequest{Limit: -1}); !errors.As(err, &bad) || bad.Path != "limit" {
		t.Errorf("limit: %v", err)
	}
	if _, err := s.Clusters(t.Context(), session.ClusterRequest{AsOf: 1 << 40}); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("a sequence that has not come: %v", err)
	}
}
