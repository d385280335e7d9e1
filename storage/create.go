package storage

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
)

// createData creates an empty store.db. bbolt's own creation is not safe
// against loss of power, so it happens under another name, and the name is only
// given to a file that is complete and on disk.
func createData(root *os.Root, maxBytes int64, random io.Reader) error {
	temp := dataFile + tempSuffix
	err := writeEmpty(root, temp, maxBytes, random)
	if err == nil {
		err = root.Rename(temp, dataFile)
	}
	if err == nil {
		err = syncDir(root, ".")
	}
	if err != nil {
		_ = root.Remove(temp) // the first error counts
		return fmt.Errorf("create store.db: %w", fromDisk(err))
	}
	return nil
}

func writeEmpty(root *os.Root, name string, maxBytes int64, random io.Reader) error {
	h, err := openHandle(root, name, boltOptions{maxBytes: maxBytes})
	if err != nil {
		return err
	}
	err = fillEmpty(h, random)
	if err == nil {
		err = h.file.Sync()
	}
	if closed := h.close(); err == nil {
		err = closed
	}
	return err
}

func fillEmpty(h *handle, random io.Reader) error {
	key, err := newRootKey(random)
	if err != nil {
		return err
	}
	tx, err := h.begin()
	if err != nil {
		return err
	}
	for b := range buckets {
		if _, err := tx.CreateBucket([]byte(b.String())); err != nil {
			_ = tx.Rollback()
			return err
		}
	}
	meta := tx.Bucket([]byte(bucketMeta.String()))
	for _, row := range []struct {
		name  string
		value []byte
	}{
		{metaSchema, schema{schemaFormat, schemaMinReader, schemaMinWriter}.encode()},
		{metaUUID, []byte(newUUID())},
		{metaState, state{}.encode()},
		{metaKey, key},
	} {
		name := []byte(row.name)
		if err := meta.Put(name, sealed(bucketMeta, name, row.value)); err != nil {
			_ = tx.Rollback()
			return err
		}
	}
	return tx.Commit()
}

// newUUID returns a random UUID (RFC 9562, version 4).
func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0F | 0x40
	b[8] = b[8]&0x3F | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// sweep removes what was being written when a process ended. The caller holds
// the lock, so nobody is writing now.
func sweep(root *os.Root) error {
	for _, name := range []string{dataFile + tempSuffix, manifestFile + tempSuffix, repairFile, path.Join(snapshotDir, "copy"+tempSuffix)} {
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove leftover: %w", err)
		}
	}
	if err := root.RemoveAll(blobTemp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove leftover: %w", err)
	}
	return nil
}
