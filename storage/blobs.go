package storage

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime/debug"

	"hexapla/layers"
)

const (
	blobDir  = "blobs"
	blobTemp = "blobs/tmp" // what is being written; no folder of blobs has three letters

	// inlineBlob is the size in bytes up to which a blob lies in store.db.
	inlineBlob = 4 << 10
	// MaxBlob bounds one blob, in bytes.
	MaxBlob = 256 << 20
)

// StagedBlob is a blob that is ready to be added to the store by Tx.AddBlob.
type StagedBlob struct {
	Ref layers.BlobRef
	// Existed says that the store had the blob already when it was staged.
	Existed bool
	data    []byte // content of a small blob
}

// StageBlob makes content ready for Tx.AddBlob. Content of more than 4 KiB is on
// disk, beside store.db and under its SHA-256, when StageBlob returns; less is
// kept in memory and gets into store.db with the write. Content that the store
// has, but damaged or missing, is healed. A blob has the MIME type that it was
// first added with. Errors: ErrTooLarge, ErrFull, ErrReadOnly, ErrClosed, ctx's
// error, or what the disk says.
func (s *Store) StageBlob(ctx context.Context, data []byte, mime string) (StagedBlob, error) {
	blob, err := s.stageBlob(ctx, data, mime)
	if err != nil {
		return StagedBlob{}, fmt.Errorf("stage blob: %w", fromDisk(err))
	}
	return blob, nil
}

func (s *Store) stageBlob(ctx context.Context, data []byte, mime string) (StagedBlob, error) {
	if err := ctx.Err(); err != nil {
		return StagedBlob{}, err
	}
	if err := s.ReadOnly(); err != nil {
		return StagedBlob{}, err
	}
	if len(data) > MaxBlob || len(mime) > MaxName {
		return StagedBlob{}, ErrTooLarge
	}
	staged := *newStaged(data, mime)
	sha := staged.Ref.SHA256
	staged.data = nil
	known, _, err := s.lookUpBlob(sha)
	switch {
	case err == nil:
		staged.Existed = true
		staged.Ref.MIME = known.MIME
	case !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrBlobDamaged):
		return StagedBlob{}, err
	}
	if len(data) <= inlineBlob {
		staged.data = bytes.Clone(data)
		return staged, nil
	}
	if _, err := s.hold(); err != nil {
		return StagedBlob{}, err
	}
	defer s.release()
	name := blobPath(sha)
	s.staged.add(sha)
	if sameContent(s.root, name, data) {
		if staged.Existed {
			return staged, nil
		}
		// It may have been left by a process that was killed before its syncs.
		return staged, syncFile(s.root, name)
	}
	return staged, s.writeBlob(ctx, name, data)
}

// newStaged names content that aliases data.
func newStaged(data []byte, mime string) *StagedBlob {
	hash := sha256.Sum256(data)
	return &StagedBlob{Ref: layers.BlobRef{SHA256: hex.EncodeToString(hash[:]), Size: int64(len(data)), MIME: mime}, data: data}
}

// blobPath is where a blob lies; sha is 64 hexadecimal digits.
func blobPath(sha string) string { return path.Join(blobDir, sha[:2], sha) }

// writeBlob puts a blob in its place, as a whole or not at all, and on disk.
func (s *Store) writeBlob(ctx context.Context, name string, data []byte) error {
	folder := path.Dir(name)
	if err := s.makeFolders(folder); err != nil {
		return err
	}
	temp := path.Join(blobTemp, rand.Text())
	if err := writeSynced(s.root, temp, data); err != nil {
		return err
	}
	err := ctx.Err()
	if err == nil {
		err = s.root.Rename(temp, name)
	}
	if err != nil {
		_ = s.root.Remove(temp) // the first error counts
		return err
	}
	return syncDir(s.root, folder)
}

// makeFolders makes the folder of a blob and the one for temporary files.
func (s *Store) makeFolders(folder string) error {
	for _, name := range []string{blobTemp, folder} {
		if _, err := s.root.Stat(name); err == nil {
			continue
		}
		if err := s.root.MkdirAll(name, 0o700); err != nil {
			return err
		}
	}
	if err := syncDir(s.root, blobDir); err != nil {
		return err
	}
	return syncDir(s.root, ".")
}

// syncFile makes a file and its name durable.
func syncFile(root *os.Root, name string) error {
	f, err := root.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	err = f.Sync()
	if closed := f.Close(); err == nil {
		err = closed
	}
	for err == nil && name != "." {
		name = path.Dir(name)
		err = syncDir(root, name)
	}
	return err
}

// sameContent tells whether a file has exactly this content.
func sameContent(root *os.Root, name string, data []byte) bool {
	f, err := root.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := f.Read(buf)
		if n > len(data) || !bytes.Equal(buf[:n], data[:n]) {
			return false
		}
		data = data[n:]
		if err != nil {
			return err == io.EOF && len(data) == 0
		}
	}
}

