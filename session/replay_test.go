package session_test

import (
	"fmt"
	"strings"
	"testing"

	"hexapla/layers"
	"hexapla/session"
)

// TestReplayUnderAnotherPolicy: a pack is built again with the policy that it
// was built with, whatever the policy is now.
func TestReplayUnderAnotherPolicy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, done := open(t, dir)
	for i := range 9 {
		talk(t, s, fmt.Sprintf("question %d", i), strings.Repeat(fmt.Sprintf("answer %d says that reader%d.go flushes. ", i, i), 80))
	}
	before := pack(t, s, 2500)
	done()
	policy := layers.DefaultPolicy()
	policy.LowWaterPercent, policy.NamesPercent = 80, 0
	service := newService(session.Options{DataDir: dir, Policy: policy})
	t.Cleanup(func() {
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := service.OpenSession(t.Context(), session.OpenRequest{URI: "file:///work", Session: "s"}); err != nil {
		t.Fatal(err)
	}
	s, err := service.Session("s")
	if err != nil {
		t.Fatal(err)
	}
	if now := pack(t, s, 2500); now.Pack.Text == before.Pack.Text {
		t.Fatal("the other policy gives the same pack; the test sees nothing")
	}
	if again, err := s.Replay(t.Context(), before.Checksum); err != nil || again.Checksum != before.Checksum {
		t.Errorf("another pack, %v", err)
	}
}
