package storage_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"hexapla/storage"
)

// killRounds is an environment variable: how many kills TestS1_Kill does, 30
// without it.
const killRounds = "STORAGE_KILL_ROUNDS"

// ledger is what the parent of killed writers knows.
type ledger struct {
	acked map[string][2]int64 // key → first and last sequence
	next  []int               // per writer: the first key that was not acknowledged
}

// TestS1_Kill kills a process that writes, again and again at random moments, and
// looks what is in the store: everything that was acknowledged, once, where the
// acknowledgement says, and nothing that is half there.
func TestS1_Kill(t *testing.T) {
	t.Parallel()
	rounds := 30
	if text := os.Getenv(killRounds); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	dir := t.TempDir()
	l := &ledger{acked: map[string][2]int64{}, next: make([]int, 4)}
	late := 0
	for round := range rounds {
		args := []string{dir, strconv.Itoa(len(l.next))}
		for _, next := range l.next {
			args = append(args, strconv.Itoa(next))
		}
		p := startChild(t, "writer", args...)
		p.expect(t, "open")
		killer := time.AfterFunc(time.Duration(random.IntN(25_000))*time.Microsecond, func() { _ = p.cmd.Process.Kill() })
		for p.out.Scan() {
			l.note(t, p.out.Text())
		}
		killer.Stop()
		if err := p.cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("round %d: the child ended by itself: %v", round, err)
		}
		s := openAt(t, dir)
		late += l.compare(t, s)
		closeStore(t, s)
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	s := openAt(t, dir)
	sound(t, s)
	t.Logf("%d kills, %d writes acknowledged, %d done and not acknowledged", rounds, len(l.acked), late)
}

// note takes an acknowledgement; one that the kill cut counts as not given.
func (l *ledger) note(t *testing.T, line string) {
	var w, i int
	var first, last int64
	if _, err := fmt.Sscanf(line, "ack w%d-%d %d %d", &w, &i, &first, &last); err != nil || i != l.next[w] {
		t.Fatalf("the child says %q, expected write %d: %v", line, l.next[w], err)
	}
	l.acked[fmt.Sprintf("w%d-%d", w, i)] = [2]int64{first, last}
	l.next[w] = i + 1
}

// compare looks at the store; the next process sends again what was not
// acknowledged. It returns how many writes had been done without that.
func (l *ledger) compare(t *testing.T, s *storage.Store) (late int) {
	t.Helper()
	viewing(t, s, func(v storage.View) {
		at := map[string]int64{}
		if err := v.Scan(0, v.Seq(), func(r storage.Record, _ []byte) error {
			if r.Damaged {
				t.Errorf("record %d is damaged", r.Seq)
			}
			if r.Kind != "turn" {
				return nil
			}
			if at[r.ID] != 0 {
				t.Errorf("%s is there twice, at %d and %d", r.ID, at[r.ID], r.Seq)
			}
			at[r.ID] = r.Seq
			data, _, err := s.ReadBlob(t.Context(), r.Parent, 0, -1)
			if err != nil || string(data) != string(r.Body) {
				t.Errorf("%s: blob: %v", r.ID, err)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for key, ack := range l.acked {
			if at[key] != ack[0] {
				t.Errorf("%s was acknowledged at %d and is at %d", key, ack[0], at[key])
			}
		}
		// Each writer has one under way, and one acknowledgement may be on its way out.
		late = len(at) - len(l.acked)
		if late < 0 || late > len(l.next)+1 {
			t.Errorf("%d writes for %d acknowledgements", len(at), len(l.acked))
		}
		if n := v.Counter("writes"); int(n) != len(at) || v.ListLen("all") != len(at) || v.Seq() != int64(2*len(at)) {
			t.Errorf("%d writes, but the counter is %d, the list %d, the sequence %d", len(at), n, v.ListLen("all"), v.Seq())
		}
	})
	return late
}
