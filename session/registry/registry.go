package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"hexapla/internal/filelock"
)

// Errors that callers tell apart with errors.Is.
var (
	// ErrUnknown says that there is no workspace of an id.
	ErrUnknown = errors.New("no such workspace")
	// ErrInUse says that a workspace's own folder is still there.
	ErrInUse = errors.New("the workspace's own folder is there")
	// ErrTooNew says that a newer version wrote the file.
	ErrTooNew = errors.New("registry was written by a newer version")
)

const (
	fileName = "workspaces.json"
	lockName = "workspaces.lock"
	// format rises when an older program must not write the file any more.
	format = 1
	// maxFile bounds the file, in bytes. An entry takes some 300.
	maxFile = 64 << 20
	// patience bounds the wait for the lock, which is held for a millisecond.
	patience = 2 * time.Second
	lockPoll = 2 * time.Millisecond
)

// Options say where a registry lies.
type Options struct {
	Dir  string                           // the data folder; made when something is written
	Now  func() int64                     // Unix milliseconds
	Logf func(format string, args ...any) // never given a path or content
	// HasStore tells whether there is a store of an id.
	HasStore func(id string) bool
}

// Registry is the registry of a data folder. It holds nothing open and may be
// used from several goroutines and processes.
type Registry struct {
	opts Options
	mu   sync.Mutex // flock does not keep goroutines of one file apart
}

// Open returns the registry of a data folder. It reads nothing yet.
func Open(opts Options) *Registry { return &Registry{opts: opts} }

// Resolve finds the workspace of a place, and notes what it learned. That the
// file cannot be written is logged and is no error.
func (r *Registry) Resolve(ctx context.Context, p Place) (found Found, err error) {
	err = r.change(ctx, func(b *book) error {
		found = b.resolve(p, r.opts.Now())
		return nil
	})
	return found, err
}

// Find is Resolve without noting anything.
func (r *Registry) Find(p Place) (Found, error) {
	b, err := r.read(false)
	if err != nil {
		return Found{}, err
	}
	return b.resolve(p, r.opts.Now()), nil
}

// Adopt gives a place the workspace of an id, and returns the one it had. With the
// id that it has, nothing is asked any more. Errors: ErrUnknown, ErrInUse, and what
// keeps the file from being written.
func (r *Registry) Adopt(ctx context.Context, p Place, from string) (before string, err error) {
	var failed error
	err = r.change(ctx, func(b *book) error {
		before, failed = b.adopt(p, from, r.opts.Now())
		return failed
	})
	return before, err
}

// Drop forgets a workspace, which was erased.
func (r *Registry) Drop(ctx context.Context, id string) error {
	return r.change(ctx, func(b *book) error {
		b.Entries = slices.DeleteFunc(b.Entries, func(e *Entry) bool { return e.ID == id })
		for _, e := range b.Entries {
			if e.Asks == id {
				e.Asks, e.State = "", ""
			}
		}
		b.changed = true
		return nil
	})
}

// Rename gives URIs other names, as rename says; one whose name changes names
// nothing in the file system any more.
func (r *Registry) Rename(ctx context.Context, rename func(uri string) string) error {
	return r.change(ctx, func(b *book) error {
		for _, e := range b.Entries {
			for i, uri := range e.URIs {
				if name := rename(uri); name != uri {
					e.URIs[i], e.Paths[i], b.changed = name, "", true
				}
			}
			if name := rename(e.Was); name != e.Was {
				e.Was, b.changed = name, true
			}
		}
		return nil
	})
}

// Listed is a workspace in a list.
type Listed struct {
	Entry
	State State // Known or Gone
}

// List lists the workspaces, in the order in which they were made.
func (r *Registry) List() ([]Listed, error) {
	b, err := r.read(false)
	if err != nil {
		return nil, err
	}
	var all []Listed
	for _, e := range b.Entries {
		state := Known
		if e.Identity.known() && !e.there() || len(e.URIs) == 0 {
			state = Gone
		}
		all = append(all, Listed{*e, state})
	}
	return all, nil
}

