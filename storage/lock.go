package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"hexapla/internal/filelock"
)

const lockFile = "lock"

// lockPoll is how often a held lock is tried again.
const lockPoll = 10 * time.Millisecond

// takeLock takes the lock file of a store, waiting for at most timeout. The
// file is never removed: who removes it while another waits for it lets two in.
// A reader shares the lock, and does without it where there is no lock file and
// none can be made; bbolt's own lock is then what keeps a writer out.
func takeLock(ctx context.Context, root *os.Root, shared bool, timeout time.Duration) (*os.File, error) {
	flags := os.O_RDWR | os.O_CREATE
	if shared {
		flags = os.O_RDONLY
	}
	f, err := root.OpenFile(lockFile, flags, 0o600)
	if shared && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if err := waitLock(ctx, f, shared, timeout); err != nil {
		f.Close()
		return nil, err
	}
	if shared {
		return f, nil
	}
	// Who holds the lock is told for people and error messages; the lock works
	// without it, on a full disk too.
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f, nil
}

func waitLock(ctx context.Context, f *os.File, shared bool, timeout time.Duration) error {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	poll := time.NewTicker(lockPoll)
	defer poll.Stop()
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("lock: %w", err)
		}
		ok, err := filelock.Try(f, shared)
		if err != nil {
			return fmt.Errorf("lock: %w", err)
		}
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-poll.C:
		case <-deadline.C:
			return fmt.Errorf("lock: %w", &LockedError{PID: holder(f)})
		}
	}
}

// holder reads who holds the lock; 0 if the file does not say.
func holder(f *os.File) int {
	var text [20]byte
	n, err := f.ReadAt(text[:], 0)
	if err != nil && err != io.EOF {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}
