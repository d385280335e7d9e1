package storage_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hexapla/storage"
)

// TestAuditRetention is the law of the audit log's bounds: after each commit it
// holds the newest entries that are within all three, and at least the newest.
func TestAuditRetention(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		now := int64(1_700_000_000_000)
		opts := storage.Options{
			Dir: t.TempDir(), Now: func() int64 { return now }, Logf: t.Logf,
			AuditEntries: rapid.IntRange(1, 20).Draw(rt, "entries"), AuditBytes: rapid.Int64Range(1, 3000).Draw(rt, "bytes"),
			AuditAge:  time.Duration(rapid.IntRange(1, 50).Draw(rt, "age")) * time.Millisecond,
			AuditTime: func(body []byte) int64 { ms, _ := strconv.ParseInt(string(body[:13]), 10, 64); return ms },
		}
		open := func() *storage.Store {
			s, err := storage.Open(t.Context(), opts)
			if err != nil {
				rt.Fatal(err)
			}
			return s
		}
		s := open()
		defer func() { s.Close() }()
		type entry struct{ number, time, size int64 }
		var kept []entry
		last := int64(0)
		for range rapid.IntRange(1, 15).Draw(rt, "commits") {
			now += rapid.Int64Range(0, 20).Draw(rt, "step")
			for range rapid.IntRange(1, 4).Draw(rt, "packs") {
				last++
				body := append(strconv.AppendInt(nil, now, 10), make([]byte, rapid.IntRange(0, 500).Draw(rt, "size"))...)
				checksum := fmt.Sprintf("%064d", last)
				s.AppendAudit(checksum, body)
				kept = append(kept, entry{last, now, int64(1 + len(checksum) + len(body) + 4)})
			}
			write(t, s, draft("kind", "id", "body"))
			size := int64(0)
			for _, e := range kept {
				size += e.size
			}
			for len(kept) > 1 && (len(kept) > opts.AuditEntries || size > opts.AuditBytes || kept[0].time < now-opts.AuditAge.Milliseconds()) {
				size -= kept[0].size
				kept = kept[1:]
			}
			if rapid.IntRange(0, 4).Draw(rt, "reopen") == 0 {
				if err := s.Close(); err != nil {
					rt.Fatal(err)
				}
				s = open()
			}
			viewing(t, s, func(v storage.View) {
				var got []int64
				v.AuditRange(0, 0, func(n int64, _ []byte) bool { got = append(got, n); return true })
				if len(got) != len(kept) || got[0] != last || got[len(got)-1] != kept[0].number {
					rt.Fatalf("entries %v are left, want %d to %d", got, kept[0].number, last)
				}
				if oldest, _ := v.AuditOldest(); oldest != kept[0].number {
					rt.Fatalf("the oldest is %d, want %d", oldest, kept[0].number)
				}
				for n := int64(1); n <= last; n++ {
					if _, _, ok := v.AuditByChecksum(fmt.Sprintf("%064d", n)); ok != (n >= kept[0].number) {
						rt.Fatalf("entry %d by its checksum: %v", n, ok)
					}
				}
			})
		}
	})
}
