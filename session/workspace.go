package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"hexapla/index"
	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/layers/fence"
	"hexapla/layers/models"
	"hexapla/layers/scrub"
	"hexapla/layers/tokens"
	"hexapla/retrieval"
	"hexapla/storage"
)

// openTimeout bounds the wait for a store that another process holds.
const openTimeout = 2 * time.Second

// keptSnapshots is how many copies of a store are kept, one of each day of change.
const keptSnapshots = 2

type workspaceOptions struct {
	ID     string
	Dir    string
	Policy layers.Policy
	// Profiles is the zero value in settings of programs that knew none.
	Profiles layers.Profiles
	Memory   layers.MemoryPolicy
	Audit    AuditRetention
	Storage  StorageLimits
	// Embeddings say how turns are compared in meaning, by Encoders.
	Embeddings EmbeddingSettings
	Encoders   *encoders
	Tokens     *tokens.Registry
	Models     models.Table
	Now        func() int64
	Ticks      func() int64
	// NoIndex leaves the index closed: search scans the store.
	NoIndex bool
	// Warm is called before a search that the index would help.
	Warm func()
	Logf func(format string, args ...any)
	// Rules are those of the client that opened the workspace; each client has its
	// own at the door.
	Rules  *scrub.Rules
	Random io.Reader
}

// Workspace is one root folder's memory: a store, its index and what is cached
// of them.
type Workspace struct {
	ID string

	opts        workspaceOptions
	store       *storage.Store
	naming      *naming
	indexMu     sync.Mutex   // guards index and resting, while it is opened and closed too
	index       *index.Index // nil when it could not be opened, or rests
	resting     bool         // it was closed to be opened when it is wanted
	engine      *retrieval.Engine
	threads     threadCache
	heads       headCache
	messages    messageCache // of bare lists
	repeatForms bounded[repeatKey, layers.Form]
	related     bounded[relatedKey, relatedPieces] // found for the opening of conversations
	counters    sync.Map                           // model → layers.Counter
	tables      sync.Map                           // names of tables that were stored
	fence       fence.Fence                        // of packs
	settings    string                             // digest of the policy
	fidelity    bounded[trioVersion, digest.Fidelity]
	lessons     bounded[lessonsKey, []lessonAt]
	clusters    clusterCache
	sums        sync.Pool // of *layers.Digester, for predictions
	tries       bounded[triesKey, []try]
	hints       bounded[hintKey, layers.Form]
	spoken      bounded[triesKey, *spoken]
	uses        bounded[triesKey, *usage]
	prefetch    prefetch
	works       bounded[trioVersion, layers.Work]     // of completed conversations
	choices     bounded[string, layers.ProfileChoice] // at the opening of a conversation
	openings    bounded[string, opened]               // of conversations
	profileSets bounded[int64, profileRecord]         // by sequence
	fileForms   fileCache
	items       itemCache
	itemSums    itemSums
	agents      bounded[tiersKey, *tiers] // items of agents
	retiring    sync.RWMutex              // held for reading while something derived is stored
	rename      func(string) string       // of names that were secrets in the workspace whose place it took; nil for none
	erasing     bool                      // guarded by Workspaces.mu
	retired     bool                      // another Workspace took its place; nothing derived is stored any more

	stop    context.CancelFunc
	stopped sync.WaitGroup
}

func openWorkspace(ctx context.Context, opts workspaceOptions) (*Workspace, error) {
	store, err := storage.Open(ctx, storage.Options{
		Dir: opts.Dir, Timeout: openTimeout, Now: opts.Now, Logf: opts.Logf, Random: opts.Random, Snapshots: keptSnapshots,
		AuditEntries: opts.Audit.Entries, AuditBytes: opts.Audit.Bytes, AuditAge: time.Duration(opts.Audit.Days) * 24 * time.Hour, AuditTime: auditTime,
	})
	if err != nil {
		return nil, err
	}
	ws := newWorkspace(opts, store, openIndex(ctx, opts, store), settingsDigest(settingsOf(&opts)))
	ws.start()
	return ws, nil
}

// newWorkspace returns a workspace with nothing in its caches, of settings that
// have a digest.
func newWorkspace(opts workspaceOptions, store *storage.Store, ix *index.Index, settings string) *Workspace {
	ws := &Workspace{ID: opts.ID, opts: opts, store: store, index: ix, settings: settings, prefetch: newPrefetch()}
	ws.naming = newNaming(opts.Rules.Settings())
	if opts.Policy.Fence {
		ws.fence = fence.New(store.Key(fenceKey))
	}
	return ws
}

// start begins what a workspace does in the background.
func (ws *Workspace) start() {
	encoder := retrieval.EncoderOptions{Dir: ws.indexDir(), Text: spokenText, Now: ws.opts.Now}
	if !ws.opts.NoIndex {
		encoder.Await = func(ctx context.Context) retrieval.Encoder {
			return ws.opts.Encoders.await(ctx, ws.opts.Embeddings, ws.opts.Logf)
		}
	}
	ws.engine = retrieval.New(retrieval.Options{Store: ws.store, Index: ws.index, Logf: ws.opts.Logf, Encoder: encoder})
	run, stop := context.WithCancel(context.Background())
	ws.stop = stop
	ws.stopped.Go(func() { ws.engine.Run(run) })
	ws.stopped.Go(func() { ws.engine.RunEncoder(run) })
	ws.stopped.Go(func() { ws.runPrefetch(run) })
}

