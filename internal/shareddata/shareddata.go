// Package shareddata finds the folder of recorded sessions and evaluation sets
// that lies beside the repository. It never writes to it. Only tests and
// benchmarks use it.
package shareddata

import (
	"os"
	"path/filepath"
	"testing"
)

// Dir returns the data folder's path. Where the folder is absent it skips the
// test, except when CI=true, where it fails it.
func Dir(t testing.TB) string {
	t.Helper()
	dir, ok := find()
	if ok {
		return dir
	}
	const message = "recorded sessions are not here: no folder shared/data beside the repository"
	if os.Getenv("CI") == "true" {
		t.Fatal(message)
	}
	t.Skip(message)
	return ""
}

func find() (string, bool) {
	dir, err := os.Getwd()
	if err != nil {
		return "", false
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			data := filepath.Join(filepath.Dir(dir), "shared", "data")
			info, err := os.Stat(data)
			return data, err == nil && info.IsDir()
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}
