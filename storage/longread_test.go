package storage_test

import (
	"bytes"
	"fmt"
	"testing"

	"hexapla/storage"
)

// TestS20_LongRead: a long read during writes does not make the file grow, since it
// holds no snapshot while its caller works; one that is held does.
func TestS20_LongRead(t *testing.T) {
	t.Parallel()
	const records = 2000
	grown := func(read func(s *storage.Store, during func())) int64 {
		s := openAt(t, t.TempDir())
		defer closeStore(t, s)
		for i := 0; i < records; i += 100 {
			var drafts []storage.Draft
			for j := range 100 {
				drafts = append(drafts, draft("k", fmt.Sprint(i+j), "body"))
			}
			write(t, s, drafts...)
		}
		content := bytes.Repeat([]byte("x"), 200<<10)
		put := func() {
			if err := s.PutTable("table", content); err != nil {
				t.Error(err)
			}
		}
		for range 5 {
			put()
		}
		before, err := s.Size()
		if err != nil {
			t.Fatal(err)
		}
		read(s, put)
		after, err := s.Size()
		if err != nil {
			t.Fatal(err)
		}
		return after - before
	}
	paged := grown(func(s *storage.Store, during func()) {
		n := 0
		err := s.Scan(t.Context(), 0, records, func(storage.Record, []byte) error {
			if n++; n%40 == 0 {
				during()
			}
			return nil
		})
		if err != nil || n != records {
			t.Errorf("%d records, %v", n, err)
		}
	})
	held := grown(func(s *storage.Store, during func()) {
		snapshot, err := s.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer snapshot.Release()
		for range records / 40 {
			during()
		}
	})
	if paged > 2<<20 || held < 4*max(paged, 1<<20) {
		t.Errorf("the file grew by %d bytes, and by %d under a snapshot that is held", paged, held)
	}
}
