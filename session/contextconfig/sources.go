package contextconfig

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"hexapla/layers/limits"
)

// Names of documents for people.
const (
	NameUser      = "hexapla.yaml"  // in the user's folder of settings
	NameWorkspace = ".hexapla.yaml" // in the root of a workspace
	NameClient    = "initializationOptions"
)

// Sources are the documents that a configuration is made of. They are safe for
// concurrent use.
type Sources struct {
	mu     sync.Mutex // guards what follows
	files  [2]file    // the user's, the workspace's
	client []byte
	tell   func(*Error)
	read   bool
	state  State
}

// State is what the documents say.
type State struct {
	Config limits.Config
	Set    bool // any of them says anything
	// From names the documents that count, in their order.
	From []string
	// Problems are of documents that do not count, or count as they were before.
	Problems []*Error
}

// file is a document on disk, as it was when it was looked at last.
type file struct {
	path, name string
	info       fs.FileInfo // nil for none
	failed     string      // why it could not be looked at
	data       []byte      // as it was last when it could be taken; nil for nothing
	problem    *Error
}

// NewSources returns the documents of a user's file and a workspace's, "" being
// none, and of what the client sets, in JSON or YAML; nil for nothing. What the
// client sets must have been read before. tell is told of problems as they come up;
// it may be nil.
func NewSources(user, workspace string, client []byte, tell func(*Error)) *Sources {
	return &Sources{files: [2]file{{path: user, name: NameUser}, {path: workspace, name: NameWorkspace}}, client: client, tell: tell}
}

// SetClient puts what the client sets in the place of what it set before.
func (s *Sources) SetClient(client []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client, s.read = client, false
}

// State returns what is set. Files that have changed are read again.
func (s *Sources) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := !s.read
	for i := range s.files {
		if !s.files[i].look() {
			continue
		}
		changed = true
		if problem := s.files[i].problem; problem != nil && s.tell != nil {
			s.tell(problem)
		}
	}
	if !changed {
		return s.state
	}
	s.read = true
	state := State{Config: limits.Default()}
	for i := range s.files {
		f := &s.files[i]
		if f.problem != nil {
			state.Problems = append(state.Problems, f.problem)
		}
		if f.data != nil {
			state.take(f.name, f.data)
		}
	}
	if s.client != nil {
		state.take(NameClient, s.client)
	}
	s.state = state
	return state
}

func (s *State) take(name string, data []byte) {
	config, err := Read(name, data, s.Config)
	if err != nil { // it was read alone before, so what is below has changed
		var bad *Error
		if errors.As(err, &bad) {
			s.Problems = append(s.Problems, bad)
		}
		return
	}
	s.Config, s.Set, s.From = config, true, append(s.From, name)
}

// look reads the file again if it is another than it was, and tells whether
// anything changed.
func (f *file) look() bool {
	if f.path == "" {
		return false
	}
	info, err := os.Lstat(f.path)
	if err != nil {
		why := ""
		if !errors.Is(err, fs.ErrNotExist) {
			why = "cannot be looked at"
		}
		if f.info == nil && f.failed == why {
			return false
		}
		f.info, f.failed, f.problem = nil, why, nil
		if why != "" {
			f.problem = &Error{File: f.name, Message: why}
			return true
		}
		f.data = nil // it was taken away, and so is what it said
		return true
	}
	if f.info != nil && os.SameFile(f.info, info) && f.info.ModTime().Equal(info.ModTime()) && f.info.Size() == info.Size() && f.info.Mode() == info.Mode() {
		return false
	}
	f.info, f.failed, f.problem = info, "", nil
	data, err := read(f.path, f.name, info)
	if err == nil {
		_, err = Read(f.name, data, limits.Default())
	}
	if err != nil {
		if !errors.As(err, &f.problem) {
			f.problem = &Error{File: f.name, Message: "cannot be read"}
		}
		return true
	}
	f.data = data
	if f.data == nil {
		f.data = []byte{}
	}
	return true
}

// read reads a file that was looked at. It is not followed, and nothing but a plain
// file is opened.
func read(path, name string, info fs.FileInfo) ([]byte, error) {
	if !info.Mode().IsRegular() {
		return nil, &Error{File: name, Message: "is no plain file"}
	}
	f, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("open settings: %w", err)
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil || !os.SameFile(info, now) || !now.Mode().IsRegular() {
		return nil, errors.New("open settings: it was exchanged meanwhile")
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	return data, nil
}
