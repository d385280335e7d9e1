package session

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"hexapla/layers"
	"hexapla/layers/iceberg"
	"hexapla/layers/scrub"
	"hexapla/layers/tokens"
	"hexapla/session/contextconfig"
	"hexapla/session/registry"
	"hexapla/session/trace"
	"hexapla/storage"
)

// Options of a Service.
type Options struct {
	DataDir  string                           // where the workspaces' stores lie
	Policy   layers.Policy                    // the zero value means layers.DefaultPolicy
	Profiles layers.Profiles                  // the zero value means layers.DefaultProfiles
	Memory   layers.MemoryPolicy              // the zero value means layers.DefaultMemoryPolicy
	Audit    AuditRetention                   // what the audit logs keep
	Budget   BudgetLimits                     // what sessions and users may use
	Tiers    iceberg.Rules                    // the zero value means iceberg.Default
	Tracing  Tracing                          // where spans go
	Now      func() int64                     // Unix milliseconds; time.Now when nil
	NoIndex  bool                             // search scans the stores, and no index is opened
	Ticks    func() int64                     // microseconds of a clock that only goes forward, for durations; the system's when nil
	Logf     func(format string, args ...any) // never given content; may be nil
	Secrets  *scrub.Rules                     // what is scrubbed at the door; the default settings when nil
	Settings string                           // the user's file of limits; "" for none
	Random   io.Reader                        // where keys of new stores come from; crypto/rand.Reader when nil
	// Embeddings is the zero value for DefaultEmbeddingSettings.
	Embeddings  EmbeddingSettings
	ModelCaches []string         // folders where other programs keep models
	Tokens      *tokens.Registry // counts; one of its own when nil. Its tables take 10 MiB, which services may share
}

// Service is what one client has open: its sessions, in workspaces that it may
// share with other clients of the process. Its methods may be called from
// several goroutines; writes to one workspace take effect in the order of the
// calls, whichever client makes them.
type Service struct {
	shared *Workspaces
	client ClientOptions
	alone  bool // the workspaces are this client's own and end with it
	// foreign scrubs for nobody's workspace.
	foreign func() *scrub.Scrubber

	mu         sync.Mutex // guards what follows
	closed     bool
	workspaces map[string]*Workspace // by id
	sessions   map[string]*Session   // by id
	// configuration is what the client sets about limits.
	configuration []byte
	scrubbers     map[*storage.Store]*scrub.Scrubber
}

// New returns a Service without open workspaces, which it shares with nobody.
func New(opts Options) *Service {
	s := NewWorkspaces(opts).Client(ClientOptions{Policy: opts.Policy, Profiles: opts.Profiles, Memory: opts.Memory, Audit: opts.Audit, Budget: opts.Budget, Tiers: opts.Tiers, Tracing: opts.Tracing, Secrets: opts.Secrets, Embeddings: opts.Embeddings, Logf: opts.Logf})
	s.alone = true
	return s
}

// Session is one task thread of one agent in a workspace.
type Session struct {
	ID        string
	Workspace *Workspace

	service  *Service
	context  *contextconfig.Sources // what is set about limits
	mu       sync.Mutex
	model    string
	last     map[layers.Layout]*lastPack // the pack before, to compare with
	lastFull int64                       // tokens that the full history took at the pack before
	shown    packShown                   // by the pack before
	full     bool                        // the pack before was so full that a flash save was due
	span     trace.ID                    // of the newest build in tiers that was traced
	spans    int64                       // that were begun
	folder   string                      // path of the folder that it was opened for; "" where that is none of this machine
}

// Model returns the model that the session was opened with.
func (s *Session) Model() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.model
}

// OpenRequest asks for a session.
type OpenRequest struct {
	URI     string `json:"uri"`
	Session string `json:"session"`
	Agent   string `json:"agent"`
	Model   string `json:"model"`
	Title   string `json:"title"`
	Shared  bool   `json:"shared,omitempty"` // what is recorded in it comes from another memory
	Key     string `json:"-"`
}

// OpenReply describes an open session.
type OpenReply struct {
	Session       string
	Workspace     string
	Resumed       bool
	Sequence      int64
	Conversations int
	Ongoing       string
	State         registry.State  // how the folder was found
	Candidate     *AdoptCandidate // nil when there is none
}

const (
	maxURI       = 4096
	maxSessionID = 128
)

