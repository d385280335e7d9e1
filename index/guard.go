package index

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// quarantine moves the folder "live" aside, in place of what lay there before.
func (ix *Index) quarantine() error {
	aside := filepath.Join(ix.options.Dir, "quarantine")
	if err := os.RemoveAll(aside); err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	if err := os.Rename(ix.live(), aside); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("quarantine: %w", err)
	}
	return nil
}

// Layout of a bbolt meta page: a 16-byte page header, then magic, version, page
// size and flags (4 bytes each), root bucket (16), free list (8), number of
// pages (8), transaction (8), and an FNV-1a sum of those 56 bytes, in the byte
// order of the machine.
const (
	boltMagic   = 0xED0CDAED
	boltHeader  = 16
	boltSummed  = 56
	minBoltPage = 1 << 9
	maxBoltPage = 1 << 16
)

// guardRoot looks at root.bolt before it is mapped into memory: an empty or cut
// file would end the process with a fault that cannot be recovered. It tells
// whether there is no index yet.
func guardRoot(path string) (fresh bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		entries, err := os.ReadDir(filepath.Dir(path))
		if errors.Is(err, os.ErrNotExist) || (err == nil && len(entries) == 0) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		return false, fmt.Errorf("root.bolt is missing: %w", ErrDamaged)
	}
	if errors.Is(err, syscall.ENOTDIR) {
		return false, fmt.Errorf("its folder is a file: %w", ErrDamaged)
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	page := make([]byte, boltHeader+boltSummed+8)
	// The second meta page lies one page in; its size is only known from a meta
	// page, so all sizes are tried if the first is bad.
	for at := int64(0); at <= maxBoltPage; at = max(2*at, minBoltPage) {
		if _, err := f.ReadAt(page, at); err != nil {
			break
		}
		m := page[boltHeader:]
		sum := fnv.New64a()
		sum.Write(m[:boltSummed])
		if binary.NativeEndian.Uint32(m) != boltMagic || binary.NativeEndian.Uint64(m[boltSummed:]) != sum.Sum64() {
			continue
		}
		size, pages := int64(binary.NativeEndian.Uint32(m[8:])), binary.NativeEndian.Uint64(m[40:])
		if size < minBoltPage || pages > uint64(info.Size()/size) {
			return false, fmt.Errorf("root.bolt is cut: %w", ErrDamaged)
		}
		return false, nil
	}
	return false, fmt.Errorf("root.bolt has no meta page: %w", ErrDamaged)
}

// verify checks that an opened index belongs to the store, has the mapping of
// this program, holds as many documents as were applied, and that each of its
// segment files has the sum that it ends with. It sets watermark and docs.
func (ix *Index) verify(ctx context.Context) error {
	return guarded("verify", func() error {
		reader, err := ix.engine.Reader()
		if err != nil {
			return err
		}
		defer reader.Close()
		value := func(key string) []byte {
			v, getErr := reader.GetInternal([]byte(key))
			err = errors.Join(err, getErr)
			return v
		}
		mapping, store := string(value(keyMapping)), string(value(keyStore))
		watermark, okWatermark := readInt(value(keyWatermark))
		docs, okDocs := readInt(value(keyDocs))
		switch {
		case err != nil:
			return err
		case mapping != mappingVersion:
			return fmt.Errorf("mapping is not %s: %w", mappingVersion, ErrDamaged)
		case store != ix.options.StoreUUID:
			return fmt.Errorf("it belongs to another store: %w", ErrDamaged)
		case !okWatermark || !okDocs:
			return fmt.Errorf("it has no watermark: %w", ErrDamaged)
		}
		n, err := reader.DocCount()
		if err != nil {
			return err
		}
		if int64(n) != docs {
			return fmt.Errorf("%d documents where %d were written: %w", n, docs, ErrDamaged)
		}
		snapshot, ok := reader.(*scorch.IndexSnapshot)
		if !ok {
			return fmt.Errorf("unknown reader: %w", ErrDamaged)
		}
		for _, s := range snapshot.Segments() {
			if err := ctx.Err(); err != nil {
				return err
			}
			if file, ok := s.Segment().(segment.PersistedSegment); ok {
				if err := verifySum(file.Path()); err != nil {
					return err
				}
			}
		}
		ix.watermark.Store(watermark)
		ix.written.Store(watermark)
		ix.docs = docs
		return nil
	})
}

// verifySum checks the CRC-32 that a segment file ends with. Scorch does not,
// and serves wrong postings from a file with a flipped bit.
func verifySum(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() < 4 {
		return fmt.Errorf("segment is cut: %w", ErrDamaged)
	}
	sum := crc32.NewIEEE()
	if _, err := io.CopyBuffer(sum, io.LimitReader(f, info.Size()-4), make([]byte, 256<<10)); err != nil {
		return err
	}
	var last [4]byte
	if _, err := io.ReadFull(f, last[:]); err != nil {
		return err
	}
	if binary.BigEndian.Uint32(last[:]) != sum.Sum32() {
		return fmt.Errorf("segment does not match its sum: %w", ErrDamaged)
	}
	return nil
}
