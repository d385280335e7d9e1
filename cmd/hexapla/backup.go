package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"hexapla/storage"
)

func newCompact(p program) *cobra.Command {
	var which storeFlags
	cmd := &cobra.Command{
		Use:   "compact",
		Short: "Give back the room that a store no longer needs",
		Long: `Compact writes a store anew, without the pages that are free, and removes stored
outputs that nothing refers to. A crash leaves the old store or the new one.`,
		Example: `  hexapla compact --all`,
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withStores(cmd, p, &which, false, func(ctx context.Context, id string, s *storage.Store) error {
				done, err := s.Compact(ctx)
				if err == nil {
					fmt.Fprintf(p.out, "%s: %d KiB, before %d KiB\n", id, done.After>>10, done.Before>>10)
				}
				return err
			})
		},
	}
	which.add(cmd)
	return cmd
}

// withStores opens each store that is meant and calls fn with it.
func withStores(cmd *cobra.Command, p program, which *storeFlags, readOnly bool, fn func(context.Context, string, *storage.Store) error) error {
	folders, err := which.stores(cmd, p)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		opts := folder.options(p)
		opts.ReadOnly = readOnly
		s, err := storage.Open(cmd.Context(), opts)
		if err == nil {
			err = errors.Join(fn(cmd.Context(), folder.id, s), s.Close())
		}
		if err != nil {
			return fmt.Errorf("%s: %w", folder.id, advise(err))
		}
	}
	return nil
}

func newBackup(p program) *cobra.Command {
	var which storeFlags
	cmd := &cobra.Command{
		Use:   "backup DIR",
		Short: "Copy stores to a folder, from which restore takes them",
		Long: `Backup writes a sound copy of each store and of its stored outputs to a folder.
What is there already and does not change is not copied again. Copying a store's
folder by other means while an editor has it open is not safe.`,
		Example: `  hexapla backup --all /media/disk/hexapla`,
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStores(cmd, p, &which, true, func(ctx context.Context, id string, s *storage.Store) error {
				to := filepath.Join(args[0], id)
				if err := s.BackupTo(ctx, to); err != nil {
					return err
				}
				fmt.Fprintf(p.out, "%s: sequence %d in %s\n", id, s.Seq(), to)
				return nil
			})
		},
	}
	which.add(cmd)
	return cmd
}

func newRestore(p program) *cobra.Command {
	var which storeFlags
	var from string
	cmd := &cobra.Command{
		Use:   "restore [SNAPSHOT]",
		Short: "Put an earlier copy of a store in its place",
		Long: `Restore puts a copy in the place of a store: the snapshot of a day, the newest
where none is named, or with --from one that backup made. The store that was
there is kept in the folder quarantine.`,
		Example: `  hexapla restore 2026-11-20.db
  hexapla restore --from /media/disk/hexapla`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if which.all || from != "" && len(args) > 0 {
				return usageError{errors.New("restore one store, from a snapshot or with --from")}
			}
			data, err := writableDataDir(cmd, p)
			if err != nil {
				return err
			}
			folder, err := which.one(data, p)
			if err != nil {
				return err
			}
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			if from != "" {
				if name, err = storage.FetchBackup(cmd.Context(), folder.options(p), filepath.Join(from, folder.id)); err != nil {
					return advise(fmt.Errorf("%s: %w", folder.id, err))
				}
			}
			done, err := storage.Repair(cmd.Context(), folder.options(p), storage.RepairOptions{Only: storage.RemedySnapshot, Snapshot: name, Apply: true})
			if err != nil {
				return advise(fmt.Errorf("%s: %w", folder.id, err))
			}
			fmt.Fprintf(p.out, "%s: restored at sequence %d; what was there is in %s\n", folder.id, done.Seq, done.Quarantine)
			return nil
		},
	}
	which.add(cmd)
	cmd.Flags().StringVar(&from, "from", "", "`folder` that backup wrote to")
	return cmd
}

func newExport(p program) *cobra.Command {
	var which storeFlags
	var file string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write everything that is recorded as JSON, a line for each record",
		Long: `Export writes all records of a store, every version of each, with the entries of
its audit log and its stored outputs, as lines of JSON. It is the way to another
program, or to an older version of this one.`,
		Example: `  hexapla export --output memory.jsonl
  hexapla export | jq -r 'select(.kind=="turn") | .body.text'`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			out := p.out
			if file != "" {
				f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
				if err != nil {
					return fmt.Errorf("export: %w", err)
				}
				defer func() { err = errors.Join(err, f.Close()) }()
				out = f
			}
			w := bufio.NewWriter(out)
			err = withStores(cmd, p, &which, true, func(ctx context.Context, id string, s *storage.Store) error {
				return export(ctx, w, id, s)
			})
			return errors.Join(err, w.Flush())
		},
	}
	which.add(cmd)
	cmd.Flags().StringVar(&file, "output", "", "new `file` to write (default: standard output)")
	return cmd
}

// exported is a line of an export.
type exported struct {
	Store   string          `json:"store"`
	Seq     int64           `json:"seq,omitempty"`
	Kind    string          `json:"kind"` // of a record; or "audit", "blob", "erased", "damaged"
	ID      string          `json:"id,omitempty"`
	Parent  string          `json:"parent,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`
	Text    string          `json:"text,omitempty"` // of a blob
	Content []byte          `json:"content,omitempty"`
	MIME    string          `json:"mime,omitempty"`
}

// export writes a store page by page, so that it holds no snapshot for long.
func export(ctx context.Context, w io.Writer, id string, s *storage.Store) error {
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	err := s.Scan(ctx, 0, s.Seq(), func(r storage.Record, _ []byte) error {
		line := exported{Store: id, Seq: r.Seq, Kind: r.Kind, ID: r.ID, Parent: r.Parent}
		switch {
		case r.Damaged:
			line.Kind = "damaged"
		case r.Erased():
			line.Kind = "erased"
		case json.Valid(r.Body):
			line.Body = r.Body
		default:
			line.Content = r.Body
		}
		return lines.Encode(line)
	})
	if err != nil {
		return err
	}
	snapshot, err := s.Snapshot()
	if err != nil {
		return err
	}
	blobs := snapshot.View().Blobs()
	snapshot.View().AuditRange(0, 0, func(entry int64, body []byte) bool {
		err = lines.Encode(exported{Store: id, Seq: entry, Kind: "audit", Body: body})
		return err == nil && ctx.Err() == nil
	})
	snapshot.Release()
	for _, ref := range blobs {
		if err != nil {
			break
		}
		line := exported{Store: id, Kind: "blob", ID: ref.SHA256, MIME: ref.MIME}
		data, _, readErr := s.ReadBlob(ctx, ref.SHA256, 0, -1)
		switch {
		case errors.Is(readErr, storage.ErrBlobDamaged):
			line.Kind = "damaged"
		case readErr != nil:
			return readErr
		case utf8.Valid(data):
			line.Text = string(data)
		default:
			line.Content = data
		}
		err = lines.Encode(line)
	}
	return errors.Join(err, ctx.Err())
}
