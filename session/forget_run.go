package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"hexapla/index"
	"hexapla/index/vectorlog"
	"hexapla/layers"
	"hexapla/storage"
)

// Forget takes a conversation, or a turn of it, out of a workspace with all that
// was made of it, so that its text is in no file of the store when Forget
// returns. What other conversations quote of it stays, as does what a model was
// sent. A conversation that edits made others of goes with those. A second
// Forget finds nothing left and is ErrForgotten.
//
// The workspace's index is made anew and what was cached of it is let go, so the
// next packs are as if the conversation had never been. Packs of the past are
// marked: built again, they may differ.
func (s *Service) Forget(ctx context.Context, session string, target ForgetTarget) (Forgotten, error) {
	if target.Turn < 0 {
		return Forgotten{}, invalid("turn", "must not be negative")
	}
	at, err := s.Session(session)
	if err != nil {
		return Forgotten{}, err
	}
	var f *forgetting
	err = s.shared.erase(at.Workspace, func(ws *Workspace) error {
		return ws.store.EraseBy(ctx, func(v storage.View) (m storage.Mapping, err error) {
			if f, err = newForgetting(ctx, ws, v, target); err == nil {
				m = f.mapping()
			}
			return m, err
		}, func() error { return ws.purgeIndex(ctx) })
	})
	if f == nil {
		return Forgotten{}, err
	}
	done := f.done
	done.Sequence = f.view.Seq()
	if err != nil || target.Turn == 0 {
		return done, err
	}
	seq, err := s.renewAfter(ctx, session, done.Conversations)
	done.Sequence = max(done.Sequence, seq)
	return done, err
}

// renewAfter writes header and summary of a conversation anew that has lost a
// turn.
func (s *Service) renewAfter(ctx context.Context, session string, conversations []string) (int64, error) {
	at, err := s.Session(session)
	if err != nil || len(conversations) == 0 {
		return 0, err
	}
	ws, id := at.Workspace, conversations[0]
	receipt, err := ws.store.Write(ctx, storage.Op{}, func(tx *storage.Tx) ([]byte, error) {
		record, _, ok, err := latest[conversationRecord](tx.View(), kindConversation, id)
		if err != nil || !ok || record.Outcome == layers.OutcomeOngoing {
			return nil, err // it gets them when it is done
		}
		_, err = ws.keepHouse(tx, completion{id: id, record: record, outcome: record.Outcome, edited: true})
		return nil, err
	})
	return receipt.Seq, err
}

// replace puts a Workspace in the place of another, with no pack before it to
// compare with; nil takes it and its sessions away. A session whose name was a
// secret has another name then, and is no longer open by this one.
func (s *Service) replace(old, fresh *Workspace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.workspaces[old.ID] == old {
		delete(s.workspaces, old.ID)
		if fresh != nil {
			s.workspaces[old.ID] = fresh
		}
	}
	for id, session := range s.sessions {
		if session.Workspace != old {
			continue
		}
		delete(s.sessions, id)
		if fresh != nil && fresh.renamed(id) == id {
			s.sessions[id] = &Session{ID: id, Workspace: fresh, service: s, context: session.context, model: fresh.renamed(session.Model()), last: map[layers.Layout]*lastPack{}}
		}
	}
}

// renamed is what a name of a session or a model is since a rescrub put the
// workspace here.
func (ws *Workspace) renamed(name string) string {
	if ws.rename == nil {
		return name
	}
	return ws.rename(name)
}

// retire ends what the workspace does in the background and what it stores
// besides writes. Requests that are running finish.
func (ws *Workspace) retire() {
	ws.retiring.Lock()
	ws.retired = true
	ws.retiring.Unlock()
	ws.engine.Retire()
	ws.stop()
	ws.stopped.Wait()
}

// renewed is the workspace on the same store, without anything cached.
func (ws *Workspace) renewed() *Workspace {
	ws.indexMu.Lock()
	fresh := newWorkspace(ws.opts, ws.store, ws.index, ws.settings)
	fresh.resting, ws.resting = ws.resting, false
	ws.indexMu.Unlock()
	fresh.start()
	return fresh
}

// purgeIndex leaves an empty index that has nothing of what was in it, and no
// vectors. The workspace is retired.
func (ws *Workspace) purgeIndex(ctx context.Context) error {
	if err := vectorlog.Remove(ws.indexDir()); err != nil {
		return err
	}
	ws.indexMu.Lock()
	defer ws.indexMu.Unlock()
	if ws.index != nil {
		err := ws.index.Purge(ctx)
		if !errors.Is(err, index.ErrClosed) {
			return err
		}
	}
	return os.RemoveAll(ws.indexDir())
}

func (ws *Workspace) indexDir() string { return filepath.Join(ws.opts.Dir, storage.IndexDir) }

// EraseWorkspace takes away everything that was recorded of a workspace, with its
// sessions. The next session begins in an empty store.
func (s *Service) EraseWorkspace(ctx context.Context, uri string) error {
	ws, err := s.WorkspaceByURI(ctx, uri)
	if err != nil {
		return err
	}
	if err := s.shared.destroy(ctx, ws); err != nil {
		return err
	}
	return s.shared.places.Drop(ctx, ws.ID)
}
