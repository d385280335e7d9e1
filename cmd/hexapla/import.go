package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"hexapla/layers"
	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// importReport is what was taken over from one file.
type importReport struct {
	File          string   `json:"file"`
	Format        string   `json:"format"`
	Sessions      []string `json:"sessions"`
	Conversations int      `json:"conversations"` // opened
	Turns         int      `json:"turns"`         // taken over
	Known         int      `json:"known"`         // turns that an earlier import had taken over
	// LeftOut names what was not taken over, and why.
	LeftOut []string `json:"leftOut"`
	// Scrubbed is secrets and personal data that were replaced, by family.
	Scrubbed map[string]int `json:"scrubbed,omitempty"`
	Error    string         `json:"error,omitempty"`
}

func newImport(p program) *cobra.Command {
	var workspace string
	var dry, asJSON bool
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Take recorded sessions, or a shared memory, into a folder's memory",
		Long: `Import takes files into the memory of a folder: sessions that another client
recorded (Claude Code JSONL, SpecStory Markdown, also as .gz), and what share
wrote. - stands for standard input.

Each session of a file becomes one of the folder. What was imported before is not
taken twice, so that a file that has grown, or an import that was interrupted, can
be imported again. Secrets are replaced on the way in. The words of the user in a
shared memory are another person's: they are trusted no more than a model's, and
no new session begins with that memory's layer 0.`,
		Example: `  hexapla import ~/.claude/projects/-home-me-src-brewlog/*.jsonl
  hexapla import --workspace ~/src/brewlog brewlog.jsonl
  hexapla import --dry-run *.jsonl`,
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, files []string) error {
			return runImport(cmd, p, workspace, files, dry, asJSON)
		},
	}
	cmd.Flags().StringVar(&workspace, "workspace", "", "`folder` whose memory takes them (default: the current one)")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only read the files and tell what is in them")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object for each file")
	return cmd
}

func runImport(cmd *cobra.Command, p program, workspace string, files []string, dry, asJSON bool) (err error) {
	ctx := cmd.Context()
	uri, err := folderURI(p, workspace)
	if err != nil {
		return err
	}
	to := importer{uri: uri, progress: newProgress(p)}
	if !dry {
		dir, err := writableDataDir(cmd, p)
		if err != nil {
			return err
		}
		if to.server, err = startServerWith(ctx, p, dir, nil); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, to.server.stop(ctx)) }()
		var list wire.SessionListResult
		err = to.server.Call(ctx, wire.MethodSessionList, wire.SessionListParams{Workspace: &wire.Workspace{URI: uri}}, &list)
		if err != nil && !rpc.IsKind(err, wire.KindNotFound) {
			return explain(err)
		}
		to.store = list.Store
	}
	failed := false
	for _, file := range files {
		report := to.file(ctx, p, file)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%s: %w; import it again to go on", file, err)
		}
		failed = failed || report.Error != ""
		if err := report.print(p, dry, asJSON); err != nil {
			return err
		}
	}
	if failed {
		return exitError{exitFailure}
	}
	return nil
}

func (r *importReport) print(p program, dry, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(p.out).Encode(r)
	}
	if r.Error != "" {
		fmt.Fprintf(p.errs, "hexapla: %s\n", r.Error)
	}
	if r.Format == "" {
		return nil
	}
	what := fmt.Sprintf("%d conversations with %d turns", r.Conversations, r.Turns)
	switch {
	case dry:
		what += " to import"
	case r.Known > 0:
		what += fmt.Sprintf(" imported, %d turns were there", r.Known)
	default:
		what += " imported"
	}
	if _, err := fmt.Fprintf(p.out, "%s: %s\n", r.File, what); err != nil {
		return err
	}
	for _, line := range r.LeftOut {
		fmt.Fprintf(p.errs, "  left out: %s\n", line)
	}
	return nil
}

// importer records what files hold in one workspace.
type importer struct {
	server   *server // nil in a dry run
	uri      string
	store    string // identity of the workspace's, "" where it has none yet
	progress *progress
}

// file takes one file over.
func (im *importer) file(ctx context.Context, p program, name string) (report importReport) {
	report = importReport{File: name, Sessions: []string{}, LeftOut: []string{}}
	defer im.progress.clear()
	var in io.ReadCloser = io.NopCloser(p.in)
	if name != "-" {
		opened, err := openTranscript(name)
		if err != nil {
			report.Error = err.Error()
			return report
		}
		in = opened
	}
	defer in.Close()
	report.File = filepath.Base(name)
	take := &taking{importer: im, ctx: ctx, report: &report}
	if err := take.all(name, in); err != nil {
		report.Error = explain(err).Error()
	}
	return report
}

// taking is one file on its way into a workspace.
type taking struct {
	*importer
	ctx    context.Context
	report *importReport
	before int64 // the workspace's sequence before the import
}

// open opens a session of the file.
func (t *taking) open(params wire.SessionOpenParams) error {
	t.report.Sessions = append(t.report.Sessions, params.Session)
	if t.server == nil {
		return nil
	}
	params.Workspace = wire.Workspace{URI: t.uri}
	opened, err := t.server.openSession(t.ctx, params)
	if err == nil && len(t.report.Sessions) == 1 {
		t.before = opened.Sequence
	}
	return err
}

// record records what one line or message of the file says.
func (t *taking) record(params wire.ConversationRecordParams) (conversation string, err error) {
	if n := len(t.report.LeftOut); t.report.Turns%50 == 0 {
		t.progress.show("%s: %d turns, %d left out", t.report.File, t.report.Turns, n)
	}
	if t.server == nil {
		t.report.Turns += len(params.Turns)
		if len(params.Turns) > 0 && opens(params) {
			t.report.Conversations++
		}
		return params.Conversation, nil
	}
	var receipt wire.ConversationRecordResult
	if err := t.server.Call(t.ctx, wire.MethodConversationRecord, params, &receipt); err != nil {
		return "", err
	}
	for family, n := range receipt.Scrubbed {
		if t.report.Scrubbed == nil {
			t.report.Scrubbed = map[string]int{}
		}
		t.report.Scrubbed[family] += n
	}
	switch {
	case receipt.Sequence <= t.before:
		t.report.Known += len(params.Turns)
	default:
		t.report.Turns += len(params.Turns)
		if receipt.Opened {
			t.report.Conversations++
		}
	}
	return receipt.Conversation, nil
}

// opens tells that a request opens a conversation.
func opens(params wire.ConversationRecordParams) bool {
	return params.Conversation == "" && params.Turns[0].Kind == string(layers.InputUserQuery)
}

// forgottenOrChanged tells that something of an earlier import is not what it was:
// it was forgotten since, or the file says something else now.
func forgottenOrChanged(err error) (string, bool) {
	switch {
	case rpc.IsKind(err, wire.KindForgotten):
		return "it was forgotten here", true
	case rpc.IsKind(err, wire.KindOpIDReused):
		return "it was imported before and has changed since", true
	}
	return "", false
}

// shortID makes an id of what may be too long, or hold what ids must not.
func shortID(prefix, name string) string {
	if id := prefix + ":" + name; len(id) <= 120 && plainID(name) {
		return id
	}
	sum := sha256.Sum256([]byte(name))
	return prefix + ":" + hex.EncodeToString(sum[:8])
}

// plainID tells that a name can stand in a session's id.
func plainID(name string) bool {
	for _, r := range name {
		if r <= ' ' || r == '/' || r == '#' || r >= 0x7f {
			return false
		}
	}
	return name != ""
}
