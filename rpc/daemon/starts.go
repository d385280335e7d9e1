package daemon

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
)

// A daemon whose predecessors crashed this often within this time starts in safe
// mode.
const (
	crashCount = 2
	crashTime  = 60_000 // milliseconds
)

// Starts remembers starts that had no orderly end, in a small file of the
// daemon's folder. Only the holder of daemon.lock may use it.
type Starts struct{ path string }

// NewStarts returns the memory of a place.
func NewStarts(place Place) Starts {
	return Starts{filepath.Join(place.Folder(), "starts.json")}
}

// Begin notes a start, now in Unix milliseconds, and reports whether it should
// be a safe one: it is the third within a minute, and the others crashed. What
// cannot be read or written counts as nothing.
func (s Starts) Begin(now int64) (safe bool) {
	var before []int64
	if text, err := os.ReadFile(s.path); err == nil {
		_ = json.Unmarshal(text, &before) // nothing, then
	}
	before = slices.DeleteFunc(before, func(at int64) bool { return at > now || at < now-crashTime })
	if len(before) > crashCount {
		before = before[len(before)-crashCount:]
	}
	safe = len(before) >= crashCount
	if text, err := json.Marshal(append(before, now)); err == nil {
		_ = os.WriteFile(s.path, text, 0o600) // the next start is then as if this had ended well
	}
	return safe
}

// End forgets them: this one ended in order.
func (s Starts) End() { _ = os.Remove(s.path) }
