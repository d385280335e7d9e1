package storage

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// settlePatience is how long readers are waited for before the file is opened
// anew after a failed commit.
const settlePatience = 10 * time.Second

func (s *Store) dataPath() string { return filepath.Join(s.opts.Dir, dataFile) }

// settle finds out whether a commit that returned an error took effect. bbolt
// may return an error and show the new state all the same, when only the last
// sync failed; and after a failed sync the same descriptor must not be trusted.
// So the file is opened anew, and a further commit is made on top, which syncs
// what the first could not: only if that succeeds the answer is yes. It returns
// nil for yes, an error with ErrUnknown if it cannot be known, any other for no.
//
// A full disk is not a fault: bbolt took the commit back, and goes on.
func (s *Store) settle(cause error, want state) error {
	cause = fromDisk(cause)
	if errors.Is(cause, ErrFull) && !s.handle.stuck {
		if id, err := readIdentity(s.handle); err == nil && id.state.commit != want.commit {
			return cause
		}
	}
	s.opts.Logf("storage: a commit failed, the store is opened anew: %v", cause)
	s.mu.Lock()
	s.settling = true
	alone := s.waitReaders(settlePatience)
	s.mu.Unlock()

	outcome := fmt.Errorf("%w: %w", ErrUnknown, cause)
	if alone {
		outcome = s.reopen(cause, want)
	} else {
		s.deny(fmt.Errorf("%w: a commit failed while snapshots were held: %w", ErrReadOnly, cause))
	}
	s.mu.Lock()
	s.settling = false
	s.mu.Unlock()
	s.released.Broadcast()
	return outcome
}

// reopen replaces the handle, while nobody reads, and gives settle's answer.
func (s *Store) reopen(cause error, want state) error {
	unknown := fmt.Errorf("%w: %w", ErrUnknown, cause)
	if err := s.handle.close(); err != nil {
		s.opts.Logf("storage: close after a failed commit: %v", err)
	}
	s.setHandle(nil)
	h, id, err := s.load(false, time.Second)
	if err == nil && id.uuid != s.uuid {
		err = errors.Join(ErrGone, h.close())
	}
	if err != nil {
		s.deny(fmt.Errorf("%w: a commit failed (%w), then opening anew: %w", ErrReadOnly, cause, err))
		s.readAlone()
		return unknown
	}
	s.setHandle(h)
	visible := id.state.commit == want.commit
	next := id.state
	next.commit = max(next.commit, want.commit) + 1
	if err := s.confirm(next); err != nil {
		if !visible && isFull(err) {
			return cause
		}
		s.deny(fmt.Errorf("%w: two commits failed: %w; %w", ErrReadOnly, cause, err))
		if visible {
			return unknown
		}
		return cause
	}
	s.publish(next)
	if visible {
		return nil
	}
	return cause
}

// readAlone opens the file for reading, when it could not be opened anew for
// writing.
func (s *Store) readAlone() {
	h, id, err := s.load(true, time.Second)
	if err == nil && id.uuid != s.uuid {
		err = errors.Join(ErrGone, h.close())
	}
	if err == nil {
		s.setHandle(h)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = fmt.Errorf("opened anew: %w", err)
}

// confirm makes a commit that changes nothing but its number.
func (s *Store) confirm(st state) (err error) {
	b := &batch{s: s, state: st}
	if err := b.begin(); err != nil {
		b.rollback()
		return err
	}
	return b.commit()
}

func (s *Store) setHandle(h *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handle = h
}

// deny ends writing for good.
func (s *Store) deny(err error) {
	s.opts.Logf("storage: no more writes: %v", err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readOnly = err
}
