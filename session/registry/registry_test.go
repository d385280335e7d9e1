//go:build unix

package registry_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"hexapla/session/registry"
)

// home is a data folder with the stores that a test says are there.
type home struct {
	dir    string
	stores map[string]bool
	now    int64
	mu     sync.Mutex
	log    []string
}

func newHome(dir string) *home { return &home{dir: dir, stores: map[string]bool{}, now: 1} }

func (h *home) open() *registry.Registry {
	return registry.Open(registry.Options{
		Dir: h.dir, Now: func() int64 { return h.now },
		Logf: func(format string, args ...any) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.log = append(h.log, fmt.Sprintf(format, args...))
		},
		HasStore: func(id string) bool {
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.stores[id]
		},
	})
}

func id(uri string) string {
	sum := sha256.Sum256([]byte(uri))
	return hex.EncodeToString(sum[:8])
}

func place(path string) registry.Place {
	uri := "file://" + path
	return registry.Place{URI: uri, Path: path, ID: id(uri)}
}

// resolve opens a folder as a service does: its store is there afterwards.
func (h *home) resolve(t interface{ Fatal(...any) }, p registry.Place) registry.Found {
	found, err := h.open().Resolve(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stores[found.ID] = true
	return found
}

func mkdir(t testing.TB, path ...string) string {
	t.Helper()
	dir := filepath.Join(path...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestL5_OneFolderOneWorkspace: links, and paths through linked parents, lead to
// the workspace of what they lead to; a folder that is not there has its name.
func TestL5_OneFolderOneWorkspace(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	h := newHome(filepath.Join(base, "data"))
	real := mkdir(t, base, "a", "real")
	must(t, os.Symlink(real, filepath.Join(base, "link")))
	must(t, os.Symlink(filepath.Join(base, "a"), filepath.Join(base, "b")))
	first := h.resolve(t, place(filepath.Join(base, "link")))
	if first.State != registry.New || first.ID != place(filepath.Join(base, "link")).ID {
		t.Errorf("first: %+v", first)
	}
	for _, path := range []string{real, filepath.Join(base, "b", "real"), filepath.Join(base, "link")} {
		if again := h.resolve(t, place(path)); again.ID != first.ID || again.State != registry.Known {
			t.Errorf("%s: %+v, want %s known", path, again, first.ID)
		}
	}
	other := h.resolve(t, place(mkdir(t, base, "a", "other")))
	if other.ID == first.ID || other.State != registry.New {
		t.Errorf("other: %+v", other)
	}
	nowhere := place("/nowhere/at/all")
	for _, state := range []registry.State{registry.New, registry.Known} {
		if found := h.resolve(t, nowhere); found.ID != nowhere.ID || found.State != state {
			t.Errorf("nowhere: %+v, want %s", found, state)
		}
	}
}

// TestL5_OlderStoresKeepTheirIds: a store that was there before the registry is
// found under its id, also where two paths to one folder had a store each.
func TestL5_OlderStoresKeepTheirIds(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	h := newHome(filepath.Join(base, "data"))
	real := mkdir(t, base, "real")
	link := filepath.Join(base, "link")
	must(t, os.Symlink(real, link))
	h.stores[place(real).ID], h.stores[place(link).ID] = true, true
	for range 2 {
		for _, path := range []string{real, link} {
			if found := h.resolve(t, place(path)); found.ID != place(path).ID || found.State != registry.Known {
				t.Errorf("%s: %+v", path, found)
			}
		}
	}
}

// TestL7_MovedAndReplaced is the life of a folder: renamed, gone, made anew.
func TestL7_MovedAndReplaced(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	h := newHome(filepath.Join(base, "data"))
	a, b := mkdir(t, base, "a"), filepath.Join(base, "b")
	first := h.resolve(t, place(a))
	must(t, os.Rename(a, b))
	if gone := h.resolve(t, place(a)); gone.ID != first.ID || gone.State != registry.Gone {
		t.Errorf("a has gone: %+v", gone)
	}
	if moved := h.resolve(t, place(b)); moved.ID != first.ID || moved.State != registry.Moved || moved.Candidate.ID != "" {
		t.Errorf("a became b: %+v", moved)
	}
	if again := h.resolve(t, place(b)); again.ID != first.ID || again.State != registry.Known {
		t.Errorf("b again: %+v", again)
	}
	// The name is free for another.
	mkdir(t, a)
	second := h.resolve(t, place(a))
	if second.ID == first.ID || second.State != registry.New {
		t.Errorf("another a: %+v", second)
	}
	// A clone is made anew: its memory is proposed, not given.
	must(t, os.Rename(b, filepath.Join(base, "away")))
	must(t, os.RemoveAll(filepath.Join(base, "away")))
	mkdir(t, b)
	third := h.resolve(t, place(b))
	if third.ID == first.ID || third.State != registry.Replaced || third.Candidate.ID != first.ID {
		t.Fatalf("another b: %+v", third)
	}
	if asked := h.resolve(t, place(b)); asked.ID != third.ID || asked.Candidate.ID != first.ID {
		t.Errorf("asked again: %+v", asked)
	}
	r := h.open()
	if _, err := r.Adopt(t.Context(), place(b), second.ID); !errors.Is(err, registry.ErrInUse) {
		t.Errorf("a's is in use: %v", err)
	}
	if _, err := r.Adopt(t.Context(), place(b), "0123456789abcdef"); !errors.Is(err, registry.ErrUnknown) {
		t.Errorf("unknown: %v", err)
	}
	if before, err := r.Adopt(t.Context(), place(b), first.ID); err != nil || before != third.ID {
		t.Errorf("adopt: %s, %v", before, err)
	}
	if adopted := h.resolve(t, place(b)); adopted.ID != first.ID || adopted.State != registry.Known || adopted.Candidate.ID != "" {
		t.Errorf("adopted: %+v", adopted)
	}
	// What was recorded in between can be had again.
	if before, err := r.Adopt(t.Context(), place(b), third.ID); !errors.Is(err, nil) && !errors.Is(err, registry.ErrInUse) || before != first.ID {
		t.Errorf("back: %s, %v", before, err)
	}
}

// TestL7_KeepAsItIs: who does not want the proposed memory says so once.
func TestL7_KeepAsItIs(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	h := newHome(filepath.Join(base, "data"))
	old := mkdir(t, base, "old", "project")
	first := h.resolve(t, place(old))
	fresh := mkdir(t, base, "new", "project")
	must(t, os.RemoveAll(old))
	found := h.resolve(t, place(fresh)) // as after a move to another disk
	if found.ID == first.ID || found.State != registry.New || found.Candidate.ID != first.ID {
		t.Fatalf("%+v", found)
	}
	if _, err := h.open().Adopt(t.Context(), place(fresh), found.ID); err != nil {
		t.Fatal(err)
	}
	if again := h.resolve(t, place(fresh)); again.ID != found.ID || again.State != registry.Known || again.Candidate.ID != "" {
		t.Errorf("%+v", again)
	}
}

// TestL7_CopiedDataFolder: identities of another disk are not believed, names are.
func TestL7_CopiedDataFolder(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	h := newHome(filepath.Join(base, "data"))
	dir := mkdir(t, base, "project")
	first := h.resolve(t, place(dir))
	// All is copied, and the originals are lost.
	raw, err := os.ReadFile(filepath.Join(h.dir, "workspaces.json"))
	must(t, err)
	must(t, os.Rename(h.dir, h.dir+".old"))
	mkdir(t, h.dir)
	must(t, os.WriteFile(filepath.Join(h.dir, "workspaces.json"), raw, 0o600))
	must(t, os.Rename(dir, dir+".old"))
	mkdir(t, dir)
	if found := h.resolve(t, place(dir)); found.ID != first.ID || found.State != registry.Known {
		t.Errorf("%+v", found)
	}
}

// TestRegistryDamaged: what cannot be read is put aside and costs no id; what a
// newer program wrote is left alone.
func TestRegistryDamaged(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "{", "null", `{"format":1,"workspaces":[null]}`, `{"format":1,"workspaces":[{"id":"../../etc"}]}`, `{"format":1,"workspaces":[{"id":"0123456789abcdef"},{"id":"0123456789abcdef"}]}`} {
		base := t.TempDir()
		h := newHome(filepath.Join(base, "data"))
		dir := mkdir(t, base, "project")
		first := h.resolve(t, place(dir))
		file := filepath.Join(h.dir, "workspaces.json")
		must(t, os.WriteFile(file, []byte(content), 0o600))
		if found := h.resolve(t, place(dir)); found.ID != first.ID {
			t.Errorf("%q: %+v", content, found)
		}
		if raw, err := os.ReadFile(file + ".damaged"); err != nil || string(raw) != content || len(h.log) != 1 {
			t.Errorf("%q: aside %q, %v, log %q", content, raw, err, h.log)
		}
	}
	h := newHome(t.TempDir())
	newer := []byte(`{"format":9,"workspaces":[],"more":true}`)
	file := filepath.Join(h.dir, "workspaces.json")
	must(t, os.WriteFile(file, newer, 0o600))
	if _, err := h.open().Resolve(t.Context(), place("/x")); !errors.Is(err, registry.ErrTooNew) {
		t.Errorf("newer: %v", err)
	}
	if raw, _ := os.ReadFile(file); string(raw) != string(newer) {
		t.Errorf("it was changed: %s", raw)
	}
}

// TestRegistryShared: processes, which have a registry each, lose no entry of one
// another.
func TestRegistryShared(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	h := newHome(filepath.Join(base, "data"))
	var done sync.WaitGroup
	for w := range 8 {
		done.Go(func() {
			r := h.open()
			for i := range 20 {
				if _, err := r.Resolve(context.Background(), place(fmt.Sprintf("/w%d/%d", w, i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	if list, err := h.open().List(); err != nil || len(list) != 160 {
		t.Errorf("%d, %v", len(list), err)
	}
}

// TestL7_AnyLife: whatever is done to folders and their names, a folder keeps the
// workspace that it got first, and no two folders share one.
func TestL7_AnyLife(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base, err := os.MkdirTemp("", "registry-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(base)
		h := newHome(filepath.Join(base, "data"))
		names := []string{"a", "b", "c"}
		path := func(name string) string { return filepath.Join(base, name) }
		at := map[string]int{} // name → folder
		links := map[string]string{}
		owner, of := map[string]int{}, map[int]string{} // workspace → folder, and back
		folders := 0
		pick := func(t *rapid.T) string { return rapid.SampledFrom(names).Draw(t, "name") }
		check := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		open := func(t *rapid.T, p string, folder int) {
			h.now += int64(rapid.IntRange(0, 3).Draw(t, "days")) * 86400000
			found := h.resolve(t, place(p))
			if known, ok := of[folder]; ok && known != found.ID {
				t.Fatalf("%s: folder %d has %s and had %s", p, folder, found.ID, known)
			}
			if other, ok := owner[found.ID]; ok && other != folder {
				t.Fatalf("%s: folder %d has %s of folder %d", p, folder, found.ID, other)
			}
			of[folder], owner[found.ID] = found.ID, folder
		}
		t.Repeat(map[string]func(*rapid.T){
			"make": func(t *rapid.T) {
				name := pick(t)
				if _, ok := at[name]; ok {
					t.Skip()
				}
				check(os.Mkdir(path(name), 0o700))
				folders++
				at[name] = folders
			},
			"remove": func(t *rapid.T) {
				name := pick(t)
				if _, ok := at[name]; !ok {
					t.Skip()
				}
				check(os.Remove(path(name)))
				delete(at, name)
			},
			"rename": func(t *rapid.T) {
				from, to := pick(t), pick(t)
				_, there := at[from]
				if _, taken := at[to]; !there || taken {
					t.Skip()
				}
				check(os.Rename(path(from), path(to)))
				at[to] = at[from]
				delete(at, from)
			},
			"link": func(t *rapid.T) {
				link, to := "l"+pick(t), pick(t)
				_ = os.Remove(path(link))
				check(os.Symlink(path(to), path(link)))
				links[link] = to
			},
			"open": func(t *rapid.T) {
				name := pick(t)
				if folder, ok := at[name]; ok {
					open(t, path(name), folder)
				}
			},
			"openLink": func(t *rapid.T) {
				link := "l" + pick(t)
				if folder, ok := at[links[link]]; ok {
					open(t, path(link), folder)
				}
			},
			"loseTheDataFolder": func(t *rapid.T) {
				if rapid.IntRange(0, 20).Draw(t, "unlikely") > 0 {
					t.Skip()
				}
				check(os.RemoveAll(h.dir))
				h.stores = map[string]bool{}
				clear(owner)
				clear(of)
			},
		})
	})
}

// TestRegistryHoldsIdsAlone: an id is never taken for a path.
func TestRegistryHoldsIdsAlone(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "..", "../../etc/passwd", "0123456789ABCDEF", "0123456789abcde", "0123456789abcdef0", "0123456789abcde/", "0123456789abcde\x00", strings.Repeat("é", 8)} {
		if registry.IsID(bad) {
			t.Errorf("%q is no id", bad)
		}
	}
	if !registry.IsID("0123456789abcdef") {
		t.Error("an id is one")
	}
}
