package index

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	bindex "github.com/blevesearch/bleve_index_api"
)

// mappingVersion names the layout of the index and the analysis of terms. An
// index with another one is rebuilt.
const mappingVersion = "1"

// Keys of the values that are written with each batch.
const (
	keyMapping   = "hexapla/mapping"
	keyStore     = "hexapla/store"
	keyWatermark = "hexapla/watermark" // big-endian int64
	keyDocs      = "hexapla/docs"      // big-endian int64
)

// Options say where an index lies and to whom it belongs.
type Options struct {
	Dir       string                           // made if absent; holds "live" and "quarantine"
	StoreUUID string                           // of the store that the index is a projection of
	Timeout   time.Duration                    // of waiting for the lock; 2 s if 0
	Logf      func(format string, args ...any) // may be nil; gets no content
}

// Index is an open index. It is safe for concurrent use.
type Index struct {
	options Options

	// mu is held for reading while the engine is in use, for writing while it is
	// opened, closed or replaced.
	mu     sync.RWMutex
	engine *scorch.Scorch // nil when closed, failed or damaged
	queue  *bindex.AnalysisQueue
	err    error // why engine is nil

	writing   sync.Mutex // one batch at a time
	watermark atomic.Int64
	written   atomic.Int64  // watermark that is on disk
	flushed   chan struct{} // told after written has moved
	docs      int64         // documents applied; under writing
	suspect   atomic.Pointer[error]

	cacheMu sync.Mutex
	cache   map[uint64][]int64 // segment id to the sequences of its documents
}

// Open opens the index in opts.Dir, or makes an empty one. An index that is
// damaged, belongs to another store or has another mapping is moved to
// quarantine and replaced by an empty one, whose Watermark is 0. It returns
// ErrLocked when another process has it open, and other errors (permission,
// I/O) as they are, with nothing changed.
func Open(ctx context.Context, opts Options) (*Index, error) {
	if opts.Timeout <= 0 {
		opts.Timeout = 2 * time.Second
	}
	if opts.Logf == nil {
		opts.Logf = func(string, ...any) {}
	}
	ix := &Index{options: opts, flushed: make(chan struct{}, 1)}
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	err := ix.openLive(ctx)
	if err != nil && isDamage(err) {
		opts.Logf("index: %v; starting an empty one", err)
		if err = ix.quarantine(); err == nil {
			err = ix.openLive(ctx)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	return ix, nil
}

func (ix *Index) live() string { return filepath.Join(ix.options.Dir, "live") }

// openLive opens the folder "live" and checks that it can be trusted.
func (ix *Index) openLive(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	fresh, err := guardRoot(filepath.Join(ix.live(), "root.bolt"))
	if err != nil {
		return err
	}
	queue := bindex.NewAnalysisQueue(analysisWorkers)
	engine, err := openScorch(ix.live(), ix.options.Timeout, queue)
	if err != nil {
		queue.Close()
		return err
	}
	ix.engine, ix.queue, ix.err, ix.cache = engine, queue, nil, make(map[uint64][]int64)
	ix.suspect.Store(nil)
	ix.watermark.Store(0)
	ix.written.Store(0)
	ix.docs = 0
	if !fresh {
		if err := ix.verify(ctx); err != nil {
			ix.closeEngine()
			return err
		}
	}
	return nil
}

// analysisWorkers is how many goroutines put documents into scorch's form.
// There is little to do, since terms come analysed.
const analysisWorkers = 2

// persisterNap is how long scorch gathers batches before it writes them, in
// milliseconds. It also is the pause between two attempts when the disk is full.
const persisterNap = 20

func openScorch(dir string, timeout time.Duration, queue *bindex.AnalysisQueue) (engine *scorch.Scorch, err error) {
	err = guarded("open", func() error {
		made, err := scorch.NewScorch(scorch.Name, map[string]any{
			"path":                   dir,
			"bolt_timeout":           timeout.String(),
			"unsafe_batch":           true, // what a crash loses lies above the watermark
			"scorchPersisterOptions": map[string]any{"PersisterNapTimeMSec": persisterNap},
		}, queue)
		if err != nil {
			return err
		}
		if err := made.Open(); err != nil {
			return err
		}
		engine = made.(*scorch.Scorch)
		return nil
	})
	// bbolt's time-out error, which only package storage may import.
	if err != nil && strings.HasSuffix(err.Error(), "timeout") {
		return nil, ErrLocked
	}
	return engine, err
}

// guarded runs f and turns a panic, also one from a page that cannot be read,
// into ErrDamaged.
func guarded(what string, f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: panic: %v: %w", what, r, ErrDamaged)
		}
	}()
	return f()
}