// hasBlobs tells whether there are blobs beside a store.db that is missing.
func hasBlobs(root *os.Root) (bool, error) {
	dir, err := root.Open(blobDir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(1)
	if err == io.EOF {
		err = nil
	}
	return len(names) > 0, err
}

// ReadBlob returns the bytes [off, off+n) of a blob, fewer at its end, and what
// the blob is; a negative n means all the rest. The whole blob is read and
// checked each time. Errors: ErrNotFound, ErrBlobDamaged when the content is
// missing or is not what was added, ErrClosed, ctx's error.
func (s *Store) ReadBlob(ctx context.Context, sha string, off, n int64) ([]byte, layers.BlobRef, error) {
	data, ref, err := s.readBlob(ctx, sha, off, n)
	if err != nil {
		return nil, layers.BlobRef{}, fmt.Errorf("read blob %.12s: %w", sha, err)
	}
	return data, ref, nil
}

func (s *Store) readBlob(ctx context.Context, sha string, off, n int64) ([]byte, layers.BlobRef, error) {
	if off < 0 {
		return nil, layers.BlobRef{}, errors.New("offset is negative")
	}
	ref, inline, err := s.lookUpBlob(sha)
	if err != nil {
		return nil, ref, err
	}
	if _, err := s.hold(); err != nil {
		return nil, ref, err
	}
	defer s.release()
	off = min(off, ref.Size)
	end := ref.Size
	if n >= 0 && n < end-off {
		end = off + n
	}
	var content io.Reader = bytes.NewReader(inline)
	if inline == nil {
		f, err := s.root.Open(blobPath(sha))
		if isDenied(err) {
			return nil, ref, err
		}
		if err != nil {
			return nil, ref, fmt.Errorf("%w: %w", ErrBlobDamaged, err)
		}
		defer f.Close()
		content = f
	}
	data, err := readChecked(ctx, content, sha, ref.Size, off, end)
	return data, ref, err
}

// readChecked reads content of a size to its end and returns the part
// [off, end), if the whole has the hash.
func readChecked(ctx context.Context, content io.Reader, sha string, size, off, end int64) ([]byte, error) {
	hash := sha256.New()
	data := make([]byte, 0, end-off)
	buf := make([]byte, min(size+1, 256<<10))
	at := int64(0)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := content.Read(buf)
		hash.Write(buf[:n])
		if from, to := max(off, at), min(end, at+int64(n)); from < to {
			data = append(data, buf[from-at:to-at]...)
		}
		at += int64(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBlobDamaged, err)
		}
		if at > size {
			return nil, fmt.Errorf("%w: it is longer than %d bytes", ErrBlobDamaged, size)
		}
	}
	if at != size || hex.EncodeToString(hash.Sum(nil)) != sha {
		return nil, fmt.Errorf("%w: checksum differs", ErrBlobDamaged)
	}
	return data, nil
}

// blobKey is a blob's key; false for what is no SHA-256 in lower-case hex.
func blobKey(sha string) ([]byte, bool) {
	key, err := hex.DecodeString(sha)
	return key, err == nil && len(key) == sha256.Size && hex.EncodeToString(key) == sha
}

// lookUpBlob reads what the store knows of a blob, in a snapshot of its own.
func (s *Store) lookUpBlob(sha string) (layers.BlobRef, []byte, error) {
	snapshot, err := s.Snapshot()
	if err != nil {
		return layers.BlobRef{}, nil, err
	}
	defer snapshot.Release()
	return snapshot.r.blob(sha)
}

// blob reads what the store knows of a blob. inline is the content of a small
// one, nil if it lies in a file.
func (r *reader) blob(sha string) (ref layers.BlobRef, inline []byte, err error) {
	defer r.exit(debug.SetPanicOnFault(true), &err)
	key, ok := blobKey(sha)
	if !ok {
		return ref, nil, ErrNotFound
	}
	value := r.bucket(bucketBlobs).Get(key)
	if value == nil {
		return ref, nil, ErrNotFound
	}
	return openBlob(key, value)
}

func (r *reader) hasBlob(sha string) (bool, error) {
	_, _, err := r.blob(sha)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if errors.Is(err, ErrBlobDamaged) {
		err = nil
	}
	return true, err
}

// A blob's value is its size, its MIME type, and 1 and the content, or 0.
func sealBlob(key []byte, blob *StagedBlob) []byte {
	value := make([]byte, sealSize, sealSize+binary.MaxVarintLen64+len(blob.Ref.MIME)+3+len(blob.data))
	value = binary.AppendUvarint(value, uint64(blob.Ref.Size))
	value = appendText(value, blob.Ref.MIME)
	if blob.Ref.Size > inlineBlob {
		value = append(value, 0)
	} else {
		value = append(append(value, 1), blob.data...)
	}
	return seal(bucketBlobs, key, value)
}

func openBlob(key, value []byte) (ref layers.BlobRef, inline []byte, err error) {
	damaged := fmt.Errorf("%w: its entry cannot be read", ErrBlobDamaged)
	value, err = unseal(bucketBlobs, key, value)
	if err != nil {
		return ref, nil, damaged
	}
	size, n := binary.Uvarint(value)
	if n <= 0 {
		return ref, nil, damaged
	}
	mime, rest, ok := cutText(value[n:])
	if !ok || len(rest) == 0 || size > MaxBlob {
		return ref, nil, damaged
	}
	ref = layers.BlobRef{SHA256: hex.EncodeToString(key), Size: int64(size), MIME: string(mime)}
	if rest[0] == 1 {
		inline = append([]byte{}, rest[1:]...)
	}
	return ref, inline, nil
}

// applyBlob enters a blob, unless the store has it sound.
func (b *batch) applyBlob(blob *StagedBlob) error {
	key, _ := blobKey(blob.Ref.SHA256)
	entries := b.r.bucket(bucketBlobs)
	if value := entries.Get(key); value != nil {
		if _, _, err := openBlob(key, value); err == nil {
			return nil
		}
	}
	return entries.Put(key, sealBlob(key, blob))
}

// RefOf is the reference of a blob with some content.
func RefOf(data []byte, mime string) layers.BlobRef { return newStaged(data, mime).Ref }
