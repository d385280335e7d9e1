package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"hexapla/session"
	"hexapla/storage"
)

// storeFlags choose the stores that a command works on.
type storeFlags struct {
	workspace string
	all       bool
}

func (f *storeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.workspace, "workspace", "", "`folder` whose store is meant (default: the current one)")
	cmd.Flags().BoolVar(&f.all, "all", false, "all stores of the data folder")
}

// storeFolder is the folder of one store.
type storeFolder struct{ id, dir string }

// lockPatience is how long a command waits for a store that is in use.
const lockPatience = 300 * time.Millisecond

func (f storeFolder) options(p program) storage.Options {
	return storage.Options{Dir: f.dir, Timeout: lockPatience, Logf: func(format string, args ...any) { fmt.Fprintf(p.errs, "hexapla: "+format+"\n", args...) }}
}

// stores lists the stores that are meant, in the order of their ids.
func (f *storeFlags) stores(cmd *cobra.Command, p program) ([]storeFolder, error) {
	data, err := dataDir(cmd, p)
	if err != nil {
		return nil, err
	}
	base := filepath.Join(data, "workspaces")
	if !f.all {
		one, err := f.one(data, p)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(one.dir); errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%w; --all means every folder", errNoMemory)
		}
		return []storeFolder{one}, nil
	}
	entries, err := os.ReadDir(base)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("list stores: %w", err)
	}
	var found []storeFolder
	for _, entry := range entries {
		if entry.IsDir() {
			found = append(found, storeFolder{entry.Name(), filepath.Join(base, entry.Name())})
		}
	}
	return found, nil
}

// one is the store of the folder that is named, or of the current one.
func (f *storeFlags) one(data string, p program) (storeFolder, error) {
	uri, err := folderURI(p, f.workspace)
	if err != nil {
		return storeFolder{}, err
	}
	id, err := session.LookupWorkspace(data, uri)
	return storeFolder{id, filepath.Join(data, "workspaces", id)}, err
}

// advise adds to an error of a store what a person can do about it.
func advise(err error) error {
	var locked *storage.LockedError
	switch {
	case errors.As(err, &locked) && locked.PID > 0:
		return fmt.Errorf("%w; an editor has it open: close it there, or end process %d", err, locked.PID)
	case errors.Is(err, storage.ErrLocked):
		return fmt.Errorf("%w; close the editor that has it open", err)
	case errors.Is(err, storage.ErrCorrupt):
		return fmt.Errorf("%w; see hexapla repair --dry-run", err)
	}
	return err
}
