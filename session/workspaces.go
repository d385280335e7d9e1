package session

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"hexapla/layers"
	"hexapla/layers/iceberg"
	"hexapla/layers/models"
	"hexapla/layers/scrub"
	"hexapla/layers/tokens"
	"hexapla/session/registry"
	"hexapla/storage"
)

// Workspaces are the workspaces that a process has open, for any number of
// clients. A workspace is open as long as a client has it open.
//
// What clients ask for in their options holds for a workspace from the client
// that opened it, until no client has it open any more: a store has one policy
// and one retention at a time. A client whose options differ is told so in its
// log.
type Workspaces struct {
	opts     Options
	tokens   *tokens.Registry
	rules    func() *scrub.Rules // the default ones, compiled beside the first request
	places   *registry.Registry
	encoders encoders

	mu     sync.Mutex // guards what follows
	closed bool
	loaded map[string]*opening // by id
	warmed []string            // ids of those whose index is open, the one last that was wanted last
}

// opening is a workspace that is being opened, is open, or is being closed.
type opening struct {
	client ClientOptions // of the client that opened it
	ready  chan struct{} // closed when ws or err is set
	ws     *Workspace
	err    error
	users  []*Service    // guarded by Workspaces.mu
	gone   chan struct{} // not nil while it is being closed, closed after; guarded by Workspaces.mu
}

// ClientOptions are what one client asks for.
type ClientOptions struct {
	Policy   layers.Policy       // the zero value means layers.DefaultPolicy
	Profiles layers.Profiles     // the zero value means layers.DefaultProfiles
	Memory   layers.MemoryPolicy // the zero value means layers.DefaultMemoryPolicy
	Models   models.Table        // what is known of models; the zero value means models.Builtin
	Audit    AuditRetention      // what the audit logs keep
	Secrets  *scrub.Rules        // what is scrubbed at the door; the default settings when nil
	Storage  StorageLimits       // what the stores keep
	Budget   BudgetLimits        // what sessions and users may use
	Tiers    iceberg.Rules       // the zero value means iceberg.Default
	Tracing  Tracing             // where spans go
	// Embeddings is the zero value for DefaultEmbeddingSettings.
	Embeddings EmbeddingSettings
	Context    []byte                           // what is set about limits, as contextconfig.Read takes it; nil for nothing
	Logf       func(format string, args ...any) // never given content; may be nil
}

// ParseModels reads the models that a client knows of beside those that are built
// in: a JSON array, as models.Table.Parse takes it.
func ParseModels(data []byte) (models.Table, error) {
	return models.Builtin().Parse(data, []string{tokens.O200k, tokens.Cl100k})
}

// NewWorkspaces returns none so far. Of the options, the data folder, the clocks,
// the counts, the rules for who has none of his own and the log for what concerns
// no client count here.
func NewWorkspaces(opts Options) *Workspaces {
	if opts.Now == nil {
		opts.Now = func() int64 { return time.Now().UnixMilli() }
	}
	if opts.Ticks == nil {
		start := time.Now()
		opts.Ticks = func() int64 { return time.Since(start).Microseconds() }
	}
	if opts.Logf == nil {
		opts.Logf = func(string, ...any) {}
	}
	if opts.Random == nil {
		opts.Random = rand.Reader
	}
	if opts.Tokens == nil {
		opts.Tokens = tokens.NewRegistry()
	}
	w := &Workspaces{opts: opts, tokens: opts.Tokens, loaded: map[string]*opening{}, places: openRegistry(opts.DataDir, opts.Now, opts.Logf)}
	w.encoders = encoders{caches: opts.ModelCaches, ticks: opts.Ticks}
	if opts.Secrets != nil { // a single client's; the default ones are for nobody
		w.rules = func() *scrub.Rules { return opts.Secrets }
		return w
	}
	w.rules = sync.OnceValue(func() *scrub.Rules {
		rules, err := scrub.Compile(scrub.DefaultSettings())
		if err != nil { // the built-in rules are the program's own
			panic("the built-in rules cannot be used: " + err.Error())
		}
		return rules
	})
	go w.rules() // takes 20 ms, which the first session need not wait for
	return w
}

