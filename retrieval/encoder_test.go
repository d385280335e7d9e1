package retrieval_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"hexapla/retrieval"
	"hexapla/retrieval/minilm"
	"hexapla/retrieval/minilm/minilmtest"
	"hexapla/storage"
)

// counted is an encoder that counts the texts it embeds.
type counted struct {
	*minilm.Model
	texts atomic.Int64
	ended atomic.Bool // it fails from now on
}

func (c *counted) Embed(ctx context.Context, text string) ([]float32, error) {
	if c.ended.Load() {
		return nil, errors.New("the weights cannot be read")
	}
	c.texts.Add(1)
	return c.Model.Embed(ctx, text)
}

func openEncoder(t *testing.T, seed uint64) *counted {
	t.Helper()
	m, err := minilm.Open(minilmtest.Write(t, seed))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return &counted{Model: m}
}

// encoding makes an engine that embeds with an encoder, by a clock that stands,
// and begins to. stop ends that.
func (w *workspace) encoding(encoder retrieval.Encoder, clock *atomic.Int64) (e *retrieval.Engine, stop func()) {
	w.t.Helper()
	e = retrieval.New(retrieval.Options{Store: w.store, Logf: w.t.Logf, Encoder: retrieval.EncoderOptions{
		Await: func(context.Context) retrieval.Encoder { return encoder },
		Dir:   w.indexDir(),
		Text:  func(r storage.Record) (string, bool) { return string(r.Body), len(r.Body) > 0 },
		Now:   clock.Load,
	}})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = e.RunEncoder(ctx)
	}()
	stop = func() {
		cancel()
		<-done
	}
	w.t.Cleanup(stop)
	return e, stop
}

// encoded waits until everything is embedded.
func (w *workspace) encoded(e *retrieval.Engine) {
	w.t.Helper()
	await(w.t, "the encoder to catch up", func() bool {
		model, seq := e.Encoded()
		return model != "" && seq >= w.store.Seq()
	})
}

func entries(from, to int) (all []entry) {
	words := minilmtest.Words()
	for i := from; i < to; i++ {
		text := strings.Join([]string{words[i%len(words)], words[(i*7+3)%len(words)], words[(i*13+5)%len(words)]}, " ")
		all = append(all, turn(fmt.Sprintf("c%d", i/4), i%4+1, text))
		if i%4 == 3 {
			all = append(all, trio(fmt.Sprintf("c%d", i/4), text))
		}
	}
	return all
}

// TestB8_Encoder: a search that has an encoder compares all turns of its view, so
// that one is found which has no word of the query; it gives the same hits when
// all vectors are made anew, when they are read again, and when the newest turns are
// embedded by the search itself.
func TestB8_Encoder(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(50, entries(0, 60)...)
	encoder := openEncoder(t, 1)
	var clock atomic.Int64
	query := retrieval.Query{Text: "violin music lesson", Kinds: []string{"turn"}, Weights: retrieval.TurnWeights(), Limit: 100}
	words := w.search(retrieval.New(retrieval.Options{Store: w.store}), 0, query)
	if words.Model != retrieval.BuiltinModel {
		t.Errorf("without an encoder: %q", words.Model)
	}
	e, stop := w.encoding(encoder, &clock)
	w.encoded(e)
	first := w.search(e, 0, query)
	if first.Model != encoder.ID() || first.Total <= words.Total {
		t.Errorf("%q, %d hits, by words %d", first.Model, first.Total, words.Total)
	}
	past := w.search(e, 30, query)
	stop()
	if again := w.search(e, 0, query); again.Model != retrieval.BuiltinModel {
		t.Errorf("after the end: %q", again.Model)
	}

	// What is in the file is read again, and nothing is embedded twice.
	before := encoder.texts.Load()
	e, stop = w.encoding(encoder, &clock)
	w.encoded(e)
	if n := encoder.texts.Load(); n != before {
		t.Errorf("%d texts embedded again", n-before)
	}
	if again := w.search(e, 0, query); !slices.Equal(again.Hits, first.Hits) {
		t.Error("read again, the vectors rank otherwise")
	}
	if again := w.search(e, 30, query); !slices.Equal(again.Hits, past.Hits) {
		t.Error("a view of the past ranks otherwise")
	}
	stop()

	// A damaged file costs no more than making it again.
	path := filepath.Join(w.indexDir(), "vectors")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/2] ^= 1
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	e, stop = w.encoding(encoder, &clock)
	w.encoded(e)
	if again := w.search(e, 0, query); !slices.Equal(again.Hits, first.Hits) {
		t.Error("made again, the vectors rank otherwise")
	}

	// What was just recorded is embedded by the search, if the rest is there.
	w.write(1, entries(60, 64)...)
	now := w.search(e, 0, query)
	w.encoded(e)
	if again := w.search(e, 0, query); now.Model != encoder.ID() || !slices.Equal(now.Hits, again.Hits) {
		t.Errorf("just recorded: %q", now.Model)
	}
	stop()

	// Another model has vectors of its own.
	other := openEncoder(t, 2)
	e, _ = w.encoding(other, &clock)
	w.encoded(e)
	if r := w.search(e, 0, query); r.Model != other.ID() || r.Model == encoder.ID() {
		t.Errorf("another model: %q", r.Model)
	}
	if other.texts.Load() < 64 {
		t.Errorf("another model embedded %d texts", other.texts.Load())
	}
}

