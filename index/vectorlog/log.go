// Package vectorlog keeps a disposable file of vectors of a workspace's records:
// what each means to one model, by sequence. It is a projection, like the index
// beside it: made in the background, complete up to a watermark, bound to one
// store and one model, and begun anew when either is another.
//
// It guarantees that a row that is handed out is one that was appended: each has
// a sum, and the file is cut at the first that is bad, so that no damage costs
// more than making what came behind it again. Appends are not synced.
//
// It never reads the store and knows nothing of what vectors mean. The caller
// holds the workspace's store while a log is open.
package vectorlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// Errors that callers tell apart.
var (
	// ErrClosed says that the log has been closed.
	ErrClosed = errors.New("log of vectors is closed")
	// ErrFailed says that the log could not be written. It stays unusable until it
	// is opened again.
	ErrFailed = errors.New("log of vectors has failed")
)

// A file is a head and then rows of equal length, in the order of sequences.
//
//	head: magic, 5 bytes; dimensions, 4; SHA-256 of store and model; CRC-32C of these
//	row:  sequence, 8 bytes; sum of squares, 4; numbers, dimensions bytes; CRC-32C of these
//
// Integers are big endian.
const (
	magic     = "HXVL\x01"
	headSize  = len(magic) + 4 + sha256.Size + 4
	fixedSize = 8 + 4 + 4 // of a row, besides its numbers
	fileName  = "vectors"
)

func castagnoli(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// Options say where a log lies and what it is of.
type Options struct {
	Dir        string                           // made if absent
	StoreUUID  string                           // of the store that the log is a projection of
	Model      string                           // that makes the vectors
	Dimensions int                              // of a vector
	Logf       func(format string, args ...any) // may be nil; gets no content
}

// Row is a record's vector.
type Row struct {
	Seq    int64
	Square int32  // sum of the squares of the numbers
	Vector []byte // numbers from -127 to 127 in two's complement
}

// Log is an open log. It is safe for concurrent use.
type Log struct {
	options Options
	size    int64 // of a row
	head    []byte

	mu        sync.RWMutex
	file      *os.File // nil when closed or failed
	err       error    // why file is nil
	rows      int64
	last      int64 // sequence of the last row
	watermark int64
}

// Open opens the log in opts.Dir, or makes an empty one where there is none, or
// one of another store or model.
func Open(opts Options) (*Log, error) {
	if opts.Logf == nil {
		opts.Logf = func(string, ...any) {}
	}
	l := &Log{options: opts, size: int64(fixedSize + opts.Dimensions)}
	owner := sha256.Sum256([]byte(opts.StoreUUID + "\n" + opts.Model))
	l.head = binary.BigEndian.AppendUint32([]byte(magic), uint32(opts.Dimensions))
	l.head = append(l.head, owner[:]...)
	l.head = binary.BigEndian.AppendUint32(l.head, castagnoli(l.head))
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("open log of vectors: %w", err)
	}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("open log of vectors: %w", err)
	}
	return l, nil
}

func (l *Log) path() string { return filepath.Join(l.options.Dir, fileName) }

// open opens the file and cuts off what is bad.
func (l *Log) open() error {
	f, err := os.OpenFile(l.path(), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return l.begin()
	}
	if err != nil {
		return err
	}
	l.file = f
	head := make([]byte, headSize)
	if _, err := f.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		f.Close()
		return err
	}
	if !bytes.Equal(head, l.head) {
		l.options.Logf("vectors: the file is of another store or model; starting an empty one")
		f.Close()
		return l.begin()
	}
	if err := l.verify(); err != nil {
		f.Close()
		return err
	}
	return nil
}