// OpenSession opens a session, and its workspace if need be. Opening a session
// that exists resumes it.
func (s *Service) OpenSession(ctx context.Context, req OpenRequest) (OpenReply, error) {
	if err := checkURI(req.URI); err != nil {
		return OpenReply{}, err
	}
	if err := validSessionID(req.Session); err != nil {
		return OpenReply{}, err
	}
	ws, found, err := s.openWorkspace(ctx, req.URI)
	if err != nil {
		return OpenReply{}, err
	}
	if len(s.scrubberFor(ws).Find(req.Session)) > 0 {
		return OpenReply{}, invalid("session", "must not be a secret")
	}
	reply, err := ws.openSession(ctx, req)
	if err != nil {
		return OpenReply{}, err
	}
	reply.State = found.State
	if found.Candidate.ID != "" {
		reply.Candidate = &AdoptCandidate{Workspace: found.Candidate.ID, URI: nameOf(found.Candidate)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now, ok := s.workspaces[ws.ID] // another one, if something was forgotten meanwhile
	if !ok {
		return OpenReply{}, fmt.Errorf("the workspace was erased meanwhile: %w", storage.ErrBusy)
	}
	ws = now
	if known, ok := s.sessions[reply.Session]; ok && known.Workspace != ws {
		return OpenReply{}, invalid("session", "a session of this id is open in another workspace")
	}
	session, ok := s.sessions[reply.Session]
	if !ok {
		session = &Session{ID: reply.Session, Workspace: ws, service: s, context: s.contextOf(req.URI), last: map[layers.Layout]*lastPack{}}
		s.sessions[reply.Session] = session
	}
	session.mu.Lock()
	session.folder = folderOf(req.URI).Path
	if req.Model != "" || session.model == "" {
		session.model = req.Model
	}
	if session.model == "" {
		session.model, err = ws.modelOf(reply.Session)
	}
	session.mu.Unlock()
	return reply, err
}

func checkURI(uri string) error {
	switch {
	case uri == "":
		return invalid("workspace.uri", "must not be empty")
	case len(uri) > maxURI:
		return &InvalidError{Path: "workspace.uri", Message: "too long", Limit: maxURI}
	case strings.ContainsRune(uri, 0):
		return invalid("workspace.uri", "must not contain NUL")
	}
	return nil
}

func validSessionID(id string) error {
	if len(id) > maxSessionID {
		return &InvalidError{Path: "session", Message: "too long", Limit: maxSessionID}
	}
	for _, r := range id {
		if r <= ' ' || r == '/' || r == '#' || r == 0x7f || r == 0xfffd {
			return invalid("session", "must not contain white space, control characters, '/' or '#'")
		}
	}
	return nil
}

// Session returns an open session.
func (s *Service) Session(id string) (*Session, error) {
	if id == "" {
		return nil, invalid("session", "must not be empty")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	session, ok := s.sessions[id]
	if !ok {
		return nil, fmt.Errorf("session is not open: %w", ErrNotFound)
	}
	return session, nil
}

// Counter returns the counter of a model's tokens; of the default model without
// a name.
func (s *Service) Counter(model string) layers.Counter { return s.shared.tokens.ForModel(model) }

// WorkspaceByURI opens a workspace without a session, for listings.
func (s *Service) WorkspaceByURI(ctx context.Context, uri string) (*Workspace, error) {
	if uri == "" || len(uri) > maxURI {
		return nil, invalid("workspace.uri", "must have 1 to %d bytes", maxURI)
	}
	if strings.ContainsRune(uri, 0) {
		return nil, invalid("workspace.uri", "must not contain NUL")
	}
	ws, _, err := s.openWorkspace(ctx, uri)
	return ws, err
}

// openWorkspace opens the workspace that the registry names for a URI.
func (s *Service) openWorkspace(ctx context.Context, uri string) (*Workspace, registry.Found, error) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return nil, registry.Found{}, ErrClosed
	}
	var err error
	found, known := visitOf(ctx, uri)
	if !known {
		if found, err = s.shared.places.Resolve(ctx, s.placeOf(uri)); err != nil {
			return nil, found, registryError(err)
		}
	}
	id := found.ID
	s.mu.Lock()
	ws := s.bound(id)
	s.mu.Unlock()
	if ws != nil {
		return ws, found, nil
	}
	ws, err = s.shared.open(ctx, id, s)
	if err != nil {
		return nil, found, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, found, ErrClosed // Close lets go of it, or has done so
	}
	// Something may have been forgotten meanwhile, which puts another in its place.
	s.workspaces[id] = s.shared.current(ws)
	return s.workspaces[id], found, nil
}

// Has reports whether the client has a workspace open.
func (s *Service) Has(workspace string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.workspaces[workspace] != nil
}

// Close lets go of the client's workspaces; those that no other client has open
// are closed. Replies that were given are on disk already; closing flushes audit
// entries and stops the indexers.
func (s *Service) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	if s.alone {
		return s.shared.Close()
	}
	return s.shared.release(s)
}
