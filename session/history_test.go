package session_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"hexapla/layers/scrub"
	"hexapla/session"
)

// TestPrune6_Rescrubbed: a secret that was archived before it was known as one is
// found by a scan and taken out by rescrub; the message keeps its name.
func TestPrune6_Rescrubbed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := fake()
	service := scrubbing(t, dir, 1, scrub.Settings{})
	s := opens(t, service, "file:///work", "s")
	req := session.HistoryRequest{Keep: 1}
	for i := range 12 {
		req.Messages = append(req.Messages, json.RawMessage(fmt.Sprintf(`{"role":"user","content":"Part %d: use %s please, and tell me what comes of it\n"}`, i, secret)))
	}
	reply, err := s.SummarizeHistory(t.Context(), req)
	if err != nil || len(reply.Removed) != 11 {
		t.Fatalf("%+v, %v", reply, err)
	}
	if err := service.Close(); err != nil {
		t.Fatal(err)
	}
	service = scrubbing(t, dir, 1, scrub.DefaultSettings())
	s = opens(t, service, "file:///work", "s")
	found, err := s.ScanSecrets(t.Context(), session.ScanRequest{})
	if err != nil || len(found.Findings) != 11 || found.Findings[0].Kind != "message" {
		t.Fatalf("%+v, %v", found, err)
	}
	if _, err := service.Rescrub(t.Context(), "s", false); err != nil {
		t.Fatal(err)
	}
	s, err = service.Session("s")
	if err != nil {
		t.Fatal(err)
	}
	messages, _, err := s.ArchivedMessages([]string{reply.Removed[3].ID})
	if err != nil {
		t.Fatal(err)
	}
	var m struct{ Role, Content string }
	if err := json.Unmarshal(messages[0].Message, &m); err != nil || strings.Contains(m.Content, secret) || !strings.HasPrefix(m.Content, "Part 3: use ") {
		t.Errorf("%s: %v", messages[0].Message, err)
	}
}

// BenchmarkHistory prunes 100 messages of about 1 KB through a session: all of it
// but the connection, with counts cached; without a removal nothing is written
// (requirement P9).
func BenchmarkHistory(b *testing.B) {
	service := session.New(session.Options{DataDir: b.TempDir()})
	defer service.Close()
	if _, err := service.OpenSession(b.Context(), session.OpenRequest{URI: "file:///work", Session: "s"}); err != nil {
		b.Fatal(err)
	}
	s, err := service.Session("s")
	if err != nil {
		b.Fatal(err)
	}
	req := session.HistoryRequest{Model: "gpt-4o"}
	for i := range 100 {
		req.Messages = append(req.Messages, json.RawMessage(fmt.Sprintf(`{"role":"user","content":"Part %d: %s"}`, i, strings.Repeat("it matters a lot. ", 55))))
	}
	for _, what := range []struct {
		name   string
		budget int
	}{{"unchanged", 1 << 20}, {"halved", 12_000}} {
		b.Run(what.name, func(b *testing.B) {
			req.Budget = what.budget
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.PruneHistory(b.Context(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
