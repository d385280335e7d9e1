package storage_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"hexapla/storage"
)

// TestL1_ClockJumps: a clock that jumps ahead for a moment takes nothing out of the
// audit log, one that stays there does; one that goes back changes no order.
func TestL1_ClockJumps(t *testing.T) {
	t.Parallel()
	const day = 24 * int64(time.Hour/time.Millisecond)
	start := int64(1_700_000_000_000)
	now := start
	s := openWith(t, storage.Options{
		Dir: t.TempDir(), Now: func() int64 { return now }, AuditAge: 30 * 24 * time.Hour,
		AuditTime: func(body []byte) int64 { ms, _ := strconv.ParseInt(string(body), 10, 64); return ms },
	})
	defer closeStore(t, s)
	entries := 0
	log := func(at int64) (left int) {
		t.Helper()
		now = at
		entries++
		s.AppendAudit(fmt.Sprintf("%064d", entries), strconv.AppendInt(nil, now, 10))
		write(t, s, draft("kind", "id", "body"))
		viewing(t, s, func(v storage.View) {
			v.AuditRange(0, 0, func(int64, []byte) bool { left++; return true })
		})
		return left
	}
	for i, row := range []struct {
		at   int64
		left int
		what string
	}{
		{start, 1, "the first"},
		{start + 3600_000, 2, "an hour later"},
		{start + 365*day, 3, "a year ahead"},
		{start + 2*3600_000, 4, "and back"},
		{start - day, 5, "a day back"},
		{start + 366*day, 6, "a year ahead again"},
		{start + 366*day + 1, 5, "and it stays there: what is older than thirty days goes, up to the first that is not"},
	} {
		if left := log(row.at); left != row.left {
			t.Errorf("%s: %d entries are left, want %d", row.what, left, row.left)
		}
		viewing(t, s, func(v storage.View) {
			if seq := v.Seq(); seq != int64(i+1) {
				t.Errorf("%s: sequence %d, want %d", row.what, seq, i+1)
			}
		})
	}
}
