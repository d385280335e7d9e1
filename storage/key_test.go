package storage_test

import (
	"bytes"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"hexapla/storage"
)

// TestY6_Key: a store has a key of its own that stays, for each purpose another,
// and one that was made by a program without keys gets one when it is opened for
// writing, not before.
func TestY6_Key(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func(random byte, readOnly bool) *storage.Store {
		t.Helper()
		s, err := storage.Open(t.Context(), storage.Options{Dir: dir, ReadOnly: readOnly, Random: bytes.NewReader(bytes.Repeat([]byte{random}, 64))})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	key := func(random byte, readOnly bool) []byte {
		t.Helper()
		s := open(random, readOnly)
		defer closeStore(t, s)
		key := s.Key("a")
		if len(key) != 32 || bytes.Equal(key, s.Key("b")) || !bytes.Equal(key, s.Key("a")) {
			t.Errorf("keys %x and %x", key, s.Key("b"))
		}
		return key
	}
	first := key(1, false)
	if again := key(2, false); !bytes.Equal(again, first) {
		t.Error("the key is another after a restart")
	}
	if read := key(3, true); !bytes.Equal(read, first) {
		t.Error("the key is another for reading")
	}
	file := filepath.Join(dir, "store.db")
	hasKey := func(remove bool) (has bool) {
		db, err := bolt.Open(file, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		err = db.Update(func(tx *bolt.Tx) error {
			meta := tx.Bucket([]byte("meta"))
			has = meta.Get([]byte("key")) != nil
			if remove {
				return meta.Delete([]byte("key"))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return has
	}
	if !hasKey(true) {
		t.Error("the store has no key")
	}
	key(4, true)
	if hasKey(false) {
		t.Error("a store that was opened for reading was changed")
	}
	if second := key(5, false); bytes.Equal(second, first) || !hasKey(false) || !bytes.Equal(second, key(6, false)) {
		t.Error("a store without a key does not get one that stays")
	}
}