// change runs fn on the book under the lock, and writes what it changed. A folder
// that cannot be written is read all the same.
func (r *Registry) change(ctx context.Context, fn func(*book) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	lock, err := r.lock(ctx)
	if lock != nil {
		defer lock.Close()
	}
	if err != nil && (ctx.Err() != nil || !denied(err)) {
		return fmt.Errorf("registry: %w", err)
	}
	b, readErr := r.read(err == nil)
	if readErr != nil {
		return readErr
	}
	if err := fn(b); err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	if !b.changed {
		return nil
	}
	if err == nil {
		err = r.write(b)
	}
	if err != nil {
		r.opts.Logf("workspaces: moves of folders will not be noticed: %v", bare(err))
	}
	return nil
}

// denied tells whether the folder may not be written to, or has no room.
func denied(err error) bool {
	return errors.Is(err, fs.ErrPermission) || bareIs(err, readOnlyErrors()...)
}

func bareIs(err error, targets ...error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// bare takes the path off an error.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}

func (r *Registry) lock(ctx context.Context) (*os.File, error) {
	if err := os.MkdirAll(r.opts.Dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(r.opts.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	poll := time.NewTicker(lockPoll)
	defer poll.Stop()
	for {
		ok, err := filelock.Try(f, false)
		if err == nil && ok {
			return f, nil
		}
		if err == nil {
			select {
			case <-poll.C:
				continue
			case <-ctx.Done():
				err = ctx.Err()
			case <-deadline.C:
				err = os.ErrDeadlineExceeded
			}
		}
		f.Close()
		return nil, err
	}
}

// read returns the book, an empty one where there is none. One that cannot be
// read as such is put aside by whoever has the lock.
func (r *Registry) read(locked bool) (*book, error) {
	b := &book{Format: format, hasStore: r.opts.HasStore}
	home, _ := look(r.opts.Dir)
	raw, err := r.load()
	if errors.Is(err, fs.ErrNotExist) {
		b.Home = home
		return b, nil
	}
	if err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	b.Format = 0 // unless it says so
	if err := json.Unmarshal(raw, b); err != nil || !b.sound() {
		r.opts.Logf("workspaces: the registry is damaged and is put aside; folders are found by their names")
		if aside := filepath.Join(r.opts.Dir, fileName); locked {
			_ = os.Rename(aside, aside+".damaged") // what cannot be moved cannot be replaced either
		}
		return &book{Format: format, Home: home, hasStore: r.opts.HasStore, changed: true}, nil
	}
	if b.Format > format {
		return nil, fmt.Errorf("registry: %w", ErrTooNew)
	}
	if b.Home.known() && home.known() && !b.Home.sameNode(home) {
		// A copy: of the folders that were noted none need be the same.
		for _, e := range b.Entries {
			e.Identity = Identity{}
		}
		b.changed = true
	}
	b.Home = home
	return b, nil
}

func (r *Registry) load() ([]byte, error) {
	root, err := os.OpenRoot(r.opts.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.Open(fileName)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// sound tells whether what was read can be a registry.
func (b *book) sound() bool {
	if b.Format < 1 {
		return false
	}
	for i, e := range b.Entries {
		if e == nil || !IsID(e.ID) || len(e.URIs) != len(e.Paths) || b.Format == format && slices.IndexFunc(b.Entries, func(o *Entry) bool { return o != nil && o.ID == e.ID }) != i {
			return false
		}
	}
	return true
}

// IsID tells whether a text has the form of a workspace's id: 16 hex digits.
func IsID(s string) bool {
	return len(s) == 16 && len(bytes.Trim([]byte(s), "0123456789abcdef")) == 0
}

// write replaces the file.
func (r *Registry) write(b *book) error {
	raw, err := json.MarshalIndent(b, "", " ")
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(r.opts.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	const temp = fileName + ".tmp"
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(raw, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = root.Rename(temp, fileName)
	}
	if err != nil {
		_ = root.Remove(temp) // the first error counts
		return err
	}
	if dir, err := root.Open("."); err == nil {
		_ = dir.Sync() // not on every system; the file is complete either way
		dir.Close()
	}
	return nil
}
