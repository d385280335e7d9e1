package session_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hexapla/layers"
	"hexapla/layers/scrub"
	"hexapla/session"
	"hexapla/storage"
)

// hidden is a value that no rule knows.
func hidden() string { return strings.Join([]string{"Marmalade", "Zephyr_41", "quartz"}, "-") }

// knowing is a service that has, or does not have, a known value. Stores that it
// makes have one key.
func knowing(t checker, dir string, known ...string) *session.Service {
	t.Helper()
	settings := scrub.DefaultSettings()
	settings.Known = known
	rules, err := scrub.Compile(settings)
	if err != nil {
		t.Fatal(err)
	}
	ticks := int64(0)
	return newService(session.Options{
		DataDir: dir, Secrets: rules, Random: bytes.NewReader(bytes.Repeat([]byte{7}, 1024)),
		Now: func() int64 { return 1_700_000_000_000 }, Ticks: func() int64 { ticks++; return ticks },
	})
}

// atDoor has a request pass the door, as the connection does.
func atDoor[T any](t checker, service *session.Service, req T) T {
	p := struct {
		Session string
		Request T
	}{"s", req}
	service.Admit(t.Context(), &p)
	return p.Request
}

func sessionOf(t checker, service *session.Service) *session.Session {
	t.Helper()
	if _, err := service.OpenSession(t.Context(), session.OpenRequest{URI: "file:///work", Session: "s", Title: "a title"}); err != nil {
		t.Fatal(err)
	}
	s, err := service.Session("s")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// shows is everything that can be read of a store: records with their words, and
// the entries of the audit log without what is of the bytes of past packs.
func shows(t checker, dir string) (out []string) {
	t.Helper()
	store, err := storage.Open(t.Context(), storage.Options{Dir: filepath.Join(dir, "workspaces", session.WorkspaceID("file:///work"))})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	snapshot, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Release()
	v := snapshot.View()
	if err := v.Scan(0, v.Seq(), func(r storage.Record, words []byte) error {
		var found []string
		for _, kind := range []string{"file", "function", "concept", "error", "changed"} {
			err := v.Mentions(kind, "", true, func(kind, name string, seq int64) bool {
				if seq == r.Seq {
					found = append(found, kind+" "+name)
				}
				return true
			})
			if err != nil {
				return err
			}
		}
		out = append(out, fmt.Sprintf("%d %s %s %s %s %x %q", r.Seq, r.Kind, r.ID, r.Parent, r.Body, words, found))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"turns", "fullTokens", "blobs", "blobBytes"} {
		out = append(out, fmt.Sprint(name, " ", v.Counter(name)))
	}
	return out
}

// rescrubStories is an environment variable: how many stories are told, as far as
// -rapid.checks goes.
const rescrubStories = "HEXAPLA_RESCRUB_STORIES"

// TestY6_RescrubIsAsIfAtTheDoor: a store that was rescrubbed is the store that
// there would be if the value had been known from the start, in every record, word
// and count, and gives the same packs. A second rescrub changes nothing.
func TestY6_RescrubIsAsIfAtTheDoor(t *testing.T) {
	t.Parallel()
	stories := 12
	if text := os.Getenv(rescrubStories); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		stories = n
	}
	rapid.Check(t, func(r *rapid.T) {
		if stories--; stories < 0 && !t.Failed() {
			return
		}
		late, early := mkdir(r), mkdir(r)
		defer os.RemoveAll(late)
		defer os.RemoveAll(early)
		acts := story(r)
		tell := func(service *session.Service) {
			s := sessionOf(r, service)
			for _, act := range acts {
				if err := act(r, service, s); err != nil {
					r.Fatal(err)
				}
			}
			if err := service.Close(); err != nil {
				r.Fatal(err)
			}
		}
		tell(knowing(r, late))
		tell(knowing(r, early, hidden()))
		service := knowing(r, late, hidden())
		sessionOf(r, service)
		first, err := service.Rescrub(r.Context(), "s", false)
		if err != nil {
			r.Fatal(err)
		}
		again, err := service.Rescrub(r.Context(), "s", false)
		if err != nil || again.Changed() || again.Records+again.Audit+again.Blobs+again.Replies != 0 {
			r.Fatal("a second rescrub: ", err, again)
		}
		if err := service.Close(); err != nil {
			r.Fatal(err)
		}
		if files := filesWith(r, late, hidden()); len(files) > 0 {
			r.Fatal("left in ", files, first)
		}
		got, want := shows(r, late), shows(r, early)
		decided := len(got) == len(want)
		for i := range min(len(got), len(want)) {
			got[i], want[i] = confidence.ReplaceAllString(got[i], ""), confidence.ReplaceAllString(want[i], "")
			decided = decided && (got[i] == want[i] || !strings.Contains(got[i], " housekeeping "))
		}
		if !decided {
			// Words decide what is taken for a return to an earlier conversation, and
			// which claims of the model count: such decisions stay as they were made.
			got, want = turnsIn(got), turnsIn(want)
		}
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				r.Fatal(fmt.Sprintf("of %d and %d\n got %.3000s\nwant %.3000s", len(got), len(want), got[i], want[i]))
			}
		}
		if len(got) != len(want) {
			r.Fatal("records: ", len(got), len(want))
		}
		if !decided || strings.Contains(strings.Join(got, "\n"), " learned ") {
			return
		}
		var packs [2][]byte
		for i, dir := range []string{late, early} {
			service := knowing(r, dir, hidden())
			s := sessionOf(r, service)
			pack, err := s.BuildPack(r.Context(), session.PackRequest{Budget: layers.Budget{Total: 3000}})
			if err != nil {
				r.Fatal(err)
			}
			packs[i] = []byte(pack.Pack.Text)
			if err := service.Close(); err != nil {
				r.Fatal(err)
			}
		}
		if !bytes.Equal(packs[0], packs[1]) {
			r.Fatal(fmt.Sprintf("packs differ:\n%s\n---\n%s", packs[0], packs[1]))
		}
	})
}

