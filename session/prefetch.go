package session

import (
	"context"
	"errors"

	"hexapla/layers"
	"hexapla/storage"
)

// maxPrefetch bounds the conversations that wait to be prepared.
const maxPrefetch = 16

// prefetch prepares, in the background, what is likely to be asked for next: the
// full text of a conversation of which the model was just given less. It fills
// the cache of pieces and nothing else, so no byte of any answer depends on it.
//
// A conversation with forty outputs of 6 KB takes about 100 ms to prepare and
// less than 1 ms to show once it is (BenchmarkFull).
type prefetch struct {
	jobs chan prefetchJob
}

type prefetchJob struct {
	conversation string
	counter      layers.Counter
	done         chan<- struct{} // closed when it is done; may be nil
}

func newPrefetch() prefetch { return prefetch{jobs: make(chan prefetchJob, maxPrefetch)} }

// ask puts a job into the queue if there is room.
func (p prefetch) ask(job prefetchJob) {
	select {
	case p.jobs <- job:
	default:
	}
}

// runPrefetch prepares conversations until ctx ends.
func (ws *Workspace) runPrefetch(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case job := <-ws.prefetch.jobs:
			err := ws.view(0, func(v storage.View) error {
				at, v, err := lookUp(v, job.conversation)
				if err == nil {
					_, err = ws.pieces(v, at.conversation, job.counter)
				}
				return err
			})
			if err != nil && !errors.Is(err, ErrNotFound) {
				ws.opts.Logf("workspace %s: prepare a conversation: %v", ws.ID, err)
			}
			if job.done != nil {
				close(job.done)
			}
		}
	}
}

// prefetchAfter asks for the conversations of which an answer gave less than the
// full text.
func (s *Session) prefetchAfter(items []ContextItem) {
	counter := s.Workspace.counter(s.Model())
	for _, item := range items {
		if item.Detail != layers.DetailFull && item.InContext == "" {
			s.Workspace.prefetch.ask(prefetchJob{conversation: item.ID, counter: counter})
		}
	}
}