// begin puts an empty log in the place of whatever lies there.
func (l *Log) begin() error {
	l.file, l.rows, l.last, l.watermark = nil, 0, 0, 0
	if err := os.Remove(l.path()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(l.path(), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(l.head, 0); err != nil {
		f.Close()
		return err
	}
	l.file, l.err = f, nil
	return nil
}

// verify reads all rows and cuts the file where they cease to be good.
func (l *Log) verify() error {
	l.rows, l.last = 0, 0
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	there := max(info.Size()-int64(headSize), 0)
	err = l.read(there/l.size, func(raw []byte) bool {
		row, ok := l.parse(raw)
		if !ok || row.Seq <= l.last {
			return false
		}
		l.rows, l.last = l.rows+1, row.Seq
		return true
	})
	if err != nil {
		return err
	}
	if good := l.rows * l.size; good < there {
		l.options.Logf("vectors: %d bytes at the end are no rows and are cut off", there-good)
		if err := l.file.Truncate(int64(headSize) + good); err != nil {
			return err
		}
	}
	l.watermark = l.last
	return nil
}

// chunkRows is how many rows are read at once.
const chunkRows = 1024

// read calls fn with the first n rows as they lie in the file, until it returns
// false.
func (l *Log) read(n int64, fn func(raw []byte) bool) error {
	chunk := make([]byte, min(n, chunkRows)*l.size)
	for at := int64(0); at < n; {
		part := chunk[:min(n-at, chunkRows)*l.size]
		if _, err := l.file.ReadAt(part, int64(headSize)+at*l.size); err != nil {
			return fmt.Errorf("read vectors: %w", err)
		}
		for ; len(part) > 0; part = part[l.size:] {
			if !fn(part[:l.size]) {
				return nil
			}
			at++
		}
	}
	return nil
}

// parse reads a row; false if it is none.
func (l *Log) parse(raw []byte) (Row, bool) {
	end := len(raw) - 4
	if castagnoli(raw[:end]) != binary.BigEndian.Uint32(raw[end:]) {
		return Row{}, false
	}
	return unsummed(raw), true
}

// unsummed reads a row whose sum is known to be good.
func unsummed(raw []byte) Row {
	return Row{
		Seq: int64(binary.BigEndian.Uint64(raw)), Square: int32(binary.BigEndian.Uint32(raw[8:])), Vector: raw[12 : len(raw)-4],
	}
}

// Watermark returns the sequence up to which every record has its vector, or has
// none to have. After Open it is that of the last row.
func (l *Log) Watermark() int64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.watermark
}

// Len returns how many rows there are.
func (l *Log) Len() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return int(l.rows)
}

// Append adds the vectors of the records above the watermark, up to and with a
// new one. Rows at or below the present watermark are there already and are
// passed over. After an error the log is ErrFailed.
func (l *Log) Append(rows []Row, watermark int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return fmt.Errorf("append vectors: %w", l.err)
	}
	if watermark <= l.watermark {
		return nil
	}
	var raw []byte
	last, added := l.last, int64(0)
	for _, row := range rows {
		if row.Seq <= l.watermark {
			continue
		}
		if row.Seq <= last || row.Seq > watermark || len(row.Vector) != l.options.Dimensions {
			return fmt.Errorf("append vectors: row %d does not fit", row.Seq)
		}
		from := len(raw)
		raw = binary.BigEndian.AppendUint64(raw, uint64(row.Seq))
		raw = binary.BigEndian.AppendUint32(raw, uint32(row.Square))
		raw = append(raw, row.Vector...)
		raw = binary.BigEndian.AppendUint32(raw, castagnoli(raw[from:]))
		last = row.Seq
		added++
	}
	if added > 0 {
		if _, err := l.file.WriteAt(raw, int64(headSize)+l.rows*l.size); err != nil {
			l.file.Close()
			l.file, l.err = nil, fmt.Errorf("%w: %w", ErrFailed, err)
			return fmt.Errorf("append vectors: %w", l.err)
		}
	}
	l.rows, l.last, l.watermark = l.rows+added, last, watermark
	return nil
}

// Scan calls fn with the rows up to a sequence, in their order. A row's vector is
// fn's only while it runs.
func (l *Log) Scan(to int64, fn func(Row)) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.file == nil {
		return fmt.Errorf("scan vectors: %w", l.err)
	}
	return l.read(l.rows, func(raw []byte) bool {
		row := unsummed(raw)
		if row.Seq > to {
			return false
		}
		fn(row)
		return true
	})
}

// Purge leaves an empty log, and no bytes of what it held.
func (l *Log) Purge() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(l.err, ErrClosed) {
		return fmt.Errorf("purge vectors: %w", ErrClosed)
	}
	if l.file != nil {
		l.file.Close()
	}
	l.file, l.err = nil, fmt.Errorf("purge: %w", ErrFailed)
	if err := l.begin(); err != nil {
		return fmt.Errorf("purge vectors: %w", err)
	}
	return nil
}

// Remove removes the log of a folder, which nobody has open.
func Remove(dir string) error {
	if err := os.Remove(filepath.Join(dir, fileName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove vectors: %w", err)
	}
	return nil
}

// Close closes the log. Closing twice is fine.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.file
	l.file, l.err = nil, ErrClosed
	if f == nil {
		return nil
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("close log of vectors: %w", err)
	}
	return nil
}
