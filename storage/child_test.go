package storage_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"hexapla/storage"
)

// writerChild opens the store in args[0] and writes for ever, with args[1]
// goroutines, saying "ack <key> <first seq> <last seq>" after each write. The
// keys that it is to begin with come after that.
func writerChild(args []string) error {
	ctx := context.Background()
	s, err := storage.Open(ctx, storage.Options{Dir: args[0]})
	if err != nil {
		return err
	}
	writers, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	say := make(chan string)
	failed := make(chan error)
	for w := range writers {
		start, err := strconv.Atoi(args[2+w])
		if err != nil {
			return err
		}
		go func() {
			for i := start; ; i++ {
				line, err := killedWrite(ctx, s, w, i)
				if err != nil {
					failed <- err
					return
				}
				say <- line
			}
		}()
	}
	fmt.Println("open")
	for {
		select {
		case line := <-say:
			if _, err := fmt.Println(line); err != nil {
				return err
			}
		case err := <-failed:
			return err
		}
	}
}

// killedWrite is what the writers of the kill test write: a blob now and then,
// two records, and what hangs on them.
func killedWrite(ctx context.Context, s *storage.Store, w, i int) (string, error) {
	key := fmt.Sprintf("w%d-%d", w, i)
	content := []byte(strings.Repeat(key+" ", 10+(i%7)*500))
	staged, err := s.StageBlob(ctx, content, "text/plain")
	if err != nil {
		return "", err
	}
	s.AppendAudit(key, content[:10])
	op := storage.Op{Key: key, Digest: [32]byte{byte(i)}}
	receipt, err := s.Write(ctx, op, func(tx *storage.Tx) ([]byte, error) {
		tx.AddBlob(staged)
		first := tx.Put(storage.Draft{
			Kind: "turn", ID: key, Parent: staged.Ref.SHA256, Body: content, Terms: content[:20],
			Lists: []string{"all", fmt.Sprint("of/", w)}, Mentions: []storage.Mention{{Kind: "key", Name: key}},
		})
		tx.Put(storage.Draft{Kind: "last", ID: fmt.Sprint("w", w), Body: []byte(key)})
		tx.Add("writes", 1)
		return []byte(fmt.Sprint(first)), nil
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("ack %s %s %d", key, receipt.Reply, receipt.Seq), nil
}

// holderChild holds the store in args[0] until its input ends.
func holderChild(args []string) error {
	s, err := storage.Open(context.Background(), storage.Options{Dir: args[0]})
	if err != nil {
		return err
	}
	fmt.Println("open")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return s.Close()
}

// readerChild opens each store that it is told on its input and reads all of it,
// in every way, and writes something. It says "refused", "damaged" or "sound",
// with the error, and must never die.
func readerChild([]string) error {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		verdict, err := readAll(lines.Text())
		fmt.Println(verdict, strings.ReplaceAll(fmt.Sprint(err), "\n", " "))
	}
	return lines.Err()
}

func readAll(dir string) (string, error) {
	ctx := context.Background()
	s, err := storage.Open(ctx, storage.Options{Dir: dir})
	if err != nil {
		return "refused", err
	}
	defer s.Close()
	var found []error
	note := func(err error) {
		if err != nil {
			found = append(found, err)
		}
	}
	snapshot, err := s.Snapshot()
	if err != nil {
		return "damaged", err
	}
	v := snapshot.View()
	note(v.Scan(0, v.Seq(), func(r storage.Record, terms []byte) error {
		if r.Damaged {
			note(storage.ErrDamaged)
			return nil
		}
		_, err := v.Get(r.Seq)
		note(err)
		if r.Kind == "turn" && !strings.HasPrefix(string(r.Body), r.ID+" ") {
			fmt.Println("WRONG BYTES")
		}
		latest, ok, err := v.Latest(r.Kind, r.ID)
		note(err)
		if err == nil && (!ok || latest.Kind != r.Kind || latest.ID != r.ID) {
			note(errors.New("record has no latest version"))
		}
		if _, ok, err := v.Terms(r.Seq); err != nil || ok != (terms != nil) {
			note(fmt.Errorf("terms: %v", err))
		}
		return nil
	}))
	entries, err := v.List("all", 0, v.ListLen("all"))
	note(err)
	for _, entry := range entries {
		_, err := v.Get(entry.Seq)
		note(err)
	}
	note(v.Mentions("key", "", true, func(_, _ string, seq int64) bool { return true }))
	v.AuditRange(0, 0, func(int64, []byte) bool { return true })
	v.Table("table")
	v.Counter("writes")
	note(v.Err())
	snapshot.Release()
	_, err = s.Write(ctx, storage.Op{Key: "new"}, func(tx *storage.Tx) ([]byte, error) {
		tx.Put(storage.Draft{Kind: "turn", ID: tx.NextID("new"), Lists: []string{"all"}})
		return nil, nil
	})
	note(err)
	if len(found) > 0 {
		return "damaged", errors.Join(found[:min(3, len(found))]...)
	}
	return "sound", nil
}

// fullChild fills the store in args[0] until a limit on the size of files stops
// it, says how many writes were acknowledged, and that reading goes on; then it
// stages a blob that is over the limit.
func fullChild(args []string) error {
	limit := syscall.Rlimit{Cur: 4 << 20, Max: 4 << 20}
	if err := setFileLimit(&limit); err != nil {
		return err
	}
	ctx := context.Background()
	s, err := storage.Open(ctx, storage.Options{Dir: args[0]})
	if err != nil {
		return err
	}
	// A write that needs no room may still pass when another did not.
	i := 0
	for failed := 0; failed < 5; {
		_, err := killedWrite(ctx, s, 0, i)
		switch {
		case err == nil:
			i++
		case errors.Is(err, storage.ErrFull):
			failed++
		default:
			return fmt.Errorf("write %d: %w", i, err)
		}
	}
	if _, err := s.StageBlob(ctx, make([]byte, 5<<20), ""); !errors.Is(err, storage.ErrFull) {
		return fmt.Errorf("stage: %w", err)
	}
	if err := s.ReadOnly(); err != nil {
		return err
	}
	snapshot, err := s.Snapshot()
	if err != nil {
		return err
	}
	v := snapshot.View()
	read := 0
	err = v.Scan(0, v.Seq(), func(r storage.Record, _ []byte) error {
		if !r.Damaged && r.Kind == "turn" {
			read++
		}
		return nil
	})
	snapshot.Release()
	if err != nil || read != i {
		return fmt.Errorf("%d of %d writes can be read: %w", read, i, err)
	}
	fmt.Println("full", i)
	return s.Close()
}

// stepsChild does six writes, one after another, each with a blob beside the
// file, and says "yes", "no" or "unknown" for each.
func stepsChild(args []string) error {
	ctx := context.Background()
	s, err := storage.Open(ctx, storage.Options{Dir: args[0]})
	if err != nil {
		return err
	}
	defer s.Close()
	for i := range steps {
		_, err := killedWrite(ctx, s, 0, stepKey(i))
		switch {
		case err == nil:
			fmt.Println(i, "yes")
		case errors.Is(err, storage.ErrUnknown):
			fmt.Println(i, "unknown", err)
		default:
			fmt.Println(i, "no", err)
		}
	}
	return nil
}

const steps = 6

// stepKey numbers the writes of stepsChild so that blobs are large.
func stepKey(i int) int { return 7*i + 6 }