// Client returns a Service for one client. It must be closed.
func (w *Workspaces) Client(opts ClientOptions) *Service {
	if opts.Policy == (layers.Policy{}) {
		opts.Policy = layers.DefaultPolicy()
	}
	if opts.Profiles == (layers.Profiles{}) {
		opts.Profiles = layers.DefaultProfiles()
	}
	if opts.Memory == (layers.MemoryPolicy{}) {
		opts.Memory = layers.DefaultMemoryPolicy()
	}
	if len(opts.Models.Models()) == 0 {
		opts.Models = models.Builtin()
	}
	if opts.Embeddings == (EmbeddingSettings{}) {
		opts.Embeddings = DefaultEmbeddingSettings()
	}
	if opts.Tiers == nil {
		opts.Tiers = iceberg.Default()
	}
	if opts.Logf == nil {
		opts.Logf = func(string, ...any) {}
	}
	s := &Service{
		shared: w, client: opts, configuration: opts.Context, workspaces: map[string]*Workspace{}, sessions: map[string]*Session{},
		scrubbers: map[*storage.Store]*scrub.Scrubber{},
	}
	s.foreign = sync.OnceValue(func() *scrub.Scrubber {
		key := make([]byte, 32)
		if _, err := io.ReadFull(rand.Reader, key); err != nil {
			panic("no random bytes: " + err.Error())
		}
		return s.rules().With(key)
	})
	return s
}

// Len returns how many workspaces are open.
func (w *Workspaces) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.loaded)
}

