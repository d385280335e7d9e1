package storage

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"io"
)

// keySize is the size of a store's root key, in bytes.
const keySize = sha256.Size

// Key returns the key of the store for a purpose: 32 bytes that stay the same as
// long as the store exists, and that tell nothing of the keys of other purposes.
// They are an HMAC of the purpose with the store's root key, which is made of
// random bytes when the store is, and never leaves it.
//
// A store of a program that made no root key gets one when it is first opened for
// writing. Until then, and where the disk is full, the key is of this open store
// alone.
func (s *Store) Key(purpose string) []byte {
	mac := hmac.New(sha256.New, s.rootKey)
	mac.Write([]byte(purpose))
	return mac.Sum(nil)
}

func newRootKey(random io.Reader) ([]byte, error) {
	key := make([]byte, keySize)
	if _, err := io.ReadFull(random, key); err != nil {
		return nil, fmt.Errorf("make the store's key: %w", err)
	}
	return key, nil
}

// settleKey takes the root key that the store has, or makes one. The store is not
// in use yet.
func (s *Store) settleKey(known []byte) error {
	if len(known) == keySize {
		s.rootKey = known
		return nil
	}
	key, err := newRootKey(s.opts.Random)
	if err != nil {
		return err
	}
	s.rootKey = key
	if s.opts.ReadOnly {
		return nil
	}
	if err := s.putKey(key); err != nil {
		s.opts.Logf("storage: the store's key could not be written, it is of this process alone: %v", fromDisk(err))
	}
	return nil
}

func (s *Store) putKey(key []byte) error {
	tx, err := s.handle.begin()
	if err != nil {
		return err
	}
	name := []byte(metaKey)
	if err := tx.Bucket([]byte(bucketMeta.String())).Put(name, sealed(bucketMeta, name, key)); err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}
