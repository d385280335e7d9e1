package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

const manifestFile = "manifest.json"

// manifest lies beside store.db and says that there was one. Without it an
// empty or foreign file in its place could not be told from a first start.
type manifest struct {
	Format    uint32 `json:"format"`    // schema that wrote it
	MinReader uint32 `json:"minReader"` // oldest schema whose programs may read the store
	StoreUUID string `json:"storeUUID"`
	CreatedAt string `json:"createdAt"` // RFC 3339, UTC; empty when it had to be written anew
	LastSeq   int64  `json:"lastSeq"`   // newest sequence when the store was last closed
}

// readManifest returns nil if there is none. One that cannot be read counts as
// there: the store existed.
func readManifest(root *os.Root) (*manifest, error) {
	text, err := root.ReadFile(manifestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	m := new(manifest)
	if json.Unmarshal(text, m) != nil {
		return new(manifest), nil
	}
	return m, nil
}

// writeManifest replaces the manifest as a whole.
func writeManifest(root *os.Root, m manifest) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = replaceFile(root, manifestFile, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	return nil
}

// replaceFile writes a file of the store's folder so that after a crash either
// the old or the new one is there, complete.
func replaceFile(root *os.Root, name string, data []byte) error {
	temp := name + tempSuffix
	if err := writeSynced(root, temp, data); err != nil {
		return err
	}
	if err := root.Rename(temp, name); err != nil {
		return err
	}
	return syncDir(root, ".")
}

// tempSuffix marks files that are not finished. They are removed at the next
// start.
const tempSuffix = ".new"

// writeSynced creates a file with the content on disk. It leaves no file behind
// when it fails.
func writeSynced(root *os.Root, name string, data []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = root.Remove(name) // the first error counts
	}
	return err
}