// open opens a workspace for a client, or joins those that have it open. While
// one workspace is being opened, which takes up to openTimeout where another
// process holds it, the others are served.
func (w *Workspaces) open(ctx context.Context, id string, client *Service) (*Workspace, error) {
	for {
		w.mu.Lock()
		if w.closed {
			w.mu.Unlock()
			return nil, ErrClosed
		}
		o := w.loaded[id]
		if o != nil && o.gone != nil {
			gone := o.gone
			w.mu.Unlock()
			select {
			case <-gone:
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		first := o == nil
		if first {
			o = &opening{client: client.client, ready: make(chan struct{})}
			w.loaded[id] = o
		}
		if !slices.Contains(o.users, client) {
			o.users = append(o.users, client)
		}
		w.mu.Unlock()
		if first {
			w.load(ctx, id, o, client.rules())
		}
		select {
		case <-o.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if o.err != nil {
			return nil, o.err
		}
		if !first && (o.client.Policy != client.client.Policy || o.client.Profiles != client.client.Profiles || o.client.Memory != client.client.Memory || o.client.Audit != client.client.Audit || o.client.Storage != client.client.Storage || o.client.Embeddings != client.client.Embeddings) {
			client.client.Logf("workspace %s: another client opened it with other options, which hold until no client has it open", id)
		}
		return o.ws, nil
	}
}

// load opens the workspace for whoever waits for it.
func (w *Workspaces) load(ctx context.Context, id string, o *opening, rules *scrub.Rules) {
	if o.err = prepareFolder(w.opts.DataDir, id); o.err == nil {
		o.ws, o.err = openWorkspace(context.WithoutCancel(ctx), workspaceOptions{
			ID: id, Dir: workspaceDir(w.opts.DataDir, id),
			Policy: o.client.Policy, Profiles: o.client.Profiles, Memory: o.client.Memory, Audit: o.client.Audit, Storage: o.client.Storage, Embeddings: o.client.Embeddings, Encoders: &w.encoders, Tokens: w.tokens, Models: o.client.Models,
			Now: w.opts.Now, Ticks: w.opts.Ticks, NoIndex: w.opts.NoIndex, Rules: rules, Random: w.opts.Random, Warm: func() { w.warm(id) }, Logf: func(format string, args ...any) { w.logf(o, format, args...) },
		})
	}
	if o.err != nil {
		w.mu.Lock()
		if w.loaded[id] == o {
			delete(w.loaded, id)
		}
		w.mu.Unlock()
	}
	close(o.ready)
	w.warm(id)
}

// logf tells every client that has a workspace open.
func (w *Workspaces) logf(o *opening, format string, args ...any) {
	w.mu.Lock()
	users := slices.Clone(o.users)
	w.mu.Unlock()
	if len(users) == 0 {
		w.opts.Logf(format, args...)
	}
	for _, user := range users {
		user.client.Logf(format, args...)
	}
}

// release lets go of a client's workspaces, and closes those that nobody has
// open any more.
func (w *Workspaces) release(client *Service) error {
	w.mu.Lock()
	var last []string
	for id, o := range w.loaded {
		at := slices.Index(o.users, client)
		if at < 0 {
			continue
		}
		o.users = slices.Delete(o.users, at, at+1)
		if len(o.users) == 0 && o.gone == nil {
			o.gone = make(chan struct{})
			last = append(last, id)
		}
	}
	w.mu.Unlock()
	slices.Sort(last)
	var first error
	for _, id := range last {
		if err := w.shut(id); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// current returns the workspace that is in the place of one now: another, if
// something of it was forgotten.
func (w *Workspaces) current(ws *Workspace) *Workspace {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o := w.loaded[ws.ID]; o != nil && o.ws != nil && o.gone == nil {
		return o.ws
	}
	return ws
}

// erase runs something that takes text out of a workspace's store, and puts a
// fresh Workspace in the place of the one that may have kept some of it, for
// every client that has it open.
func (w *Workspaces) erase(old *Workspace, run func(*Workspace) error) error {
	w.mu.Lock()
	o := w.loaded[old.ID]
	if w.closed || o == nil || o.gone != nil || o.ws != old || old.erasing {
		w.mu.Unlock()
		return fmt.Errorf("the workspace is being erased by another request: %w", storage.ErrBusy)
	}
	old.erasing = true
	w.mu.Unlock()
	old.retire()
	err := run(old)
	w.mu.Lock()
	if w.closed || o.gone != nil {
		w.mu.Unlock()
		return err
	}
	o.ws = old.renewed()
	o.ws.rename, old.rename = old.rename, nil
	users := slices.Clone(o.users)
	w.mu.Unlock()
	for _, user := range users {
		user.replace(old, o.ws)
	}
	return err
}

// destroy closes a workspace for every client and deletes its store.
func (w *Workspaces) destroy(ctx context.Context, ws *Workspace) error {
	w.mu.Lock()
	o := w.loaded[ws.ID]
	if w.closed || o == nil || o.gone != nil || o.ws != ws || ws.erasing {
		w.mu.Unlock()
		return fmt.Errorf("the workspace is being erased by another request: %w", storage.ErrBusy)
	}
	o.gone = make(chan struct{})
	users := slices.Clone(o.users)
	w.mu.Unlock()
	for _, user := range users {
		user.replace(ws, nil)
	}
	err := ws.close()
	if err == nil {
		err = storage.Destroy(ctx, storage.Options{Dir: ws.opts.Dir, Timeout: openTimeout, Logf: ws.opts.Logf})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.loaded, ws.ID)
	w.warmed = slices.DeleteFunc(w.warmed, func(id string) bool { return id == ws.ID })
	close(o.gone)
	return err
}

// shut closes a workspace that was marked as leaving.
func (w *Workspaces) shut(id string) error {
	w.mu.Lock()
	o := w.loaded[id]
	w.mu.Unlock()
	if o == nil {
		return nil // it could not be opened
	}
	<-o.ready
	var err error
	if o.ws != nil {
		err = o.ws.close()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.loaded[id] == o {
		delete(w.loaded, id)
	}
	w.warmed = slices.DeleteFunc(w.warmed, func(warm string) bool { return warm == id })
	close(o.gone)
	return err
}

// Close closes every workspace, whoever has it open.
func (w *Workspaces) Close() error {
	w.mu.Lock()
	w.closed = true
	var mine []string
	var others []chan struct{}
	for id, o := range w.loaded {
		if o.gone != nil {
			others = append(others, o.gone)
			continue
		}
		o.gone = make(chan struct{})
		mine = append(mine, id)
	}
	w.mu.Unlock()
	slices.Sort(mine)
	var first error
	for _, id := range mine {
		if err := w.shut(id); err != nil && first == nil {
			first = err
		}
	}
	for _, gone := range others {
		<-gone
	}
	if err := w.encoders.close(); err != nil && first == nil {
		first = err
	}
	return first
}
