package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"hexapla/retrieval"
	"hexapla/retrieval/minilm"
	"hexapla/storage"
)

// Models that turns are compared by.
const (
	EmbeddingsAuto   = "auto"   // all-MiniLM-L6-v2 where its files are, else words
	EmbeddingsMiniLM = "minilm" // the same, and a word in the log where there are none
	EmbeddingsWords  = "words"  // the built-in word vectors
)

// Ways to bring nearness in meaning and the rest of a score together.
const (
	FusionLinear     = "linear"     // a weighted sum
	FusionReciprocal = "reciprocal" // of the reciprocals of ranks
)

// EmbeddingSettings say how turns are compared in meaning.
type EmbeddingSettings struct {
	// Model is one of the models; EmbeddingsAuto when empty.
	Model string `json:"model"`
	// Folder has the files of all-MiniLM-L6-v2. When it is empty they are looked for
	// in the caches that other programs keep.
	Folder string `json:"folder"`
	// LimitMs is how many milliseconds a text of the most tokens may take on this
	// machine; the model is not used where it is slower.
	LimitMs int `json:"limitMs"`
	// Fusion is one of the ways; FusionLinear when empty.
	Fusion string `json:"fusion"`
}

// Bounds of EmbeddingSettings.LimitMs. The default is what an embedding may take
// (B14).
const (
	defaultEmbedLimit = 100
	mostEmbedLimit    = 60_000
)

// DefaultEmbeddingSettings returns the settings of a client that names none.
func DefaultEmbeddingSettings() EmbeddingSettings {
	return EmbeddingSettings{Model: EmbeddingsAuto, LimitMs: defaultEmbedLimit, Fusion: FusionLinear}
}

// ParseEmbeddingSettings reads the members that are given over the default ones.
// A member that cannot be used gives an *InvalidError.
func ParseEmbeddingSettings(data []byte) (EmbeddingSettings, error) {
	s := DefaultEmbeddingSettings()
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return s, fmt.Errorf("embeddings: %w", err)
	}
	switch s.Model {
	case EmbeddingsAuto, EmbeddingsMiniLM, EmbeddingsWords:
	default:
		return s, &InvalidError{Path: "embeddings.model", Message: `must be "auto", "minilm" or "words"`}
	}
	switch s.Fusion {
	case FusionLinear, FusionReciprocal:
	default:
		return s, &InvalidError{Path: "embeddings.fusion", Message: `must be "linear" or "reciprocal"`}
	}
	switch {
	case s.Folder != "" && !filepath.IsAbs(s.Folder):
		return s, &InvalidError{Path: "embeddings.folder", Message: "must be an absolute path"}
	case len(s.Folder) > maxURI:
		return s, &InvalidError{Path: "embeddings.folder", Message: "too long", Limit: maxURI}
	case s.LimitMs < 1 || s.LimitMs > mostEmbedLimit:
		return s, &InvalidError{Path: "embeddings.limitMs", Message: fmt.Sprintf("is %d, must be from 1 to %d", s.LimitMs, mostEmbedLimit), Limit: mostEmbedLimit}
	}
	return s, nil
}

// encoders are the models that a process has open, each once for all workspaces.
type encoders struct {
	caches []string     // where models of other programs lie
	ticks  func() int64 // microseconds

	mu     sync.Mutex
	opened map[encoderKey]*openedEncoder
}

type encoderKey struct {
	folder string
	limit  int
}

// openedEncoder is a model that is being opened, or is open.
type openedEncoder struct {
	ready  chan struct{}
	model  *minilm.Model // nil if it cannot be used
	reason string        // why not; "" when no files are there
}

// await returns the encoder of the settings when it has been opened and timed; nil
// if there is none, which is logged where one was asked for.
func (e *encoders) await(ctx context.Context, s EmbeddingSettings, logf func(string, ...any)) retrieval.Encoder {
	if s.Model == EmbeddingsWords {
		return nil
	}
	key := encoderKey{s.Folder, s.LimitMs}
	e.mu.Lock()
	o := e.opened[key]
	if o == nil {
		o = &openedEncoder{ready: make(chan struct{})}
		if e.opened == nil {
			e.opened = map[encoderKey]*openedEncoder{}
		}
		e.opened[key] = o
		go func() {
			defer close(o.ready)
			o.model, o.reason = e.open(key)
		}()
	}
	e.mu.Unlock()
	select {
	case <-o.ready:
	case <-ctx.Done():
		return nil
	}
	if o.model != nil {
		return o.model
	}
	if o.reason == "" && s.Model == EmbeddingsMiniLM {
		o.reason = "there are no files of it"
	}
	if o.reason != "" {
		logf("all-MiniLM-L6-v2 is not used: %s; turns are compared by built-in word vectors", o.reason)
	}
	return nil
}

// timedRuns is how many texts are timed; the quickest counts.
const timedRuns = 5

// open opens and times a model.
func (e *encoders) open(key encoderKey) (model *minilm.Model, reason string) {
	folder := key.folder
	if folder == "" {
		if folder = minilm.Find(e.caches); folder == "" {
			return nil, ""
		}
	}
	model, err := minilm.Open(folder)
	if err != nil {
		return nil, minilm.Reason(err)
	}
	text := strings.Repeat("time ", minilm.MaxTokens)
	quickest := int64(-1)
	for range timedRuns {
		start := e.ticks()
		if _, err := model.Embed(context.Background(), text); err != nil {
			model.Close()
			return nil, minilm.Reason(err)
		}
		if took := e.ticks() - start; quickest < 0 || took < quickest {
			quickest = took
		}
		if quickest <= int64(key.limit)*1000 {
			return model, ""
		}
	}
	model.Close()
	return nil, fmt.Sprintf("a text of %d tokens takes %d ms, over the limit of %d", minilm.MaxTokens, quickest/1000, key.limit)
}

// close closes the models. No workspace may be open any more.
func (e *encoders) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var first error
	for _, o := range e.opened {
		<-o.ready
		if o.model == nil {
			continue
		}
		if err := o.model.Close(); err != nil && first == nil {
			first = err
		}
	}
	e.opened = nil
	return first
}

// spokenText is what a turn says, for the encoder.
func spokenText(r storage.Record) (string, bool) {
	var body turnRecord
	if json.Unmarshal(r.Body, &body) != nil {
		return "", false
	}
	text := strings.TrimSpace(plainTurn(&body.Turn))
	return text, text != ""
}
