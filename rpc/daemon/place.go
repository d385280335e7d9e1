package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxSocketPath bounds a socket's path, in bytes: sun_path holds 108 on Linux
// and 104 on macOS.
const maxSocketPath = 100

// maxInfo bounds what is read of daemon.lock, in bytes.
const maxInfo = 4096

// Errors that callers tell apart with errors.Is.
var (
	// ErrNone says that no daemon runs.
	ErrNone = errors.New("no daemon runs")
	// ErrUnsupported says that this system has no daemons.
	ErrUnsupported = errors.New("daemons are not supported on this system")
	// ErrUnresponsive says that a daemon has the lock and does not answer.
	ErrUnresponsive = errors.New("the daemon does not answer")
	// ErrOutdated says that the daemon is newer than this program and does not
	// understand it.
	ErrOutdated = errors.New("a newer hexapla runs for this data folder; restart the editor with it")
	// ErrHeld says that a daemon has the lock and cannot be reached from here.
	ErrHeld = errors.New("a daemon has the data folder and cannot be reached from here")
	// ErrForeign says that what is in the way is not this user's own.
	ErrForeign = errors.New("not this user's own")
)

// Place is where the daemon of a data folder is to be found.
type Place struct {
	Data    string   // the data folder
	Sockets []string // folders for sockets, the best first
}

// folder returns the folder of the daemon's locks and logs, which it makes.
func (p Place) folder() (string, error) {
	dir := filepath.Join(p.Data, "daemon")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("daemon's folder: %w", err)
	}
	return dir, nil
}

// Folder returns the folder of the daemon's locks and logs.
func (p Place) Folder() string { return filepath.Join(p.Data, "daemon") }

// id is short and the same for every spelling of the data folder.
func (p Place) id() string {
	dir := p.Data
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:6])
}

// socket returns the path at which a daemon listens: in the first folder that is
// the user's own and whose name is short enough.
func (p Place) socket() (string, error) {
	problem := errors.New("no folder for a socket is known")
	for _, dir := range p.Sockets {
		path := filepath.Join(dir, p.id()+".sock")
		if len(path) >= maxSocketPath {
			problem = fmt.Errorf("socket: the path has %d bytes, %d are possible", len(path), maxSocketPath-1)
			continue
		}
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			problem = fmt.Errorf("socket's folder: %w", err)
			continue
		}
		info, err := os.Lstat(dir)
		if err == nil {
			err = ownFolder(info)
		}
		if err != nil {
			problem = fmt.Errorf("socket's folder %s: %w", dir, err)
			continue
		}
		return path, nil
	}
	return "", problem
}

// ownFolder refuses a folder that others could have put there or can enter.
func ownFolder(info fs.FileInfo) error {
	switch {
	case !info.IsDir():
		return fmt.Errorf("%w: no folder", ErrForeign)
	case !ours(info):
		return fmt.Errorf("%w: it belongs to another user", ErrForeign)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%w: others can enter it (mode %o)", ErrForeign, info.Mode().Perm())
	}
	return nil
}

// checkSocket refuses what is no socket of the user; ErrNone if nothing is there.
func checkSocket(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrNone
	case err != nil:
		return fmt.Errorf("socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s: %w: no socket (%s); remove it", path, ErrForeign, info.Mode().Type())
	case !ours(info):
		return fmt.Errorf("%s: %w: it belongs to another user", path, ErrForeign)
	}
	return nil
}

// holder is what the daemon writes into daemon.lock, so that it is found also by
// those who would look for its socket elsewhere.
type holder struct {
	PID    int    `json:"pid"`
	Socket string `json:"socket"`
}

// readHolder reads who held daemon.lock last; ErrNone if nobody did.
func (p Place) readHolder() (holder, error) {
	f, err := os.Open(filepath.Join(p.Folder(), "daemon.lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return holder{}, ErrNone
	}
	if err != nil {
		return holder{}, err
	}
	defer f.Close()
	text := make([]byte, maxInfo)
	n, _ := f.ReadAt(text, 0) // what there is
	var h holder
	if json.Unmarshal(text[:n], &h) != nil || !filepath.IsAbs(h.Socket) || len(h.Socket) >= maxSocketPath {
		return holder{}, ErrNone // not written yet
	}
	return h, nil
}

// openLock opens a lock file, which it makes.
func (p Place) openLock(name string) (*os.File, error) {
	dir, err := p.folder()
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("daemon's lock: %w", err)
	}
	return f, nil
}
