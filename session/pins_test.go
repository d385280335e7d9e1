package session_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"hexapla/layers"
	"hexapla/session"
)

// TestPins: a pin is in every pack of the workspace at any budget that works,
// byte for byte; where it does not fit, the error names the smallest budget;
// after it was taken away, packs of the past keep it.
func TestPins(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	for i := range 8 {
		talk(t, s, fmt.Sprintf("question %d", i), strings.Repeat(fmt.Sprintf("answer %d. ", i), 200))
	}
	const text = "Never touch the folder vendor/.\nTests run with `make check`."
	added, err := s.AddPin(t.Context(), text, "k")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.AddPin(t.Context(), text, ""); err != nil || again.Pin.ID != added.Pin.ID {
		t.Errorf("the same text: %+v, %v", again, err)
	}
	build := func(total int) (session.PackReply, error) {
		return s.BuildPack(t.Context(), session.PackRequest{Budget: layers.Budget{Total: total}})
	}
	_, err = build(1)
	var small *layers.BudgetError
	if !errors.As(err, &small) {
		t.Fatal(err)
	}
	for _, total := range []int{small.Smallest, small.Smallest + 1, 200, 1000, 8000, 50_000} {
		p, err := build(total)
		if err != nil || !strings.Contains(p.Pack.Text, text) || p.Pack.Used() > total {
			t.Errorf("budget %d: %v", total, err)
		}
	}
	before, err := build(4000)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.RemovePin(t.Context(), added.Pin.ID, ""); err != nil {
		t.Fatal(err)
	}
	if p, err := build(4000); err != nil || strings.Contains(p.Pack.Text, text) {
		t.Errorf("a pin that was taken away is in the pack: %v", err)
	}
	if p, err := s.Replay(t.Context(), before.Checksum); err != nil || p.Checksum != before.Checksum {
		t.Errorf("replay: %v", err)
	}
	if _, err := s.RemovePin(t.Context(), "p99", ""); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("an unknown pin: %v", err)
	}
	var invalid *session.InvalidError
	for _, text := range []string{"", strings.Repeat("x", 8<<10+1)} {
		if _, err := s.AddPin(t.Context(), text, ""); !errors.As(err, &invalid) || invalid.Path != "text" {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
	for i := range 50 {
		if _, err := s.AddPin(t.Context(), fmt.Sprint("pin ", i), ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.AddPin(t.Context(), "one more", ""); !errors.As(err, &invalid) || invalid.Limit != 50 {
		t.Errorf("the 51st pin: %v", err)
	}
	if pins, _, err := s.Pins(); err != nil || len(pins) != 50 || pins[0].Text != "pin 0" {
		t.Errorf("%d pins, %v", len(pins), err)
	}
}