// confidence is how far the conversation bore out a summary, when it was said.
var confidence = regexp.MustCompile(`,"confidence":[0-9.]+`)

// turnsIn are the turns and outputs among what is shown, without their sequences.
func turnsIn(shown []string) (out []string) {
	for _, one := range shown {
		if _, rest, _ := strings.Cut(one, " "); strings.HasPrefix(rest, kindsOfTurns[0]) || strings.HasPrefix(rest, kindsOfTurns[1]) {
			out = append(out, rest)
		}
	}
	return out
}

var kindsOfTurns = [...]string{"turn ", "output "}

func mkdir(t checker) string {
	dir, err := os.MkdirTemp("", "rescrub")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// filesWith names the files of a folder that have a text in them or as a name.
func filesWith(t checker, dir, text string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) || strings.Contains(path, text) {
			files = append(files, filepath.Base(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestY6_RescrubReachesAllClients: a client that knows nothing of the value has the
// clean texts from then on, in the session that it has open, and writes nothing of
// what it remembers.
func TestY6_RescrubReachesAllClients(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	shared := session.NewWorkspaces(session.Options{DataDir: dir, Now: func() int64 { return 1_700_000_000_000 }})
	settings := scrub.DefaultSettings()
	settings.Known = []string{hidden()}
	rules, err := scrub.Compile(settings)
	if err != nil {
		t.Fatal(err)
	}
	open := func(service *session.Service, id, model string) *session.Session {
		t.Helper()
		if _, err := service.OpenSession(t.Context(), session.OpenRequest{URI: "file:///work", Session: id, Model: model}); err != nil {
			t.Fatal(err)
		}
		s, err := service.Session(id)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	plain, knows := shared.Client(session.ClientOptions{}), shared.Client(session.ClientOptions{Secrets: rules})
	s := open(plain, "s", hidden())
	open(plain, "of-"+hidden(), "")
	talk(t, s, "What is "+hidden()+"?", "It is the name, "+hidden()+".")
	pack(t, s, 4000)
	open(knows, "other", "")
	done, err := knows.Rescrub(t.Context(), "other", false)
	if err != nil || !done.Changed() || done.Renamed != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	if _, err := plain.Session("of-" + hidden()); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("a session by the name of the value: %v", err)
	}
	if s, err = plain.Session("s"); err != nil {
		t.Fatal(err)
	}
	if next := pack(t, s, 4000); strings.Contains(next.Pack.Text, hidden()) || !strings.Contains(next.Pack.Text, "[secret:known:") {
		t.Errorf("%s", next.Pack.Text)
	}
	talk(t, s, "And now?", "It goes on.")
	if err := shared.Close(); err != nil {
		t.Fatal(err)
	}
	if files := filesWith(t, dir, hidden()); len(files) > 0 {
		t.Error("left in ", files)
	}
}

// TestY6_RescrubIsCancelled: before its commit a rescrub ends with its context, and
// nothing has happened.
func TestY6_RescrubIsCancelled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	service := knowing(t, dir)
	talk(t, sessionOf(t, service), "What is "+hidden()+"?", "It is the name.")
	if err := service.Close(); err != nil {
		t.Fatal(err)
	}
	before := shows(t, dir)
	service = knowing(t, dir, hidden())
	sessionOf(t, service)
	for after := range 5000 {
		if _, err := service.Rescrub(&ending{Context: t.Context(), left: after}, "s", false); err == nil {
			if after == 0 {
				t.Error("a context that has ended ends nothing")
			}
			break
		} else if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if err := service.Close(); err != nil {
		t.Fatal(err)
	}
	after := shows(t, dir)
	if len(before) != len(after) || strings.Contains(strings.Join(after, "\n"), hidden()) {
		t.Error("it did not come through in the end")
	}
}

// ending is a context that ends when it was asked some times.
type ending struct {
	context.Context
	left int
}

func (e *ending) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return e.Context.Err()
}
