package storage

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Options say which store is opened and how.
type Options struct {
	// Dir is the store's folder. It and its parents are created, with access
	// for the owner alone.
	Dir string
	// Timeout bounds the wait for a store that is locked; 0 means 3 s.
	Timeout time.Duration
	// ReadOnly opens for reading alone. Nothing is created or changed.
	ReadOnly bool
	// MaxBytes bounds the size of store.db, blobs not counted; writes beyond it
	// are ErrFull. 0 means no bound.
	MaxBytes int64
	// AuditEntries, AuditBytes and AuditAge bound the audit log: what is over one
	// of them is removed, oldest first, when an entry is written. The newest
	// entry stays. 0 means 10,000 entries, 64 MiB and 365 days.
	AuditEntries int
	AuditBytes   int64
	AuditAge     time.Duration
	// AuditTime reads from an entry's body when it was written, in Unix
	// milliseconds; nil means that no entry is too old.
	AuditTime func(body []byte) int64
	// Snapshots is how many copies of store.db are kept in the folder snapshots,
	// one of each day on which something was written; 0 means none.
	Snapshots int
	// Now is the clock for the times of commits, in Unix milliseconds; time.Now
	// when nil.
	Now func() int64
	// Random is where the key of a new store comes from; crypto/rand.Reader when nil.
	Random io.Reader
	// Logf takes what is worth knowing but fails nothing; nil drops it.
	Logf func(format string, args ...any)

	commit func(*bolt.Tx) error // what tests put in place of (*bolt.Tx).Commit
}

const (
	defaultTimeout      = 3 * time.Second
	defaultAuditEntries = 10000
	defaultAuditBytes   = 64 << 20
	defaultAuditAge     = 365 * 24 * time.Hour
)

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.AuditEntries <= 0 {
		o.AuditEntries = defaultAuditEntries
	}
	if o.AuditBytes <= 0 {
		o.AuditBytes = defaultAuditBytes
	}
	if o.AuditAge <= 0 {
		o.AuditAge = defaultAuditAge
	}
	if o.Now == nil {
		o.Now = func() int64 { return time.Now().UnixMilli() }
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	if o.commit == nil {
		o.commit = (*bolt.Tx).Commit
	}
	return o
}

// Open opens the store in a folder and creates it if there was none. A store
// whose folder or file does not allow writing is opened for reading, which
// ReadOnly tells. Errors: ErrLocked, ErrSchemaTooNew, ErrCorrupt, ErrFull,
// ErrNotFound for a store that is to be read and is not there, ctx's error, and
// what the file system says. After an error nothing stays open or locked.
func Open(ctx context.Context, opts Options) (*Store, error) {
	opts = opts.withDefaults()
	s, err := open(ctx, opts)
	if err != nil && isDenied(err) && !opts.ReadOnly {
		reading := opts
		reading.ReadOnly = true
		if s, readErr := open(ctx, reading); readErr == nil {
			opts.Logf("storage: open for reading alone: %v", err)
			return s, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	return s, nil
}

func open(ctx context.Context, opts Options) (_ *Store, err error) {
	deadline := time.Now().Add(opts.Timeout)
	dir, err := filepath.Abs(opts.Dir)
	if err != nil {
		return nil, err
	}
	opts.Dir = dir
	root, err := openRoot(opts)
	if err != nil {
		return nil, err
	}
	s := newStore(opts, root)
	defer func() {
		if err != nil {
			s.letGo()
		}
	}()
	if s.lock, err = takeLock(ctx, root, opts.ReadOnly, opts.Timeout); err != nil {
		return nil, err
	}
	if !opts.ReadOnly {
		if err := goOnDestroying(root); err != nil {
			return nil, err
		}
	}
	known, err := readManifest(root)
	if err != nil {
		return nil, err
	}
	if known != nil && known.MinReader > schemaFormat {
		return nil, fmt.Errorf("%w: its manifest says schema %d", ErrSchemaTooNew, known.Format)
	}
	if !opts.ReadOnly {
		if err := s.prepareFolder(known); err != nil {
			return nil, err
		}
	}
	if err := s.openData(known, time.Until(deadline)); err != nil {
		return nil, err
	}
	if opts.ReadOnly {
		s.readOnly = ErrReadOnly
		return s, nil
	}
	if err := s.settleFolder(known); err != nil {
		return nil, err
	}
	if err := s.goOnErasing(ctx); err != nil {
		return nil, err
	}
	s.keepBallast()
	s.writer.Go(s.writeLoop)
	return s, nil
}

func openRoot(opts Options) (*os.Root, error) {
	if opts.ReadOnly {
		root, err := os.OpenRoot(opts.Dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("no folder: %w", ErrNotFound)
		}
		return root, err
	}
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return nil, fromDisk(err)
	}
	return os.OpenRoot(opts.Dir)
}

// prepareFolder removes what an interrupted start or write left, and creates
// store.db if there is no sign that there ever was one.
func (s *Store) prepareFolder(known *manifest) error {
	if err := sweep(s.root); err != nil {
		return err
	}
	if _, err := s.root.Lstat(dataFile); !errors.Is(err, fs.ErrNotExist) {
		return err // nil: it is there
	}
	if known != nil {
		return corrupt("store.db is missing")
	}
	if blobs, err := hasBlobs(s.root); err != nil {
		return err
	} else if blobs {
		return corrupt("store.db is missing, but there are blobs")
	}
	return createData(s.root, s.opts.MaxBytes, s.opts.Random)
}

// openData opens store.db, which must be there, for its whole life.
func (s *Store) openData(known *manifest, timeout time.Duration) error {
	h, id, err := s.load(s.opts.ReadOnly, timeout)
	if err != nil {
		return err
	}
	s.handle, s.uuid, s.state = h, id.uuid, id.state
	s.seq.Store(id.state.seq)
	if known != nil && known.StoreUUID != "" && known.StoreUUID != id.uuid {
		return corrupt("store.db is not the one that the manifest names")
	}
	if known != nil && known.LastSeq > id.state.seq {
		s.opts.Logf("storage: the store ends at sequence %d, it was closed at %d: an older copy, or its last commit is damaged", id.state.seq, known.LastSeq)
	}
	if s.audit.last, err = lastAudit(h); err != nil {
		return err
	}
	if s.day, err = lastDay(h); err != nil {
		return err
	}
	return s.settleKey(id.key)
}

// load opens store.db after it has been found sound, ours, and of a schema that
// we may use. Until then not a byte of it is changed.
func (s *Store) load(readOnly bool, timeout time.Duration) (*handle, identity, error) {
	if err := s.guard(); err != nil {
		return nil, identity{}, err
	}
	opts := boltOptions{readOnly: true, timeout: timeout}
	h, err := openHandle(s.root, dataFile, opts)
	if err != nil {
		return nil, identity{}, err
	}
	id, err := readIdentity(h)
	if err == nil {
		err = id.schema.allows(!readOnly)
	}
	if err == nil && readOnly {
		return h, id, nil
	}
	if closed := h.close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, id, err
	}
	opts.readOnly, opts.maxBytes = false, s.opts.MaxBytes
	h, err = openHandle(s.root, dataFile, opts)
	return h, id, err
}