// openIndex opens the workspace's index; nil when that cannot be, or shall not.
// The index is a projection: without it search scans the store.
func openIndex(ctx context.Context, opts workspaceOptions, store *storage.Store) *index.Index {
	if opts.NoIndex {
		opts.Logf("workspace %s: the index is off, search scans the store", opts.ID)
		return nil
	}
	ix, err := index.Open(ctx, index.Options{
		Dir: filepath.Join(opts.Dir, "index"), StoreUUID: store.UUID(), Logf: opts.Logf, Timeout: openTimeout,
	})
	if err != nil {
		opts.Logf("workspace %s: no index: %v", opts.ID, err)
		return nil
	}
	return ix
}

// under returns the same workspace under other settings with a digest, to build
// packs of the past. It has caches of its own and must not be closed.
func (ws *Workspace) under(s settings, digest string) *Workspace {
	opts := ws.opts
	opts.Policy, opts.Profiles, opts.Memory = s.Policy, layers.Profiles{}, layers.DefaultMemoryPolicy()
	if s.Memory != nil {
		opts.Memory = *s.Memory
	}
	if s.Profiles != nil {
		opts.Profiles = *s.Profiles
	}
	then := newWorkspace(opts, ws.store, ws.openedIndex(), digest)
	then.engine = ws.engine
	return then
}

// shaper makes the forms of pieces under a policy.
func (ws *Workspace) shaper(counter layers.Counter, policy layers.Policy) *shaper {
	return &shaper{counter: counter, policy: policy, fence: ws.fence, read: ws.readText}
}

func (ws *Workspace) close() error {
	ws.stop()
	ws.stopped.Wait()
	ws.indexMu.Lock()
	defer ws.indexMu.Unlock()
	ws.resting = false
	if ws.index != nil {
		if err := ws.index.Close(); err != nil {
			ws.opts.Logf("workspace %s: close index: %v", ws.ID, err)
		}
	}
	return ws.store.Close()
}

// counter returns the token counter for a model.
func (ws *Workspace) counter(model string) layers.Counter {
	if c, ok := ws.counters.Load(model); ok {
		return c.(layers.Counter)
	}
	of := ws.opts.Tokens.ForModel(model)
	if of.Estimate() {
		// Settings may know its tokenizer.
		if m, _ := ws.opts.Models.Lookup(model); m.Tokenizer != "" {
			if exact, err := ws.opts.Tokens.Encoding(m.Tokenizer); err == nil {
				of = exact
			}
		}
	}
	c := ws.opts.Tokens.Cached(of)
	actual, _ := ws.counters.LoadOrStore(model, c)
	return actual.(layers.Counter)
}

// prices returns what the provider of a model charges for its cache.
func (ws *Workspace) prices(model string) layers.CachePrices {
	m, _ := ws.opts.Models.Lookup(model)
	if m.Prices.Input <= 0 {
		m = models.Default()
	}
	return layers.CachePrices{Write: m.Prices.CacheWrite / m.Prices.Input, Read: m.Prices.CacheRead / m.Prices.Input}
}

// standard is the counter of what is stored: o200k_base.
func (ws *Workspace) standard() layers.Counter { return ws.counter("") }

// view runs read on the workspace as of a sequence; 0 means the newest.
func (ws *Workspace) view(asOf int64, read func(storage.View) error) error {
	snapshot, err := ws.store.Snapshot()
	if err != nil {
		return err
	}
	defer snapshot.Release()
	v := snapshot.View()
	if asOf != 0 {
		if v, err = snapshot.At(asOf); err != nil {
			return fmt.Errorf("sequence %d: %w", asOf, ErrNotFound)
		}
	}
	return read(v)
}

// write runs build under the request's idempotency key. request is what the
// key stands for: the same key with another request is refused.
func write[T any](ctx context.Context, ws *Workspace, method, session, key string, request any, build func(*storage.Tx) (T, error)) (reply T, receipt storage.Receipt, err error) {
	op := storage.Op{By: clientOf(ctx)}
	if key != "" {
		if len(key) > maxKey {
			return reply, receipt, &InvalidError{Path: "key", Message: "too long", Limit: maxKey}
		}
		op.Key, op.Digest = method+"\x00"+session+"\x00"+key, sha256.Sum256(encode(request))
	}
	receipt, err = ws.store.Write(ctx, op, func(tx *storage.Tx) ([]byte, error) {
		if !withinQuota(method) {
			if err := ws.admit(tx.View()); err != nil {
				return nil, err
			}
		}
		r, err := build(tx)
		if err != nil {
			return nil, err
		}
		return encode(r), nil
	})
	if err != nil {
		return reply, receipt, err
	}
	if receipt.Repeated && len(receipt.Reply) == 0 {
		return reply, receipt, fmt.Errorf("%s: what it answered %w", method, ErrForgotten)
	}
	if err := json.Unmarshal(receipt.Reply, &reply); err != nil {
		return reply, receipt, fmt.Errorf("read reply of %s: %w", method, err)
	}
	return reply, receipt, nil
}

const maxKey = 256

// storeKey is the purpose of the store's key that identifies it.
const storeKey = "identity"

// Identity names the workspace's store: made at random with it, the same for its
// life and in its copies.
func (ws *Workspace) Identity() string { return hex.EncodeToString(ws.store.Key(storeKey)[:8]) }

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
