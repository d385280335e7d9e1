package session

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"hexapla/layers"
	"hexapla/layers/models"
	"hexapla/layers/scrub"
	"hexapla/layers/tokens"
)

// Options of a Service.
type Options struct {
	DataDir string                           // where the workspaces' stores lie
	Policy  layers.Policy                    // the zero value means layers.DefaultPolicy
	Audit   AuditRetention                   // what the audit logs keep
	Now     func() int64                     // Unix milliseconds; time.Now when nil
	Ticks   func() int64                     // microseconds of a clock that only goes forward, for durations; the system's when nil
	Logf    func(format string, args ...any) // never given content; may be nil
	Secrets *scrub.Rules                     // what is scrubbed at the door; the default settings when nil
	Random  io.Reader                        // where keys of new stores come from; crypto/rand.Reader when nil
}

// Service is every workspace that a process has open. Its methods may be
// called from several goroutines; writes to one workspace take effect in the
// order of the calls.
type Service struct {
	opts   Options
	tokens *tokens.Registry
	// rules are compiled beside the first request. foreign scrubs for nobody's
	// workspace.
	rules   func() *scrub.Rules
	foreign func() *scrub.Scrubber

	mu         sync.Mutex // guards what follows
	closed     bool
	workspaces map[string]*Workspace // by id
	sessions   map[string]*Session   // by id
}

// New returns a Service without open workspaces.
func New(opts Options) *Service {
	if opts.Policy == (layers.Policy{}) {
		opts.Policy = layers.DefaultPolicy()
	}
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
	s := &Service{
		opts: opts, tokens: tokens.NewRegistry(),
		workspaces: map[string]*Workspace{}, sessions: map[string]*Session{},
	}
	s.rules = sync.OnceValue(func() *scrub.Rules {
		if opts.Secrets != nil {
			return opts.Secrets
		}
		rules, err := scrub.Compile(scrub.DefaultSettings())
		if err != nil { // the built-in rules are the program's own
			panic("the built-in rules cannot be used: " + err.Error())
		}
		return rules
	})
	s.foreign = sync.OnceValue(func() *scrub.Scrubber {
		key := make([]byte, 32)
		if _, err := io.ReadFull(rand.Reader, key); err != nil {
			panic("no random bytes: " + err.Error())
		}
		return s.rules().With(key)
	})
	go s.rules() // takes 20 ms, which the first session need not wait for
	return s
}

// Session is one task thread of one agent in a workspace.
type Session struct {
	ID        string
	Workspace *Workspace

	mu       sync.Mutex
	model    string
	last     map[layers.Layout]*lastPack // the pack before, to compare with
	lastFull int64                       // tokens that the full history took at the pack before
	shown    packShown                   // by the pack before
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
	ws, err := s.openWorkspace(ctx, req.URI)
	if err != nil {
		return OpenReply{}, err
	}
	if len(ws.scrubber.Find(req.Session)) > 0 {
		return OpenReply{}, invalid("session", "must not be a secret")
	}
	reply, err := ws.openSession(ctx, req)
	if err != nil {
		return OpenReply{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.sessions[reply.Session]; ok && known.Workspace != ws {
		return OpenReply{}, invalid("session", "a session of this id is open in another workspace")
	}
	session, ok := s.sessions[reply.Session]
	if !ok {
		session = &Session{ID: reply.Session, Workspace: ws, last: map[layers.Layout]*lastPack{}}
		s.sessions[reply.Session] = session
	}
	session.mu.Lock()
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
func (s *Service) Counter(model string) layers.Counter { return s.tokens.ForModel(model) }

// WorkspaceByURI opens a workspace without a session, for listings.
func (s *Service) WorkspaceByURI(ctx context.Context, uri string) (*Workspace, error) {
	if uri == "" || len(uri) > maxURI {
		return nil, invalid("workspace.uri", "must have 1 to %d bytes", maxURI)
	}
	return s.openWorkspace(ctx, uri)
}

func (s *Service) openWorkspace(ctx context.Context, uri string) (*Workspace, error) {
	id := workspaceID(uri)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if ws, ok := s.workspaces[id]; ok {
		return ws, nil
	}
	ws, err := openWorkspace(ctx, workspaceOptions{
		ID: id, Dir: filepath.Join(s.opts.DataDir, "workspaces", id),
		Policy: s.opts.Policy, Audit: s.opts.Audit, Tokens: s.tokens, Models: models.Builtin(), Now: s.opts.Now, Ticks: s.opts.Ticks, Logf: s.opts.Logf, Rules: s.rules(), Random: s.opts.Random,
	})
	if err != nil {
		return nil, err
	}
	s.workspaces[id] = ws
	return ws, nil
}

// Close closes every workspace. Replies that were given are on disk already;
// it flushes audit entries and stops the indexers.
func (s *Service) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var first error
	for id, ws := range s.workspaces {
		if err := ws.close(); err != nil && first == nil {
			first = err
		}
		delete(s.workspaces, id)
	}
	return first
}
