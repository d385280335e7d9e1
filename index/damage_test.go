package index_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hexapla/index"
)

// built makes an index of several segment files and closes it.
func built(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	docs := numbered(300)
	for i := 0; i < len(docs); i += 100 {
		ix, err := index.Open(context.Background(), options(dir, t))
		if err != nil {
			t.Fatal(err)
		}
		apply(t, ix, int64(i+100), docs[i:i+100]...)
		if err := ix.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func segments(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "live", "*.zap"))
	if err != nil || len(files) == 0 {
		t.Fatalf("segment files: %v, %v", files, err)
	}
	return files
}

func rewrite(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestX1_DamageCostsARebuild damages a good index in every way of fault X1 and X2.
// Opening it must give either an empty index that works, with the old one in
// quarantine, or one that is complete; never an error, never wrong answers.
func TestX1_DamageCostsARebuild(t *testing.T) {
	t.Parallel()
	flip := func(seed uint64) func([]byte) []byte {
		return func(b []byte) []byte {
			r := rand.New(rand.NewPCG(seed, 1))
			for range 5 {
				b[r.IntN(len(b))] ^= 1 << r.IntN(8)
			}
			return b
		}
	}
	half := func(b []byte) []byte { return b[:len(b)/2] }
	none := func([]byte) []byte { return nil }
	type damage struct {
		name string
		do   func(t *testing.T, dir string)
	}
	root := func(dir string) string { return filepath.Join(dir, "live", "root.bolt") }
	corpus := []damage{
		{"segment missing", func(t *testing.T, dir string) { os.Remove(segments(t, dir)[0]) }},
		{"segment cut", func(t *testing.T, dir string) { rewrite(t, segments(t, dir)[0], half) }},
		{"segment empty", func(t *testing.T, dir string) { rewrite(t, segments(t, dir)[0], none) }},
		{"root missing", func(t *testing.T, dir string) { os.Remove(root(dir)) }},
		{"root empty", func(t *testing.T, dir string) { rewrite(t, root(dir), none) }},
		{"root cut in half", func(t *testing.T, dir string) { rewrite(t, root(dir), half) }},
		{"root cut to a page", func(t *testing.T, dir string) { rewrite(t, root(dir), func(b []byte) []byte { return b[:4096] }) }},
		{"root is something else", func(t *testing.T, dir string) {
			rewrite(t, root(dir), func(b []byte) []byte { return []byte(strings.Repeat("not a database ", 5000)) })
		}},
		{"root filled with zeros", func(t *testing.T, dir string) {
			rewrite(t, root(dir), func(b []byte) []byte { clear(b); return b })
		}},
		{"a file in place of the folder", func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, "live")); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "live"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for seed := range uint64(12) {
		corpus = append(corpus, damage{"bits of a segment", func(t *testing.T, dir string) {
			files := segments(t, dir)
			rewrite(t, files[int(seed)%len(files)], flip(seed))
		}})
	}
	for seed := range uint64(12) {
		corpus = append(corpus, damage{"bits of the root", func(t *testing.T, dir string) { rewrite(t, root(dir), flip(seed)) }})
	}
	for _, c := range corpus {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := built(t)
			c.do(t, dir)
			ix := open(t, options(dir, t))
			_, err := os.Stat(filepath.Join(dir, "quarantine"))
			switch ix.Watermark() {
			case 0:
				if err != nil {
					t.Errorf("nothing in quarantine: %v", err)
				}
			case 300: // the damage hit nothing that is in use
			default:
				// An older root of the same index.
				t.Logf("watermark %d", ix.Watermark())
			}
			at := ix.Watermark()
			if got := candidates(t, ix, at, 1000, "all"); int64(len(got)) != at {
				t.Errorf("%d candidates at watermark %d", len(got), at)
			}
			docs := numbered(310)
			apply(t, ix, 310, docs...)
			want := []int64{310, 309, 308}
			if got := candidates(t, ix, 310, 3, "all"); !slices.Equal(got, want) {
				t.Errorf("after the rebuild: %v", got)
			}
			if got := len(candidates(t, ix, 310, 1000, "even")); got != 155 {
				t.Errorf("%d even after the rebuild", got)
			}
			if err := ix.Close(); err != nil {
				t.Error(err)
			}
			again := open(t, options(dir, t))
			if again.Watermark() != 310 {
				t.Errorf("watermark %d after the rebuild was closed", again.Watermark())
			}
		})
	}
}

func TestX3_ForeignIndex(t *testing.T) {
	t.Parallel()
	dir := built(t)
	opts := options(dir, t)
	opts.StoreUUID = "another"
	ix := open(t, opts)
	if ix.Watermark() != 0 {
		t.Errorf("another store's index was taken, at %d", ix.Watermark())
	}
	if got := candidates(t, ix, 0, 10, "all"); got != nil {
		t.Errorf("it answers %v", got)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	// Only one old index is kept.
	if err := os.WriteFile(filepath.Join(dir, "quarantine", "mark"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	apply(t, open(t, options(dir, t)), 1, numbered(1)...)
	if _, err := os.Stat(filepath.Join(dir, "quarantine", "mark")); err == nil {
		t.Error("the older quarantine was kept")
	}
}

func TestRefusedPermissionIsNotDamage(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root may read everything")
	}
	dir := built(t)
	live := filepath.Join(dir, "live")
	if err := os.Chmod(live, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := index.Open(context.Background(), options(dir, t)); err == nil {
		t.Error("opened a folder that may not be read")
	}
	if err := os.Chmod(live, 0o700); err != nil {
		t.Fatal(err)
	}
	if ix := open(t, options(dir, t)); ix.Watermark() != 300 {
		t.Errorf("watermark %d afterwards", ix.Watermark())
	}
}