func (s *Store) guard() error {
	f, err := s.root.Open(dataFile)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no store.db: %w", ErrNotFound)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return corrupt("store.db is not a file")
	}
	return guardFile(f, info.Size())
}

// identity is what the meta bucket says.
type identity struct {
	schema schema
	uuid   string
	state  state
	key    []byte // nil where there is none
}

// readIdentity reads the schema first: of a newer one nothing else is expected.
func readIdentity(h *handle) (id identity, err error) {
	defer caught(debug.SetPanicOnFault(true), &err)
	tx, err := h.db.Begin(false)
	if err != nil {
		return id, err
	}
	defer func() { _ = tx.Rollback() }()
	meta := tx.Bucket([]byte(bucketMeta.String()))
	if meta == nil {
		return id, corrupt("store.db is not a store")
	}
	read := func(name string) ([]byte, error) {
		value, err := unseal(bucketMeta, []byte(name), meta.Get([]byte(name)))
		if err != nil {
			return nil, corrupt("%s in store.db: %v", name, err)
		}
		return value, nil
	}
	value, err := read(metaSchema)
	if err != nil {
		return id, err
	}
	if id.schema, err = decodeSchema(value); err != nil || id.schema.minReader > schemaFormat {
		return id, err
	}
	if value, err = read(metaUUID); err != nil {
		return id, err
	}
	id.uuid = string(value)
	if value, err = read(metaState); err != nil {
		return id, err
	}
	if id.state, err = decodeState(value); err != nil {
		return id, err
	}
	if meta.Get([]byte(metaKey)) != nil {
		if value, err = read(metaKey); err != nil {
			return id, err
		}
		id.key = bytes.Clone(value)
	}
	for b := range buckets {
		if b.required() && tx.Bucket([]byte(b.String())) == nil {
			return id, corrupt("store.db has no bucket %s", b)
		}
	}
	return id, nil
}

// settleFolder makes durable what an earlier process may have left in the page
// cache when it was killed between a write and its sync, narrows permissions,
// and writes the manifest if it is missing.
func (s *Store) settleFolder(known *manifest) error {
	if err := s.handle.file.Sync(); err != nil {
		return fromDisk(err)
	}
	for _, file := range []string{dataFile, lockFile} {
		if err := narrow(s.root, file, 0o600); err != nil {
			return err
		}
	}
	if err := narrow(s.root, ".", 0o700); err != nil {
		return err
	}
	if known == nil || known.StoreUUID == "" {
		m := s.manifest()
		if known == nil {
			m.CreatedAt = time.Now().UTC().Format(time.RFC3339)
		}
		if err := writeManifest(s.root, m); err != nil {
			return fromDisk(err)
		}
		known = &m
	}
	s.known = *known
	if err := syncDir(s.root, "."); err != nil {
		return err
	}
	// The folder's own name; its parent may not let us look.
	if parent, err := os.OpenRoot(filepath.Dir(s.opts.Dir)); err == nil {
		_ = syncDir(parent, ".")
		parent.Close()
	}
	return nil
}

func (s *Store) manifest() manifest {
	return manifest{
		Format: schemaFormat, MinReader: schemaMinReader, StoreUUID: s.uuid,
		CreatedAt: s.known.CreatedAt, LastSeq: s.seq.Load(),
	}
}

// narrow takes from a file the rights of others.
func narrow(root *os.Root, name string, mode os.FileMode) error {
	info, err := root.Stat(name)
	if err == nil && info.Mode().Perm()&^mode != 0 {
		err = root.Chmod(name, mode)
	}
	return err
}