// TestB8_EncoderFails: where the encoder ends, searches go on by words.
func TestB8_EncoderFails(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(50, entries(0, 12)...)
	encoder := openEncoder(t, 1)
	var clock atomic.Int64
	e, _ := w.encoding(encoder, &clock)
	w.encoded(e)
	encoder.ended.Store(true)
	query := retrieval.Query{Text: "violin lesson", Kinds: []string{"turn"}, Weights: retrieval.TurnWeights()}
	want := w.search(retrieval.New(retrieval.Options{Store: w.store}), 0, query)
	if got := w.search(e, 0, query); got.Model != retrieval.BuiltinModel || !slices.Equal(got.Hits, want.Hits) {
		t.Errorf("%q", got.Model)
	}
}

// TestB8_QueryCache: a query is embedded once in five minutes, and its hits are
// the same from the cache.
func TestB8_QueryCache(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(50, entries(0, 12)...)
	encoder := openEncoder(t, 1)
	var clock atomic.Int64
	clock.Store(1_000_000)
	e, _ := w.encoding(encoder, &clock)
	w.encoded(e)
	before := encoder.texts.Load()
	query := retrieval.Query{Text: "violin lesson", Kinds: []string{"turn"}, Weights: retrieval.TurnWeights()}
	first := w.search(e, 0, query)
	for _, step := range []struct {
		after int64 // ms
		texts int64
	}{{0, 1}, {299_999, 1}, {1, 2}, {-600_000, 3}, {1000, 3}} {
		clock.Add(step.after)
		if again := w.search(e, 0, query); !slices.Equal(again.Hits, first.Hits) {
			t.Error("the hits differ")
		}
		if n := encoder.texts.Load() - before; n != step.texts {
			t.Errorf("%d ms later: %d texts, not %d", step.after, n, step.texts)
		}
	}
}

// TestB8_Reciprocal: fused by ranks, what is first in both rankings has score 1,
// and nothing has more.
func TestB8_Reciprocal(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(500,
		turn("c1", 1, "On Monday the surgeon will look at my knee in the hospital."),
		turn("c2", 1, "On Monday the compiler will warn about the parser in the module."),
		turn("c3", 1, "The garden was late."),
	)
	e := retrieval.New(retrieval.Options{Store: w.store})
	query := retrieval.Query{Text: "doctor in the hospital on Monday", Kinds: []string{"turn"}, Weights: retrieval.TurnWeights(), Reciprocal: true}
	hits := w.search(e, 0, query).Hits
	if len(hits) < 2 || hits[0].ID != "c1#1" || hits[0].Score != 1 || hits[1].Score >= 1 {
		t.Errorf("%+v", hits)
	}
	if again := w.search(e, 0, query).Hits; !slices.Equal(again, hits) {
		t.Error("twice is not the same")
	}
}

// TestB8_OlderStore: a file of vectors that knows a future of the store, of which
// an older copy was put back, is made anew.
func TestB8_OlderStore(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(50, entries(0, 8)...)
	encoder := openEncoder(t, 1)
	var clock atomic.Int64
	e, stop := w.encoding(encoder, &clock)
	w.encoded(e)
	stop()
	row := binary.BigEndian.AppendUint64(nil, uint64(w.store.Seq()+1))
	row = append(row, make([]byte, 4+encoder.Dimensions())...)
	row = binary.BigEndian.AppendUint32(row, crc32.Checksum(row, crc32.MakeTable(crc32.Castagnoli)))
	file, err := os.OpenFile(filepath.Join(w.indexDir(), "vectors"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(row); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	encoder.texts.Store(0)
	e, _ = w.encoding(encoder, &clock)
	w.encoded(e)
	if n := encoder.texts.Load(); n != 8 {
		t.Errorf("%d texts embedded", n)
	}
}
