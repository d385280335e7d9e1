package main

import (
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"
)

// dataDir returns the folder of the stores: the flag, else HEXAPLA_DATA_DIR,
// else the user's data folder by the convention of the operating system
// (XDG Base Directory on Unix, Application Support on macOS, local AppData on
// Windows).
func dataDir(cmd *cobra.Command, p program) (string, error) {
	dir, err := cmd.Flags().GetString("data-dir")
	if err != nil {
		return "", err
	}
	if dir == "" {
		dir = p.getenv("HEXAPLA_DATA_DIR")
	}
	if dir == "" {
		return userDataDir(runtime.GOOS, p)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", fmt.Errorf("data folder: %w", err)
	}
	return dir, nil
}

// writableDataDir is dataDir for commands that write: the folder is made ready, or
// refused.
func writableDataDir(cmd *cobra.Command, p program) (string, error) {
	dir, err := dataDir(cmd, p)
	if err != nil {
		return "", err
	}
	force, err := cmd.Flags().GetBool(forceFlag)
	if err != nil {
		return "", err
	}
	return dir, claimData(dir, force)
}

// userDataDir returns the default data folder on an operating system.
func userDataDir(goos string, p program) (string, error) {
	if goos == "windows" {
		if local := p.getenv("LocalAppData"); local != "" {
			return filepath.Join(local, "hexapla"), nil
		}
	}
	// XDG: a relative value is invalid and must be ignored.
	if xdg := p.getenv("XDG_DATA_HOME"); goos != "windows" && goos != "darwin" && filepath.IsAbs(xdg) {
		return filepath.Join(xdg, "hexapla"), nil
	}
	home, err := p.home()
	if err != nil {
		return "", fmt.Errorf("data folder: %w; name one with --data-dir", err)
	}
	switch goos {
	case "windows":
		return filepath.Join(home, "AppData", "Local", "hexapla"), nil
	case "darwin":
		return filepath.Join(home, "Library", "Application Support", "hexapla"), nil
	}
	return filepath.Join(home, ".local", "share", "hexapla"), nil
}
