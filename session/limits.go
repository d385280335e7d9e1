package session

import (
	"path/filepath"
	"slices"
	"strings"

	"hexapla/layers"
	"hexapla/layers/limits"
	"hexapla/retrieval/nearness"
	"hexapla/session/contextconfig"
	"hexapla/storage"
)

// LimitsRequest says whose limit is meant.
type LimitsRequest struct {
	Agent string // the session's where it is empty
	LLM   string // a type that is set; that of the session's model where it is empty
	P1    bool   // the work has priority 1, whatever is set for the agent
	Limit int    // tokens, instead of what is set; 0 for that
}

// LimitsStatus is the limit that is in force, and what led up to it.
type LimitsStatus struct {
	Agent    string
	Limit    limits.Limit
	Pressure Pressure
	Used     int // tokens of the session's newest pack; 0 if there is none
	Packs    bool
	Settings contextconfig.State
	Sequence int64
}

// contextOf returns the documents of limits for a session in a folder. s.mu is held.
func (s *Service) contextOf(uri string) *contextconfig.Sources {
	workspace := ""
	if path := folderOf(uri).Path; path != "" {
		workspace = filepath.Join(filepath.FromSlash(path), contextconfig.NameWorkspace)
	}
	return contextconfig.NewSources(s.shared.opts.Settings, workspace, s.configuration, func(problem *contextconfig.Error) {
		s.client.Logf("settings do not count: %v", problem)
	})
}

// limitsOf returns what is set, the limit of a request, and the agent it is for.
func (s *Session) limitsOf(v storage.View, req LimitsRequest) (contextconfig.State, limits.Limit, string, error) {
	state := s.context.State()
	config := state.Config
	if req.Limit < 0 || req.Limit > limits.MaxLimit {
		bound := int64(limits.MaxLimit)
		if req.Limit < 0 {
			bound = 0
		}
		return state, limits.Limit{}, "", &InvalidError{Path: "limit", Message: "out of range", Limit: bound}
	}
	agent, err := s.limitAgent(v, req.Agent, &config)
	if err != nil {
		return state, limits.Limit{}, "", err
	}
	llm := req.LLM
	if llm == "" {
		llm = config.TypeOf(s.Model())
	} else if !config.HasType(llm) {
		var known []string
		for _, l := range config.PerLLM {
			known = append(known, l.Type)
		}
		return state, limits.Limit{}, "", invalid("llm", "no limits are set for this type; known are %s", strings.Join(known, ", "))
	}
	if req.Limit == 0 {
		return state, config.Limit(agent, llm, req.P1), agent, nil
	}
	// What is asked for stands in the place of what is set; the floor and the fifth
	// of priority 1 are as ever.
	config.DefaultLimit = req.Limit
	config.PerLLM = []limits.LLMLimit{{Type: llm, FollowDefault: true}}
	config.PerAgent = slices.Clone(config.PerAgent)
	for i := range config.PerAgent {
		config.PerAgent[i].Limit = 0
	}
	return state, config.Limit(agent, llm, req.P1), agent, nil
}

// limitAgent is the agent of a request: the session's own, one that something is set
// for, or one of another session.
func (s *Session) limitAgent(v storage.View, asked string, config *limits.Config) (string, error) {
	body, _, _, err := latest[sessionRecord](v, kindSession, s.ID)
	if err != nil || asked == "" || asked == body.Agent || config.HasAgent(asked) {
		return either(asked, body.Agent), err
	}
	entries, err := v.List(listSessions, 0, v.ListLen(listSessions))
	if err != nil {
		return "", err
	}
	for _, entry := range entries {
		other, _, _, err := latest[sessionRecord](v, kindSession, entry.ID)
		if err != nil {
			return "", err
		}
		if other.Agent == asked {
			return asked, nil
		}
	}
	return "", &NotFoundError{Path: "agent", Message: "no session is of this agent, and nothing is set for it"}
}

// breaker returns what breaks contexts for the session's model.
func (s *Session) breaker(config limits.Config) *limits.Breaker {
	return &limits.Breaker{
		Config: config, Counter: s.Workspace.counter(s.Model()), Meaning: &nearness.Texts{Model: s.Workspace.engine.Model()},
	}
}

// Limits tells which limit is in force, without changing anything.
func (s *Session) Limits(req LimitsRequest) (out LimitsStatus, err error) {
	err = s.Workspace.view(0, func(v storage.View) error {
		out.Sequence = v.Seq()
		if out.Settings, out.Limit, out.Agent, err = s.limitsOf(v, req); err != nil {
			return err
		}
		out.Packs = out.Settings.Set
		out.Pressure, err = pressureOf(v, s.ID, s.Workspace.opts.Now())
		return err
	})
	if pack := s.newestPack(layers.LayoutStablePrefix); pack != nil {
		out.Used = pack.Used()
	}
	return out, err
}

// newestPack is the session's newest pack in a layout that this process has built,
// nil if there is none.
func (s *Session) newestPack(layout layers.Layout) *layers.Pack {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.last[layout]; last != nil {
		return last.pack
	}
	return nil
}

// Configure puts what the client sets about limits in the place of what it set
// before: a document that contextconfig.Read takes, nil for nothing.
func (s *Service) Configure(document []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.configuration = document
	for _, session := range s.sessions { // in any order
		session.context.SetClient(document)
	}
}

// Configuration is what the client sets about limits; nil for nothing.
func (s *Service) Configuration() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.configuration
}
