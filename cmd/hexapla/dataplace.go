package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// forceFlag lets a data folder lie where it should not.
const forceFlag = "force-data-dir"

// dataNames are what a data folder has in it.
var dataNames = []string{"workspaces", "workspaces.json", "workspaces.json.damaged", "workspaces.json.tmp", "workspaces.lock", "daemon", ".gitignore"}

// claimData prepares a data folder for a process that will write to it: it is
// refused where its content would be published, synchronised, damaged or in the
// hands of another user, unless that is forced, and others get no rights to it.
func claimData(dir string, force bool) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil // it may be there for reading alone, which opening will tell
	}
	why := ownedByUs(dir)
	if why == "" {
		why = unfit(dir)
	}
	if why != "" && !force {
		return fmt.Errorf("data folder: it %s; name another with --data-dir, or say --%s", why, forceFlag)
	}
	if repositoryOf(dir) != "" {
		if err := ignoreAll(dir); err != nil {
			return fmt.Errorf("data folder: %w", err)
		}
	}
	narrowData(dir)
	return nil
}

// unfit says what is wrong with where a data folder lies; "" if nothing is.
func unfit(dir string) string {
	if all := troubles(dir); len(all) > 0 {
		return all[0]
	}
	return ""
}

// troubles are all things that are wrong with where a data folder lies.
func troubles(dir string) (all []string) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		real = dir
	}
	for _, path := range []string{dir, real} {
		if repositoryOf(path) != "" {
			all = append(all, "lies in a repository, where it could be published")
		}
		if service := syncedBy(path); service != "" {
			all = append(all, "lies in a folder that "+service+" synchronises, which damages open stores and copies what is said in them")
		}
	}
	if kind := networkOf(real); kind != "" {
		all = append(all, "lies on a network file system ("+kind+"), where stores are damaged")
	}
	return all
}

// repositoryOf returns the root of the repository that a folder is in; "" if it is
// in none.
func repositoryOf(dir string) string {
	for {
		for _, name := range []string{".git", ".hg", ".jj", ".svn"} {
			if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
				return dir
			}
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// syncedBy names the service that synchronises a folder, by the names that these
// give their folders and the marks that they leave there.
func syncedBy(dir string) string {
	for {
		base := filepath.Base(dir)
		for _, s := range []struct{ folder, mark, service string }{
			{"Dropbox", ".dropbox", "Dropbox"},
			{"OneDrive", "", "OneDrive"},
			{"Mobile Documents", "", "iCloud"},
			{"iCloudDrive", "", "iCloud"},
			{"iCloud Drive", "", "iCloud"},
			{"CloudStorage", "", "a cloud service"},
			{"Google Drive", "", "Google Drive"},
			{"Nextcloud", "", "Nextcloud"},
			{"pCloudDrive", "", "pCloud"},
			{"Syncthing", ".stfolder", "Syncthing"},
		} {
			if base == s.folder || s.folder == "OneDrive" && strings.HasPrefix(base, "OneDrive - ") {
				return s.service
			}
			if s.mark != "" {
				if _, err := os.Lstat(filepath.Join(dir, s.mark)); err == nil {
					return s.service
				}
			}
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// ignoreAll keeps a data folder out of the repository that it lies in.
func ignoreAll(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, ".gitignore"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString("*\n")
	return errors.Join(err, f.Close())
}

// narrowData takes from others the rights to a data folder and what lies directly
// in it. A folder that has other things in it stays as it is.
func narrowData(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !slices.Contains(dataNames, e.Name()) }) {
		return
	}
	narrow := func(path string) {
		info, err := os.Lstat(path)
		if err == nil && info.Mode()&os.ModeSymlink == 0 && info.Mode().Perm()&0o077 != 0 {
			_ = os.Chmod(path, info.Mode().Perm()&^0o077) // what cannot be narrowed is somebody else's
		}
	}
	narrow(dir)
	for _, e := range entries {
		narrow(filepath.Join(dir, e.Name()))
	}
	if logs, err := os.ReadDir(filepath.Join(dir, "daemon")); err == nil {
		for _, e := range logs {
			narrow(filepath.Join(dir, "daemon", e.Name()))
		}
	}
}
