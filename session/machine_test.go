package session_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hexapla/layers"
	"hexapla/session"
	"hexapla/storage"
)

// machineRuns is an environment variable: how many runs TestS2_SessionMachine
// does. A run has as many steps as -rapid.steps says, and each of the machines that
// share the runs does no more of them than -rapid.checks.
const machineRuns = "SESSION_MACHINE_RUNS"

// TestS2_SessionMachine does everything that a client can do to a workspace in
// any order, between crashes, restarts, lost indexes, erasures and jumps of the
// clock, and holds the answers to a model after each step. Machines run side by
// side, as they mostly wait for the disk.
func TestS2_SessionMachine(t *testing.T) {
	t.Parallel()
	const machines = 8
	runs := counted(t, machineRuns, 8)
	for i := range machines {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			holds(t, (runs+i)/machines, func(rt *rapid.T) {
				m := &sessionMachine{t: t, root: root, now: 1_700_000_000_000}
				m.folder()
				m.open()
				defer func() {
					m.service.Close()
					os.RemoveAll(m.dir)
				}()
				rt.Repeat(map[string]func(*rapid.T){
					"record": m.record,
					"again":  m.again,
					"edit":   m.edit,
					"forget": m.forget,
					"pack":   m.pack,
					"replay": m.replay,
					"search": m.search,
					"crash":  m.crash,
					"reopen": func(rt *rapid.T) { m.reopen(rt, false) },
					"heal":   func(rt *rapid.T) { m.reopen(rt, true) },
					"erase":  m.erase,
					"clock": func(rt *rapid.T) {
						m.now += int64(rapid.IntRange(-3*24*60, 3*24*60).Draw(rt, "minutes")) * 60_000
					},
					"": m.check,
				})
			})
		})
	}
}

// sessionMachine is a workspace and what it must hold.
type sessionMachine struct {
	t         *testing.T
	root, dir string
	now       int64
	service   *session.Service
	s         *session.Session

	words    int // how many were used, so that each is of one text alone
	talks    []*modelTalk
	requests []modelRequest
	packs    []modelPack
}

type modelTalk struct {
	id    string
	texts []string // of its turns, one word each
	words []string // that it ever had
	gone  bool
}

type modelRequest struct {
	req  session.RecordRequest
	talk *modelTalk
}

type modelPack struct {
	checksum string
	kept     bool // the service was closed since, so its audit entry is on disk
	redacted bool // something was forgotten since
}

func (m *sessionMachine) folder() {
	dir, err := os.MkdirTemp(m.root, "")
	if err != nil {
		m.t.Fatal(err)
	}
	m.dir = dir
}

func (m *sessionMachine) open() {
	m.service = newService(session.Options{DataDir: m.dir, Now: func() int64 { return m.now }})
	m.join()
}

