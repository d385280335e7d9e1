package storage

import (
	"errors"
	"io/fs"
)

const (
	ballastFile = "ballast"
	// ballastSize is the room that is kept for erasing on a full disk, in bytes.
	ballastSize = 16 << 20
)

// keepBallast makes the file whose removal gives room on a disk that is full.
// Without it a full disk could not be made emptier by forgetting. It is made for
// stores of some size alone, so that small ones stay small.
func (s *Store) keepBallast() {
	info, err := s.root.Stat(dataFile)
	if err != nil || info.Size() < ballastSize {
		return
	}
	if _, err := s.root.Stat(ballastFile); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	zeros := make([]byte, 1<<20)
	f, err := s.root.Create(ballastFile)
	for n := 0; err == nil && n < ballastSize; n += len(zeros) {
		_, err = f.Write(zeros)
	}
	if f != nil {
		if closed := f.Close(); err == nil {
			err = closed
		}
	}
	if err != nil {
		s.freeBallast()
		s.opts.Logf("storage: no ballast: %v", err)
	}
}

// freeBallast gives its room back. The next start makes it again.
func (s *Store) freeBallast() { _ = s.root.Remove(ballastFile) }
