package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// maxLog bounds one log file, in bytes. There are two: the one that is written
// and the one before.
const maxLog = 5 << 20

// LogFile is a log that is at most 10 MiB with the one before it (name.1), for
// the user's eyes alone. It is safe for concurrent use.
type LogFile struct {
	path string

	mu   sync.Mutex
	file *os.File
	size int64
}

// OpenLog opens a log in the daemon's folder.
func OpenLog(place Place, name string) (*LogFile, error) {
	dir, err := place.folder()
	if err != nil {
		return nil, err
	}
	l := &LogFile{path: filepath.Join(dir, name)}
	if err := l.open(); err != nil {
		return nil, err
	}
	if l.size > maxLog { // others wrote to it, such as a crash
		return l, l.turn()
	}
	return l, nil
}

func (l *LogFile) open() error {
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close() // nothing was written
		return fmt.Errorf("log: %w", err)
	}
	l.file, l.size = f, info.Size()
	return nil
}

// File is the open file.
func (l *LogFile) File() *os.File {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file
}

// Write appends a record.
func (l *LogFile) Write(record []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size > 0 && l.size+int64(len(record)) > maxLog {
		if err := l.turn(); err != nil {
			return 0, err
		}
	}
	n, err := l.file.Write(record)
	l.size += int64(n)
	return n, err
}

// turn begins a new file.
func (l *LogFile) turn() error {
	if err := os.Rename(l.path, l.path+".1"); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	before := l.file
	if err := l.open(); err != nil {
		return err
	}
	return before.Close()
}
