package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// folderFlags are the flags of commands that look into a folder's memory.
type folderFlags struct {
	workspace string
	session   string
}

func (f *folderFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.workspace, "workspace", "", "`folder` whose memory is asked (default: the current one)")
	cmd.Flags().StringVar(&f.session, "session", "", "`id` of a session (default: the newest)")
}

// errNoMemory says that nothing was recorded in a folder.
var errNoMemory = errors.New("nothing is recorded of this folder yet")

// withSession starts a server, finds a session of the workspace, the newest
// one unless the flags name another, and calls fn with it.
func withSession(cmd *cobra.Command, p program, f folderFlags, fn func(ctx context.Context, s *server, session string) error) error {
	return withSessionOf(cmd, p, f, nil, fn)
}

// withSessionOf is withSession with members of initializationOptions.
func withSessionOf(cmd *cobra.Command, p program, f folderFlags, options map[string]string, fn func(ctx context.Context, s *server, session string) error) (err error) {
	ctx := cmd.Context()
	dir, err := writableDataDir(cmd, p)
	if err != nil {
		return err
	}
	uri, err := folderURI(p, f.workspace)
	if err != nil {
		return err
	}
	s, err := startServerWith(ctx, p, dir, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop(ctx)) }()
	workspace := wire.Workspace{URI: uri}
	var list wire.SessionListResult
	switch err := s.Call(ctx, wire.MethodSessionList, wire.SessionListParams{Workspace: &workspace}, &list); {
	case rpc.IsKind(err, wire.KindNotFound), err == nil && len(list.Sessions) == 0:
		return fmt.Errorf("%s: %w", uri, errNoMemory)
	case err != nil:
		return explain(fmt.Errorf("list sessions: %w", err))
	}
	id := f.session
	if id == "" {
		id = newest(list.Sessions)
	} else if !has(list.Sessions, id) {
		return fmt.Errorf("no session %q in %s", id, uri)
	}
	// A session is opened to be asked; opening one that exists changes nothing.
	opened, err := s.openSession(ctx, wire.SessionOpenParams{Workspace: workspace, Session: id})
	if err != nil {
		return explain(err)
	}
	return explain(fn(ctx, s, opened.Session))
}

// newest returns the newest session in which something was said, else the
// newest.
func newest(sessions []wire.SessionInfo) string {
	for _, s := range sessions {
		if s.Conversations > 0 {
			return s.Session
		}
	}
	return sessions[0].Session
}

func has(sessions []wire.SessionInfo, id string) bool {
	for _, s := range sessions {
		if s.Session == id {
			return true
		}
	}
	return false
}

// folderURI returns the URI of a workspace folder; a URI stays as it is.
func folderURI(p program, folder string) (string, error) {
	if strings.Contains(folder, "://") || strings.HasPrefix(folder, "replay:") {
		return folder, nil
	}
	if folder == "" {
		dir, err := p.getwd()
		if err != nil {
			return "", fmt.Errorf("workspace: %w", err)
		}
		folder = dir
	}
	abs, err := filepath.Abs(folder)
	if err != nil {
		return "", fmt.Errorf("workspace: %w", err)
	}
	return fileURI(filepath.ToSlash(abs)), nil
}

// fileURI returns the file URI of an absolute path with forward slashes.
func fileURI(path string) string {
	if host, ok := strings.CutPrefix(path, "//"); ok { // a Windows share
		name, rest, _ := strings.Cut(host, "/")
		return (&url.URL{Scheme: "file", Host: name, Path: "/" + rest}).String()
	}
	if !strings.HasPrefix(path, "/") { // a Windows drive
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
