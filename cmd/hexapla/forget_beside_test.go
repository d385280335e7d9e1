//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// The workspaces of TestY10_ForgettingBesideWriters: of one a conversation is
// forgotten now and then, the other is erased now and then.
const (
	besideKept   = "file:///projects/kept"
	besideErased = "file:///projects/erased"
)

// wrote is a write that was acknowledged: its word, and where and when it was done.
type wrote struct {
	session, word, id, key string
	// began and ended count erasures: those that were answered when the write
	// began, and those that had begun when it was answered.
	began, ended int64
	gone         bool // its conversation was forgotten
}

// besideWriter is a client that writes to both workspaces.
type besideWriter struct {
	number int
	kept   *window
	erased *window
	// What was acknowledged; guarded by the test's end, as the writer alone has it before.
	keptTold, erasedTold []*wrote
}

// TestY10_ForgettingBesideWriters: clients write while another forgets what they
// wrote and erases a workspace that they write to. What was forgotten or erased is
// in no file when that is answered and does not come back, not even when the write
// is sent again; all else that was acknowledged is there once. Built with -race it
// is a test of the daemon's races as well.
func TestY10_ForgettingBesideWriters(t *testing.T) {
	t.Parallel()
	const clients = 5
	rounds := rounds(t, "HEXAPLA_FORGETTING_ROUNDS", 3)
	p := newPost(t)
	races := filepath.Join(p.run, "race")
	p.env = append(p.env, "GORACE=log_path="+races)
	var began, ended atomic.Int64 // erasures
	stop := make(chan struct{})
	written := make(chan *wrote, clients*1000) // to the kept workspace; what does not fit is not forgotten
	writers := make([]*besideWriter, clients)
	var done sync.WaitGroup
	for i := range writers {
		w := &besideWriter{number: i, kept: p.open(besideKept, fmt.Sprint("k", i)), erased: p.open(besideErased, fmt.Sprint("e", i))}
		writers[i] = w
		done.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				w.keep(t, n, written)
				w.risk(t, n, &began, &ended)
			}
		})
	}

	// Here is who forgets, in the sessions of the writers.
	w := p.open(besideKept, "k0")
	for i := range clients {
		w.openSession(besideKept, fmt.Sprint("k", i))
	}
	var forgotten []string
	for round := range rounds {
		for range 3 {
			victim := <-written
			if err := w.Call(w.ctx(), wire.MethodConversationForget, wire.ConversationForgetParams{Session: victim.session, Conversation: victim.id}, nil); err != nil {
				t.Errorf("forget %s: %v", victim.id, err)
				continue
			}
			victim.gone = true
			forgotten = append(forgotten, victim.word)
			inNoFile(t, p.data, forgotten)
			if id, err := w.recordAs(victim.session, victim.key, victim.word); err == nil {
				t.Errorf("%s was forgotten, and its write is done again as %s", victim.word, id)
			}
		}
		if round%3 == 0 {
			began.Add(1)
			if err := w.Call(w.ctx(), wire.MethodWorkspaceErase, wire.WorkspaceEraseParams{Workspace: wire.Workspace{URI: besideErased}, Confirm: true}, nil); err != nil {
				t.Errorf("erase: %v", err)
			}
			ended.Add(1)
		}
		for range clients { // each has written since, on the whole
			<-written
		}
	}
	close(stop)
	done.Wait()

	erasures := ended.Load()
	var goneWords, there, gone []string
	goneWords = append(goneWords, forgotten...)
	for _, w := range writers {
		if len(w.erasedTold) == 0 || w.erasedTold[len(w.erasedTold)-1].began != erasures {
			w.risk(t, 1_000_000, &began, &ended)
		}
		for _, one := range w.erasedTold {
			if one.began == erasures {
				there = append(there, one.word)
			} else if one.ended < erasures {
				gone = append(gone, one.word)
			}
		}
	}
	goneWords = append(goneWords, gone...)
	if len(there) < clients || len(gone) == 0 || len(forgotten) != 3*rounds {
		t.Errorf("the test saw %d writes behind the last erasure, %d before, and %d that were forgotten", len(there), len(gone), len(forgotten))
	}
	inNoFile(t, p.data, goneWords)
	kept := p.words(besideKept)
	total := 0
	for _, w := range writers {
		for _, one := range w.keptTold {
			want := 1
			if one.gone {
				want = 0
			}
			total += want
			if kept[one.word] != want {
				t.Errorf("%s in %s is there %d times, forgotten: %v", one.word, one.id, kept[one.word], one.gone)
			}
		}
	}
	if len(kept) != total {
		t.Errorf("%d words are there, %d were acknowledged and not forgotten", len(kept), total)
	}
	left := p.words(besideErased)
	for _, word := range there {
		if left[word] != 1 {
			t.Errorf("%s was written after the erasure and is there %d times", word, left[word])
		}
	}
	for _, word := range gone {
		if left[word] != 0 {
			t.Errorf("%s was erased and is there again", word)
		}
	}
	for _, w := range writers {
		w.kept.leave()
		w.erased.leave()
	}
	w.leave()
	p.end()
	inNoFile(t, p.data, goneWords)
	reports, err := filepath.Glob(races + "*")
	if err != nil || len(reports) > 0 {
		report, _ := os.ReadFile(reports[0])
		t.Errorf("races: %v, %v\n%s", reports, err, report)
	}
	t.Logf("%d kept, %d forgotten, %d erased, %d since", total, len(forgotten), len(gone), len(there))
}

