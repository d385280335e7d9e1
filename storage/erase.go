package storage

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
)

// metaErase is the key in the meta bucket that says that an erase is not
// finished: what it took is unreadable, but its bytes are still in files.
const metaErase = "erase"

// Beside a store lie folders that are made of it and can be made anew.
const (
	// IndexDir is where the index of a store lies.
	IndexDir      = "index"
	snapshotDir   = "snapshots"
	quarantineDir = "quarantine"
)

// Erase takes away what a mapping drops or replaces, so that its bytes are in no
// file of the folder when Erase returns.
//
// First one commit takes everything out of the store's reach and notes the
// erase; from then on nothing can be read of it, and the erase will be finished:
// now, or by the next Open if the process ends or the disk is full. Then
// store.db is written anew (Rewrite), blobs without an entry, however old, are
// removed, with snapshots of the store and files in quarantine, and finish is
// called, which is to remove what the caller keeps elsewhere; nil for nothing.
// An Open that finishes an erase removes the folder index instead.
//
// The mapping is called once for each value of the store. Errors as Write and
// Rewrite; a mapping that changes nothing does nothing.
func (s *Store) Erase(ctx context.Context, m Mapping, finish func() error) error {
	return s.EraseBy(ctx, func(View) (Mapping, error) { return m, nil }, finish)
}

// EraseBy is Erase with a mapping that is made of the state that it is for: plan
// sees all earlier writes and no later one comes between. Its error is returned,
// and then nothing was done.
func (s *Store) EraseBy(ctx context.Context, plan func(View) (Mapping, error), finish func() error) error {
	return s.EraseIn(ctx, []func(View) (Mapping, error){plan}, finish)
}

// EraseIn is EraseBy in several passes, of which each sees what those before it
// made; other readers see all of it or nothing. Until the commit it ends with ctx.
func (s *Store) EraseIn(ctx context.Context, plans []func(View) (Mapping, error), finish func() error) error {
	req := newRequest(ctx)
	req.alone = func() error { return s.erase(ctx, plans, finish) }
	if err := s.submit(req); err != nil {
		return fmt.Errorf("erase: %w", fromDisk(err))
	}
	return nil
}

// Erasing tells whether an erase is not finished yet.
func (s *Store) Erasing() (bool, error) {
	snapshot, err := s.Snapshot()
	if err != nil {
		return false, err
	}
	defer snapshot.Release()
	return snapshot.r.erasing()
}

// erasing is Erasing where there may be no snapshot: in the writer's goroutine,
// and before it is started.
func (s *Store) erasing() (bool, error) {
	tx, err := beginRead(s.handle)
	if err != nil {
		return false, err
	}
	defer func() { _ = endRead(tx) }()
	return (&reader{tx: tx, logf: s.opts.Logf}).erasing()
}

func (r *reader) erasing() (pending bool, err error) {
	defer r.exit(debug.SetPanicOnFault(true), &err)
	return r.bucket(bucketMeta).Get([]byte(metaErase)) != nil, nil
}

func (s *Store) erase(ctx context.Context, plans []func(View) (Mapping, error), finish func() error) error {
	last := context.WithoutCancel(ctx) // what has begun is finished
	s.runBatch(nil)                    // the audit entries that wait must be seen
	s.freeBallast()
	s.staged.begin()
	// One before may be waiting for room.
	if pending, err := s.erasing(); err != nil {
		return err
	} else if pending {
		if err := s.finishErase(last, finish); err != nil {
			return fmt.Errorf("%w: %w", ErrUnfinished, err)
		}
	}
	took, err := s.takeAway(ctx, plans)
	if err != nil || !took {
		return err
	}
	if err := s.finishErase(last, finish); err != nil {
		return fmt.Errorf("%w: %w", ErrUnfinished, err)
	}
	return nil
}

// takeAway is the commit from which on nothing can be read of what is erased. It
// works in place, which needs little room.
func (s *Store) takeAway(ctx context.Context, plans []func(View) (Mapping, error)) (took bool, err error) {
	b := &batch{s: s, state: s.state}
	if err := b.begin(); err != nil {
		b.rollback()
		return false, err
	}
	changed := false
	for _, plan := range plans {
		var changes []change
		if changes, err = b.planned(ctx, plan); err == nil && len(changes) > 0 {
			changed = true
			err = b.change(changes)
		}
		if err != nil {
			break
		}
	}
	if err != nil || !changed {
		b.rollback()
		return false, err
	}
	b.state.commit++
	if err := b.commit(); err != nil {
		if err = s.settle(err, b.state); err != nil {
			return false, err
		}
		return true, nil
	}
	s.publish(b.state)
	return true, nil
}

