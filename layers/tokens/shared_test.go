package tokens_test

import (
	"compress/gzip"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hexapla/internal/shareddata"
)

// whole makes TestSharedData go through all of every file, which takes minutes:
//
//	go test ./layers/tokens -run TestSharedData -whole -timeout 60m
var whole = flag.Bool("whole", false, "compare all of the recorded sessions with tiktoken-go, not a sample")

// Every recorded file has the ids that tiktoken-go gives: three places of each,
// or all of it with -whole. Pieces stay below what slows tiktoken-go, because
// texts are given to it in parts of a few KB.
func TestSharedData(t *testing.T) {
	t.Parallel()
	root := shareddata.Dir(t)
	var files []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	parts := make(chan string)
	go func() {
		defer close(parts)
		for _, file := range files {
			text, err := content(file)
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			for _, part := range sample(text) {
				parts <- part
			}
		}
	}()
	compared := 0
	for part := range parts {
		compared += len(part)
		for _, name := range names {
			if err := differs(t, name, part); err != "" && !t.Failed() {
				t.Error(err)
			}
		}
	}
	t.Logf("%d files, %d bytes compared", len(files), compared)
}

func content(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(file, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return "", err
		}
	}
	raw, err := io.ReadAll(r)
	return string(raw), err
}

// sample returns the parts of a text to compare: at its start, middle and end,
// or all of it. Where the parts are cut is of no matter: both count the part.
func sample(text string) []string {
	const size = 3 << 10
	if *whole {
		var parts []string
		for len(text) > 4*size {
			cut := strings.LastIndexByte(text[:4*size], '\n') + 1
			if cut == 0 {
				cut = 4 * size
			}
			parts = append(parts, text[:cut])
			text = text[cut:]
		}
		return append(parts, text)
	}
	if len(text) <= 3*size {
		return []string{text}
	}
	middle := len(text) / 2
	return []string{text[:size], text[middle : middle+size], text[len(text)-size:]}
}

// A whole recorded file has the sum of the counts of its lines, except where a
// line starts with white space or '/'.
func TestSharedDataAddsUp(t *testing.T) {
	t.Parallel()
	root := shareddata.Dir(t)
	for _, file := range []string{"aider/chat-history.md", "pi/large-session.jsonl", "beam/100K-1.chat.json"} {
		text, err := content(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			e := encoding(t, name)
			sum, start, sections := 0, 0, 0
			for i := 1; i < len(text); i++ {
				if text[i-1] == '\n' && !strings.ContainsRune(" \t\r\n\v\f/", rune(text[i])) && text[i] < 0x80 {
					sum += e.Count(text[start:i])
					start = i
					sections++
				}
			}
			sum += e.Count(text[start:])
			if n := e.Count(text); n != sum {
				t.Errorf("%s %s: %d as a whole, %d in %d sections", name, file, n, sum, sections)
			}
		}
	}
}
