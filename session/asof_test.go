package session_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"hexapla/layers"
	"hexapla/session"
)

// TestAsOfTime: as of a time, a pack, its explanation and its prediction are
// those of the sequence that was the newest then, also after a restart; and the
// pack can be built again by its checksum.
func TestAsOfTime(t *testing.T) {
	t.Parallel()
	const start, hour = 1_700_000_000_000, 3_600_000
	var now atomic.Int64
	now.Store(start)
	dir := t.TempDir()
	open := func() (*session.Session, *session.Service) {
		t.Helper()
		service := newService(session.Options{DataDir: dir, Now: now.Load})
		if _, err := service.OpenSession(t.Context(), session.OpenRequest{URI: "file:///work", Session: "s"}); err != nil {
			t.Fatal(err)
		}
		s, err := service.Session("s")
		if err != nil {
			t.Fatal(err)
		}
		return s, service
	}
	s, service := open()
	var then []session.PackReply // of each hour
	for i := range 8 {
		talk(t, s, fmt.Sprintf("question %d about the cache", i), fmt.Sprintf("answer %d", i))
		then = append(then, pack(t, s, 3000))
		now.Add(hour)
	}
	check := func() {
		t.Helper()
		for i, want := range then {
			for _, at := range []int64{start + int64(i)*hour, start + int64(i)*hour + hour - 1} {
				req := session.PackRequest{Budget: layers.Budget{Total: 3000}, AsOfTime: &at}
				got, err := s.BuildPack(t.Context(), req)
				if err != nil || got.Checksum != want.Checksum || got.Pack.Sequence != want.Pack.Sequence {
					t.Fatalf("hour %d: sequence %d, %v; want %d", i, got.Pack.Sequence, err, want.Pack.Sequence)
				}
				if again, err := s.Replay(t.Context(), got.Checksum); err != nil || again.Checksum != got.Checksum {
					t.Errorf("hour %d: replay: %v", i, err)
				}
				explained, err := s.ExplainPack(t.Context(), req, false)
				if err != nil || explained.Checksum != want.Checksum {
					t.Errorf("hour %d: explained otherwise, %v", i, err)
				}
				predicted, err := s.WhatIf(t.Context(), session.WhatIfRequest{PackRequest: req, Totals: []int{3000}, Models: []string{"", "gpt-4"}})
				if err != nil || predicted[0].Checksum != want.Checksum {
					t.Errorf("hour %d: predicted otherwise, %v", i, err)
				}
			}
		}
	}
	check()
	if err := service.Close(); err != nil {
		t.Fatal(err)
	}
	s, service = open()
	defer service.Close()
	check()

	newest := pack(t, s, 3000)
	for _, at := range []int64{now.Load(), now.Load() + hour, 1 << 62} {
		got, err := s.BuildPack(t.Context(), session.PackRequest{Budget: layers.Budget{Total: 3000}, AsOfTime: &at})
		if err != nil || got.Checksum != newest.Checksum {
			t.Errorf("at %d, which has not come: sequence %d, %v", at, got.Pack.Sequence, err)
		}
	}
	for _, at := range []int64{start - 1, 0, -1} {
		_, err := s.BuildPack(t.Context(), session.PackRequest{Budget: layers.Budget{Total: 3000}, AsOfTime: &at})
		var missing *session.NotFoundError
		if !errors.Is(err, session.ErrNotFound) || !errors.As(err, &missing) || missing.Path != "asOf" {
			t.Errorf("at %d, before the first record: %v", at, err)
		}
	}
}
