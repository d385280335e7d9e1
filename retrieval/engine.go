package retrieval

import (
	"sync"
	"sync/atomic"
	"time"

	"hexapla/index"
	"hexapla/retrieval/vectors"
	"hexapla/storage"
)

// Options say what an Engine searches.
type Options struct {
	Store *storage.Store
	Index *index.Index // may be nil: searches then scan the newest records
	Logf  func(format string, args ...any)
	// Weights of the score; DefaultWeights if zero.
	Weights Weights
	// Candidates is how many records are ranked at most; 2,000 if 0.
	Candidates int
	// ScanLimit is how many of the newest records a search reads at most where
	// the index has not come yet; 100,000 if 0, which takes some tenths of a
	// second.
	ScanLimit int
	// Time tells the time of a record in Unix milliseconds; may be nil.
	Time func(storage.Record) (int64, bool)
	// Encoder makes vectors of turns; the zero value means that they are compared by
	// built-in word vectors.
	Encoder EncoderOptions
	// Retry is the first pause after a failure to write the index; it doubles
	// each time. 100 ms if 0.
	Retry time.Duration
}

// Engine searches one workspace and keeps its index up to date. It is safe for
// concurrent use.
type Engine struct {
	options Options
	store   *storage.Store
	ledger  ledger
	tables  tableCache
	heads   headCache

	indexMu sync.RWMutex
	index   *index.Index // nil when there is none, or it was given up

	retiring sync.RWMutex // held for reading while a table is stored
	retired  bool

	model    func() *vectors.Model    // made at first use; nil if there is none
	encoding atomic.Pointer[encoding] // nil while there is none

	failures atomic.Int64  // of the index, since the Engine was made
	kick     chan struct{} // wakes Run: the index needs attention
}

const (
	defaultCandidates = 2000
	defaultScanLimit  = 100_000
	defaultRetry      = 100 * time.Millisecond
)

// New makes an Engine. It reads nothing and starts nothing.
func New(opts Options) *Engine {
	if opts.Logf == nil {
		opts.Logf = func(string, ...any) {}
	}
	if opts.Weights == (Weights{}) {
		opts.Weights = DefaultWeights()
	}
	if opts.Candidates <= 0 {
		opts.Candidates = defaultCandidates
	}
	if opts.ScanLimit <= 0 {
		opts.ScanLimit = defaultScanLimit
	}
	if opts.Retry <= 0 {
		opts.Retry = defaultRetry
	}
	e := &Engine{options: opts, store: opts.Store, index: opts.Index, kick: make(chan struct{}, 1)}
	e.model = sync.OnceValue(func() *vectors.Model {
		m, err := vectors.Builtin()
		if err != nil {
			opts.Logf("retrieval: %v", err) // searches go by words alone
			return nil
		}
		return m
	})
	return e
}

// State is how far the index is.
type State struct {
	Watermark int64 // sequence up to which the index is complete
	Lag       int64 // sequences that it is behind
	Degraded  bool  // there is no usable index
	Failures  int64 // of the index since the start
}

// State tells how far the index is.
func (e *Engine) State() State {
	s := State{Failures: e.failures.Load()}
	ix := e.usableIndex()
	if ix == nil {
		s.Degraded = true
	} else {
		s.Watermark = ix.Watermark()
	}
	s.Lag = max(e.store.Seq()-s.Watermark, 0)
	return s
}

// usableIndex returns the index, or nil if it cannot be asked.
func (e *Engine) usableIndex() *index.Index {
	e.indexMu.RLock()
	ix := e.index
	e.indexMu.RUnlock()
	if ix == nil || ix.Err() != nil {
		return nil
	}
	return ix
}

// Rest takes the index away, so that it can be closed, until Resume gives one.
// Searches scan meanwhile.
func (e *Engine) Rest() {
	e.indexMu.Lock()
	defer e.indexMu.Unlock()
	e.index = nil
}

// Resume gives the index back. Run brings it up to date.
func (e *Engine) Resume(ix *index.Index) {
	e.indexMu.Lock()
	e.index = ix
	e.indexMu.Unlock()
	e.wake()
}

// Retire ends the storing of tables, which were counted from what the store had:
// it is called before the store is erased, when another Engine takes over.
// Searches go on.
func (e *Engine) Retire() {
	e.retiring.Lock()
	defer e.retiring.Unlock()
	e.retired = true
}

// putTable stores a table, unless the Engine is retired.
func (e *Engine) putTable(name string, data []byte) error {
	e.retiring.RLock()
	defer e.retiring.RUnlock()
	if e.retired {
		return nil
	}
	return e.store.PutTable(name, data)
}

// wake tells Run to look at the index.
func (e *Engine) wake() {
	select {
	case e.kick <- struct{}{}:
	default:
	}
}

// Model returns the word vectors that texts are compared with; nil where there are
// none.
func (e *Engine) Model() *vectors.Model { return e.model() }
