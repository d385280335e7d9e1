package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hexapla/session/registry"
	"hexapla/storage"
)

// AdoptCandidate is a workspace that may have been a folder's.
type AdoptCandidate struct {
	Workspace string
	URI       string // the folder that it had
}

// openRegistry returns the registry of a data folder.
func openRegistry(dataDir string, now func() int64, logf func(string, ...any)) *registry.Registry {
	return registry.Open(registry.Options{Dir: dataDir, Now: now, Logf: logf, HasStore: func(id string) bool {
		_, err := os.Lstat(filepath.Join(dataDir, workspacesDir, id, "manifest.json"))
		return err == nil
	}})
}

// workspacesDir is the folder of the stores in the data folder.
const workspacesDir = "workspaces"

// nameOf is the URI that a workspace is known by.
func nameOf(e registry.Entry) string {
	if len(e.URIs) > 0 {
		return e.URIs[0]
	}
	return e.Was
}

func registryError(err error) error {
	if errors.Is(err, registry.ErrTooNew) {
		return fmt.Errorf("%w: %w", storage.ErrSchemaTooNew, err)
	}
	return err
}

// Adopt gives a folder the memory of a workspace whose own folder is not there any
// more. With the folder's own workspace it stays as it is, and no candidate is
// named for it again. It returns the workspace that the folder had; sessions that
// are open stay where they are.
func (s *Service) Adopt(ctx context.Context, uri, from string) (before string, err error) {
	switch {
	case uri == "" || len(uri) > maxURI:
		return "", invalid("workspace.uri", "must have 1 to %d bytes", maxURI)
	case strings.ContainsRune(uri, 0):
		return "", invalid("workspace.uri", "must not contain NUL")
	case !registry.IsID(from):
		return "", invalid("from", "must be the id of a workspace, 16 hex digits")
	}
	before, err = s.shared.places.Adopt(ctx, s.placeOf(uri), from)
	switch {
	case errors.Is(err, registry.ErrUnknown):
		return "", &NotFoundError{Path: "from", Message: "no such workspace"}
	case errors.Is(err, registry.ErrInUse):
		return "", invalid("from", "its own folder is still there")
	}
	return before, registryError(err)
}

// placeOf is what the registry is asked about a URI. It keeps URIs, so one that
// holds a secret is known by its workspace's id alone, and does not follow its
// folder.
func (s *Service) placeOf(uri string) registry.Place {
	place := folderOf(uri)
	if name := s.hide(place.URI); name != place.URI {
		return registry.Place{URI: name, ID: place.ID}
	}
	return place
}

// hide is the name by which the registry knows a canonical URI.
func (s *Service) hide(uri string) string {
	if uri == "" || len(s.foreign().Find(uri)) == 0 {
		return uri
	}
	return "secret:" + WorkspaceID(uri)
}

// LookupWorkspace returns the id of a folder's workspace in a data folder that
// nobody need have open. Nothing is written.
func LookupWorkspace(dataDir, uri string) (string, error) {
	found, err := readRegistry(dataDir).Find(folderOf(uri))
	return found.ID, err
}

// KnownWorkspace is a workspace of a data folder.
type KnownWorkspace struct {
	ID    string
	URI   string // its folder, or the one that it had
	Seen  int64  // Unix milliseconds of the last opening, to the day
	State registry.State
}

// KnownWorkspaces lists what the registry of a data folder has. Nothing is written.
func KnownWorkspaces(dataDir string) ([]KnownWorkspace, error) {
	list, err := readRegistry(dataDir).List()
	if err != nil {
		return nil, err
	}
	var known []KnownWorkspace
	for _, e := range list {
		known = append(known, KnownWorkspace{ID: e.ID, URI: nameOf(e.Entry), Seen: e.Seen, State: e.State})
	}
	return known, nil
}

func readRegistry(dataDir string) *registry.Registry {
	return openRegistry(dataDir, func() int64 { return time.Now().UnixMilli() }, func(string, ...any) {})
}