// isDamage tells errors that prove nothing but that the files are bad from
// those of the system, which leave the index as it is.
func isDamage(err error) bool {
	if errors.Is(err, ErrDamaged) {
		return true
	}
	if errors.Is(err, ErrLocked) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var errno syscall.Errno
	return !errors.As(err, &errno) && !errors.Is(err, os.ErrPermission)
}

// Watermark returns the sequence up to which the index is complete.
func (ix *Index) Watermark() int64 { return ix.watermark.Load() }

// Err returns nil while the index can be used, and otherwise ErrClosed,
// ErrFailed or ErrDamaged, wrapped.
func (ix *Index) Err() error {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return ix.usable()
}

// usable must be called with mu held.
func (ix *Index) usable() error {
	if ix.engine == nil {
		return ix.err
	}
	if p := ix.suspect.Load(); p != nil {
		return *p
	}
	if stats, ok := ix.engine.Stats().(*scorch.Stats); ok && atomic.LoadUint64(&stats.TotOnErrors) > 0 {
		err := fmt.Errorf("write behind: %w", ErrFailed)
		ix.suspect.Store(&err)
		return err
	}
	return nil
}

// Docs returns how many documents the index holds.
func (ix *Index) Docs() int64 {
	ix.writing.Lock()
	defer ix.writing.Unlock()
	return ix.docs
}

// Reset puts the index into quarantine and starts an empty one. It is how a
// damaged index, or one whose store has been purged, is made usable again.
func (ix *Index) Reset(ctx context.Context) error {
	ix.writing.Lock()
	defer ix.writing.Unlock()
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.engine == nil && errors.Is(ix.err, ErrClosed) {
		return fmt.Errorf("reset index: %w", ErrClosed)
	}
	ix.closeEngine()
	ix.err = fmt.Errorf("reset: %w", ErrFailed)
	ix.watermark.Store(0)
	if err := ix.quarantine(); err != nil {
		return fmt.Errorf("reset index: %w", err)
	}
	if err := ix.openLive(ctx); err != nil {
		return fmt.Errorf("reset index: %w", err)
	}
	return nil
}

// Purge is Reset that leaves no bytes of what the index held, in quarantine
// neither. It is how terms of what was erased are made to go.
func (ix *Index) Purge(ctx context.Context) error {
	if err := ix.Reset(ctx); err != nil {
		return fmt.Errorf("purge index: %w", err)
	}
	if err := os.RemoveAll(filepath.Join(ix.options.Dir, "quarantine")); err != nil {
		return fmt.Errorf("purge index: %w", err)
	}
	return nil
}

// Close writes what is left to write and closes the index. Closing twice is
// fine.
func (ix *Index) Close() error {
	ix.writing.Lock()
	defer ix.writing.Unlock()
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.flush()
	err := ix.closeEngine()
	ix.err = ErrClosed
	if err != nil {
		return fmt.Errorf("close index: %w", err)
	}
	return nil
}

// flushWait bounds how long Close waits for batches to be written. What is not
// written in time is indexed again at the next start.
const flushWait = time.Second

// flush waits until what was applied is on disk.
func (ix *Index) flush() {
	timer := time.NewTimer(flushWait)
	defer timer.Stop()
	for ix.usable() == nil && ix.written.Load() < ix.watermark.Load() {
		select {
		case <-ix.flushed:
		case <-timer.C:
			return
		}
	}
}

// closeWait bounds how long a close waits for scorch's goroutines.
const closeWait = 10 * time.Second

// closeEngine must be called with mu held for writing.
func (ix *Index) closeEngine() error {
	engine, queue := ix.engine, ix.queue
	ix.engine, ix.queue, ix.cache = nil, nil, nil
	if engine == nil {
		return nil
	}
	done := make(chan error, 1)
	go func() {
		done <- guarded("close", engine.Close)
		queue.Close()
	}()
	timer := time.NewTimer(closeWait)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return fmt.Errorf("not closed after %v: %w", closeWait, ErrFailed)
	}
}

func appendInt(v int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }

func readInt(b []byte) (int64, bool) {
	if len(b) != 8 {
		return 0, false
	}
	v := int64(binary.BigEndian.Uint64(b))
	return v, v >= 0
}