// recordAs records an exchange that has a word, under a key.
func (w *window) recordAs(session, key, word string) (string, error) {
	var r wire.ConversationRecordResult
	err := w.Call(w.ctx(), wire.MethodConversationRecord, wire.ConversationRecordParams{Session: session, Key: key, Done: true, Turns: []wire.Turn{
		{Role: "user", Text: "Where is the " + word + " kept?"}, {Role: "assistant", Text: "In the cellar."},
	}}, &r)
	return r.Conversation, err
}

// keep writes to the workspace that stays, where nothing may fail.
func (w *besideWriter) keep(t *testing.T, n int, written chan<- *wrote) {
	one := &wrote{session: w.kept.session, word: fmt.Sprintf("keepsake%dx%dx", w.number, n), key: fmt.Sprintf("keep-%d-%d", w.number, n)}
	var err error
	if one.id, err = w.kept.recordAs(one.session, one.key, one.word); err != nil {
		t.Errorf("record %s: %v", one.word, err)
		return
	}
	w.keptTold = append(w.keptTold, one)
	select {
	case written <- one:
	default:
	}
}

// risk writes to the workspace that is erased, which ends its sessions.
func (w *besideWriter) risk(t *testing.T, n int, began, ended *atomic.Int64) {
	const attempts = 20
	for range attempts {
		one := &wrote{word: fmt.Sprintf("chance%dx%dx", w.number, n), began: ended.Load()}
		var err error
		if one.id, err = w.erased.recordAs(w.erased.session, "", one.word); err == nil {
			one.ended = began.Load()
			w.erasedTold = append(w.erasedTold, one)
			return
		}
		// The word may be there or not; the next has another.
		n += 10_000_000
		err = w.erased.Call(w.erased.ctx(), wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: besideErased}, Session: w.erased.session}, nil)
		if err != nil && !errors.As(err, new(*rpc.Error)) {
			t.Errorf("open again: %v", err)
			return
		}
	}
	t.Errorf("client %d cannot write to the erased workspace again", w.number)
}

// words counts the words of the writers in what conversations say.
func (p *post) words(workspace string) map[string]int {
	p.t.Helper()
	w := p.open(workspace, "reader")
	defer w.leave()
	found := map[string]int{}
	for n, missing := 1, 0; missing < 3; n++ {
		var r wire.ConversationGetResult
		err := w.Call(w.ctx(), wire.MethodConversationGet, wire.ConversationGetParams{Session: w.session, Conversation: fmt.Sprint("c", n), Detail: "full"}, &r)
		if rpc.IsKind(err, wire.KindForgotten) {
			continue
		}
		if rpc.IsKind(err, wire.KindNotFound) {
			missing++
			continue
		}
		if err != nil {
			p.t.Errorf("get c%d: %v", n, err)
			break
		}
		for _, turn := range r.Turns {
			for _, word := range strings.Fields(turn.Text) {
				if strings.HasPrefix(word, "keepsake") || strings.HasPrefix(word, "chance") {
					found[word]++
				}
			}
		}
	}
	return found
}

// inNoFile sees that no file below a folder in which others write has one of the
// words.
func inNoFile(t *testing.T, dir string, words []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		for _, word := range words {
			if bytes.Contains(data, []byte(word)) {
				t.Errorf("%s is in %s", word, path[len(dir):])
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
