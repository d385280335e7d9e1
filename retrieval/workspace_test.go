package retrieval_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"hexapla/index"
	"hexapla/layers"
	"hexapla/layers/terms"
	"hexapla/retrieval"
	"hexapla/storage"
)

// entry is a record of a test.
type entry struct {
	kind, id, parent, text string
	entities               layers.Entities
}

func turn(conversation string, number int, text string) entry {
	return entry{kind: "turn", id: fmt.Sprintf("%s#%d", conversation, number), parent: conversation, text: text}
}

func trio(conversation, text string) entry {
	return entry{kind: "trio", id: conversation, parent: conversation, text: text}
}

// workspace is a store with what is needed to search it.
type workspace struct {
	t     testing.TB
	dir   string
	store *storage.Store
}

func newWorkspace(t testing.TB) *workspace {
	t.Helper()
	w := &workspace{t: t, dir: t.TempDir()}
	store, err := storage.Open(t.Context(), storage.Options{Dir: filepath.Join(w.dir, "store")})
	if err != nil {
		t.Fatal(err)
	}
	w.store = store
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// write commits entries, perWrite at a time.
func (w *workspace) write(perWrite int, entries ...entry) {
	w.t.Helper()
	for len(entries) > 0 {
		n := min(perWrite, len(entries))
		_, err := w.store.Write(context.Background(), storage.Op{}, func(tx *storage.Tx) ([]byte, error) {
			for _, e := range entries[:n] {
				d := storage.Draft{Kind: e.kind, ID: e.id, Parent: e.parent, Body: []byte(e.text)}
				if e.text != "" {
					d.Terms = terms.NewDoc(e.text, e.entities).Encode()
				}
				tx.Put(d)
			}
			return nil, nil
		})
		if err != nil {
			w.t.Fatal(err)
		}
		entries = entries[n:]
	}
}

func (w *workspace) indexDir() string { return filepath.Join(w.dir, "index") }

func (w *workspace) openIndex() *index.Index {
	w.t.Helper()
	ix, err := index.Open(context.Background(), index.Options{Dir: w.indexDir(), StoreUUID: w.store.UUID(), Logf: w.t.Logf})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { ix.Close() })
	return ix
}

func (w *workspace) engine(ix *index.Index) *retrieval.Engine {
	return retrieval.New(retrieval.Options{Store: w.store, Index: ix, Logf: w.t.Logf})
}

// run starts Run and stops it when the test ends.
func (w *workspace) run(e *retrieval.Engine) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.Run(ctx)
	}()
	w.t.Cleanup(func() {
		cancel()
		<-done
	})
}

// await waits until a condition holds.
func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("%s: waited in vain", what)
		case <-tick.C:
		}
	}
}

// indexed waits until the index has everything.
func (w *workspace) indexed(e *retrieval.Engine) {
	w.t.Helper()
	await(w.t, "the index to catch up", func() bool { return e.State().Lag == 0 })
}

// search asks as of a sequence, or now if it is 0.
func (w *workspace) search(e *retrieval.Engine, seq int64, q retrieval.Query) retrieval.Result {
	w.t.Helper()
	r, err := w.trySearch(e, seq, q)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *workspace) trySearch(e *retrieval.Engine, seq int64, q retrieval.Query) (retrieval.Result, error) {
	snapshot, err := w.store.Snapshot()
	if err != nil {
		return retrieval.Result{}, err
	}
	defer snapshot.Release()
	view := snapshot.View()
	if seq > 0 {
		if view, err = snapshot.At(seq); err != nil {
			return retrieval.Result{}, err
		}
	}
	return e.Search(context.Background(), view, q)
}