func (m *sessionMachine) join() {
	_, err := m.service.OpenSession(m.t.Context(), session.OpenRequest{URI: "file:///work", Session: "s"})
	if err == nil {
		m.s, err = m.service.Session("s")
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// word returns one that was never used.
func (m *sessionMachine) word() string {
	m.words++
	return "quux" + strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprintf("%05d", m.words))
}

// live chooses a conversation that is there, nil if there is none.
func (m *sessionMachine) live(rt *rapid.T) *modelTalk {
	var live []*modelTalk
	for _, talk := range m.talks {
		if !talk.gone {
			live = append(live, talk)
		}
	}
	if len(live) == 0 {
		return nil
	}
	return live[rapid.IntRange(0, len(live)-1).Draw(rt, "which")]
}

func sentence(word string) string { return "Please look after the " + word + " in the cellar." }

func (m *sessionMachine) record(rt *rapid.T) {
	talk := &modelTalk{words: []string{m.word(), m.word()}}
	talk.texts = slices.Clone(talk.words)
	req := session.RecordRequest{Done: true, Key: fmt.Sprint("key-", m.words), Turns: []layers.Turn{
		{Role: layers.RoleUser, Text: sentence(talk.words[0])}, {Role: layers.RoleAssistant, Text: sentence(talk.words[1])},
	}}
	reply, err := m.s.Record(m.t.Context(), req)
	if err != nil {
		rt.Fatal(err)
	}
	if talk.id = reply.Conversation; slices.ContainsFunc(m.talks, func(other *modelTalk) bool { return other.id == talk.id }) {
		rt.Fatalf("%s was given twice", talk.id)
	}
	m.talks = append(m.talks, talk)
	m.requests = append(m.requests, modelRequest{req, talk})
}

func (m *sessionMachine) again(rt *rapid.T) {
	if len(m.requests) == 0 {
		return
	}
	r := m.requests[rapid.IntRange(0, len(m.requests)-1).Draw(rt, "which")]
	reply, err := m.s.Record(m.t.Context(), r.req)
	switch {
	case r.talk.gone && (err == nil || reply.Conversation != ""):
		rt.Fatalf("a forgotten request was done again: %+v", reply)
	case !r.talk.gone && (err != nil || reply.Conversation != r.talk.id):
		rt.Fatalf("%s again: %+v, %v", r.talk.id, reply, err)
	}
}

func (m *sessionMachine) edit(rt *rapid.T) {
	talk := m.live(rt)
	if talk == nil {
		return
	}
	turn, word := rapid.IntRange(1, 2).Draw(rt, "turn"), m.word()
	text := sentence(word)
	if _, err := m.s.Edit(m.t.Context(), session.EditRequest{Conversation: talk.id, Turn: turn, Text: &text}); err != nil {
		rt.Fatal(err)
	}
	talk.texts[turn-1] = word
	talk.words = append(talk.words, word)
}

func (m *sessionMachine) forget(rt *rapid.T) {
	talk := m.live(rt)
	if talk == nil {
		return
	}
	if _, err := m.service.Forget(m.t.Context(), "s", session.ForgetTarget{Conversation: talk.id}); err != nil {
		rt.Fatal(err)
	}
	talk.gone = true
	for i := range m.packs {
		m.packs[i].redacted = true
	}
	m.join()
	m.nowhere(rt, talk.words)
}

// nowhere sees that no file holds one of the words.
func (m *sessionMachine) nowhere(rt *rapid.T, words []string) {
	err := filepath.WalkDir(m.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, word := range words {
			if bytes.Contains(data, []byte(word)) {
				rt.Errorf("%s is in %s", word, path[len(m.dir):])
			}
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // the index removes what it merged
		rt.Fatal(err)
	}
}

func (m *sessionMachine) pack(rt *rapid.T) {
	reply, err := m.s.BuildPack(m.t.Context(), session.PackRequest{Budget: layers.Budget{Total: rapid.IntRange(3000, 9000).Draw(rt, "total")}})
	if err != nil {
		rt.Fatal(err)
	}
	for _, talk := range m.talks {
		for _, word := range talk.words {
			if (talk.gone || !slices.Contains(talk.texts, word)) && bytes.Contains(reply.Canonical, []byte(word)) {
				rt.Fatalf("the pack has %s of %s", word, talk.id)
			}
		}
	}
	m.packs = append(m.packs, modelPack{checksum: reply.Checksum})
}

func (m *sessionMachine) replay(rt *rapid.T) {
	if len(m.packs) == 0 {
		return
	}
	at := rapid.IntRange(0, len(m.packs)-1).Draw(rt, "which")
	p := m.packs[at]
	reply, err := m.s.Replay(m.t.Context(), p.checksum)
	if err != nil || reply.Checksum != p.checksum && !(p.redacted && reply.Redacted) {
		rt.Fatalf("%+v: %s, redacted %v, %v", p, reply.Checksum, reply.Redacted, err)
	}
}

func (m *sessionMachine) search(rt *rapid.T) {
	if len(m.talks) == 0 {
		return
	}
	talk := m.talks[rapid.IntRange(0, len(m.talks)-1).Draw(rt, "which")]
	word := talk.words[rapid.IntRange(0, len(talk.words)-1).Draw(rt, "word")]
	reply, err := m.s.Search(m.t.Context(), session.SearchRequest{Query: word})
	if err != nil {
		rt.Fatal(err)
	}
	found := slices.ContainsFunc(reply.Hits, func(h session.SearchHit) bool { return h.Conversation == talk.id })
	if want := !talk.gone && slices.Contains(talk.texts, word); found != want {
		rt.Fatalf("%s of %s, forgotten %v: found %v among %d", word, talk.id, talk.gone, found, len(reply.Hits))
	}
}

// crash goes on with a copy of the files as they are while the workspace is open,
// which is what a killed process leaves.
func (m *sessionMachine) crash(rt *rapid.T) {
	old := m.dir
	for {
		before := m.metas()
		m.folder()
		err := os.CopyFS(m.dir, os.DirFS(old))
		to := m.dir
		m.dir = old
		// A commit in between would make it a copy of two moments.
		if err == nil && bytes.Equal(before, m.metas()) {
			m.dir = to
			break
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			rt.Fatal(err)
		}
		os.RemoveAll(to)
	}
	if err := m.service.Close(); err != nil {
		rt.Fatal(err)
	}
	os.RemoveAll(old)
	// Audit entries follow their packs, and may not have been on disk.
	m.packs = slices.DeleteFunc(m.packs, func(p modelPack) bool { return !p.kept })
	m.open()
}

// metas are the pages of the store that a commit changes last.
func (m *sessionMachine) metas() []byte {
	f, err := os.Open(filepath.Join(m.store(), "store.db"))
	if err != nil {
		m.t.Fatal(err)
	}
	defer f.Close()
	pages := make([]byte, 8<<10)
	if _, err := f.ReadAt(pages, 0); err != nil {
		m.t.Fatal(err)
	}
	return pages
}

func (m *sessionMachine) store() string {
	return filepath.Join(m.dir, "workspaces", session.WorkspaceID("file:///work"))
}

// reopen closes the workspace and opens it again, with the index lost in between.
func (m *sessionMachine) reopen(rt *rapid.T, lose bool) {
	if err := m.service.Close(); err != nil {
		rt.Fatal(err)
	}
	for i := range m.packs {
		m.packs[i].kept = true
	}
	if lose {
		if err := os.RemoveAll(filepath.Join(m.store(), storage.IndexDir)); err != nil {
			rt.Fatal(err)
		}
	}
	m.open()
}

func (m *sessionMachine) erase(rt *rapid.T) {
	if rapid.IntRange(0, 3).Draw(rt, "rarely") != 0 {
		return
	}
	if err := m.service.EraseWorkspace(m.t.Context(), "file:///work"); err != nil {
		rt.Fatal(err)
	}
	var words []string
	for _, talk := range m.talks {
		words = append(words, talk.words...)
	}
	m.nowhere(rt, words)
	m.talks, m.requests, m.packs = nil, nil, nil
	m.join()
}

// check compares every conversation with the model.
func (m *sessionMachine) check(rt *rapid.T) {
	for _, talk := range m.talks {
		got, err := m.s.Conversation(session.ConversationRequest{Conversation: talk.id, Detail: layers.DetailFull})
		if talk.gone {
			if !errors.Is(err, session.ErrForgotten) {
				rt.Fatalf("%s was forgotten: %v, %v", talk.id, got.Text, err)
			}
			continue
		}
		if err != nil || len(got.Turns) != len(talk.texts) {
			rt.Fatalf("%s: %d turns, %v", talk.id, len(got.Turns), err)
		}
		for i, word := range talk.texts {
			if got.Turns[i].Text != sentence(word) {
				rt.Fatalf("%s turn %d is %q, expected %s", talk.id, i+1, got.Turns[i].Text, word)
			}
		}
	}
	counts, err := m.s.Workspace.Counts()
	live := 0
	for _, talk := range m.talks {
		if !talk.gone {
			live++
		}
	}
	if err != nil || int(counts.Conversations) != live {
		rt.Fatalf("%d conversations, expected %d: %v", counts.Conversations, live, err)
	}
}