// planned asks the plan what is to be erased.
func (b *batch) planned(ctx context.Context, plan func(View) (Mapping, error)) (changes []change, err error) {
	defer caught(debug.SetPanicOnFault(true), &err)
	m, err := plan(View{r: b.r, seq: b.state.seq})
	if err == nil {
		err = b.r.failed() // it was told less than there is
	}
	if err != nil {
		return nil, err
	}
	if m.empty() {
		return nil, nil
	}
	err = newMapper(b.r, m, b.state.seq, func(c change) error {
		if c.same() {
			return nil
		}
		if c.blob != nil {
			if err := b.s.stageMapped(ctx, c.blob); err != nil {
				return err
			}
			if c.blob.Ref.Size > inlineBlob {
				c.blob.data = nil // it is beside the store now
			}
		}
		c.key, c.value = bytes.Clone(c.key), nil
		c.to, c.content = bytes.Clone(c.to), bytes.Clone(c.content)
		changes = append(changes, c)
		return ctx.Err()
	}).run()
	return changes, err
}

// change carries changes into the transaction: first what goes, so that what
// moves up finds its place free.
func (b *batch) change(changes []change) (err error) {
	defer caught(debug.SetPanicOnFault(true), &err)
	for i := range changes {
		c := &changes[i]
		if len(c.key) > 0 && !bytes.Equal(c.key, c.to) {
			if err := b.r.bucket(c.bucket).Delete(c.key); err != nil {
				return err
			}
		}
	}
	if err := b.moveLists(changes); err != nil {
		return err
	}
	for i := range changes {
		c := &changes[i]
		if c.to != nil && (c.bucket != bucketLists || !c.elsewhere) {
			if err := b.r.bucket(c.bucket).Put(c.to, c.content); err != nil {
				return err
			}
		}
		if c.blob != nil {
			if err := b.applyBlob(c.blob); err != nil {
				return err
			}
		}
	}
	if err := b.r.bucket(bucketCounters).Delete([]byte(auditSizeKey)); err != nil { // it is measured again
		return err
	}
	key := []byte(metaErase)
	return b.r.bucket(bucketMeta).Put(key, sealed(bucketMeta, key, []byte{1}))
}

// moveLists puts the places of lists with another name into the lists of that
// name, whose places may be taken: all of them are numbered anew, in the order of
// sequences.
func (b *batch) moveLists(changes []change) error {
	lists := b.r.bucket(bucketLists)
	into := map[string][]ListEntry{}
	for i := range changes {
		c := &changes[i]
		if c.bucket != bucketLists || !c.elsewhere || c.to == nil {
			continue
		}
		entry, err := openEntry(c.to, c.content)
		if err != nil {
			return err
		}
		prefix := string(c.to[:len(c.to)-8])
		into[prefix] = append(into[prefix], entry)
	}
	for _, name := range slices.Sorted(maps.Keys(into)) {
		prefix, entries := []byte(name), into[name]
		var taken [][]byte
		cursor := lists.Cursor()
		for key, value := cursor.Seek(prefix); len(key) == len(prefix)+8 && bytes.HasPrefix(key, prefix); key, value = cursor.Next() {
			entry, err := openEntry(key, value)
			if err != nil {
				return err
			}
			entries = append(entries, entry)
			taken = append(taken, bytes.Clone(key))
		}
		for _, key := range taken {
			if err := lists.Delete(key); err != nil {
				return err
			}
		}
		slices.SortStableFunc(entries, func(x, y ListEntry) int { return cmp.Compare(x.Seq, y.Seq) })
		for i, entry := range entries {
			key := appendNumber(bytes.Clone(prefix), int64(i))
			if err := lists.Put(key, sealEntry(key, entry)); err != nil {
				return err
			}
		}
	}
	return nil
}

// finishErase removes the bytes of what was taken away. It can be done again.
func (s *Store) finishErase(ctx context.Context, finish func() error) error {
	if _, err := s.rewrite(ctx, Mapping{}); err != nil {
		return err
	}
	if _, err := s.sweepBlobs(0); err != nil {
		return err
	}
	for _, dir := range []string{snapshotDir, quarantineDir} {
		if err := s.root.RemoveAll(dir); err != nil && !isMissing(err) {
			return err
		}
	}
	if finish != nil {
		if err := finish(); err != nil {
			return err
		}
	}
	if err := syncDir(s.root, "."); err != nil {
		return err
	}
	b := &batch{s: s, state: s.state}
	if err := b.begin(); err != nil {
		b.rollback()
		return err
	}
	if err := b.r.bucket(bucketMeta).Delete([]byte(metaErase)); err != nil {
		b.rollback()
		return err
	}
	b.state.commit++
	if err := b.commit(); err != nil {
		return s.settle(err, b.state)
	}
	s.publish(b.state)
	return nil
}

// goOnErasing finishes an erase that an earlier process left, at the start. The
// disk may be full: then the store is used as it is, and the next start tries
// again.
func (s *Store) goOnErasing(ctx context.Context) error {
	if pending, err := s.erasing(); err != nil || !pending {
		return err
	}
	s.opts.Logf("storage: an erase is being finished")
	s.freeBallast()
	err := s.finishErase(ctx, func() error {
		if err := s.root.RemoveAll(IndexDir); err != nil && !isMissing(err) {
			return err
		}
		return nil
	})
	if err = fromDisk(err); isFull(err) {
		s.opts.Logf("storage: the erase is not finished: %v", err)
		return nil
	}
	return err
}
