package session

import (
	"fmt"
	"strings"
	"testing"

	"hexapla/layers"
	"hexapla/retrieval"
)

// TestPackWithoutIndex: what a pack says of related conversations does not
// depend on how far the index is, however many records that are.
func TestPackWithoutIndex(t *testing.T) {
	t.Parallel()
	service := New(Options{DataDir: t.TempDir(), Logf: t.Logf})
	t.Cleanup(func() {
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := service.OpenSession(t.Context(), OpenRequest{URI: "file:///work", Session: "s"}); err != nil {
		t.Fatal(err)
	}
	s, err := service.Session("s")
	if err != nil {
		t.Fatal(err)
	}
	talk := func(query, answer string) {
		t.Helper()
		if _, err := s.Record(t.Context(), RecordRequest{Done: true, Turns: []layers.Turn{
			{Role: layers.RoleUser, Text: query}, {Role: layers.RoleAssistant, Text: answer},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	talk("Why does the quokka refuse the zeppelin?", "The quokka refuses the zeppelin because of its valve.")
	for i := range 26 {
		talk(fmt.Sprintf("Please rename part %d.", i), "Renamed.")
	}
	talk("Does the quokka still refuse the zeppelin?", "I'll look.")
	build := func() PackReply {
		t.Helper()
		reply, err := s.BuildPack(t.Context(), PackRequest{Budget: layers.Budget{Total: 8000}})
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	want := build()
	if !strings.Contains(want.Pack.Text, "### related to c28 ") || !strings.Contains(want.Pack.Text, "because of its valve") {
		t.Fatalf("nothing is related: %s", want.Pack.Text)
	}
	// The process starts anew, the index is gone, and there are more records
	// than a search reads.
	ws := s.Workspace
	ws.engine = retrieval.New(retrieval.Options{Store: ws.store, Logf: t.Logf, ScanLimit: 2})
	ws.related = bounded[relatedKey, relatedPieces]{}
	ws.threads = threadCache{}
	for range 2 {
		if got := build(); got.Checksum != want.Checksum {
			t.Errorf("another pack without an index: %s", got.Pack.Text)
		}
	}
}
