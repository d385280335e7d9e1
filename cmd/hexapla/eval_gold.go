package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// boundary is a place where a recorded client compacted itself.
type boundary struct {
	file   string   // path of the transcript below the data folder, with forward slashes
	object int      // number of the boundary among the file's JSON objects, from 0
	tokens int      // of the client's prompt before the boundary; 0 when unknown
	line   int      // of the boundary in the file, from 1; 0 until it was located
	gold   []string // identifiers that were needed after it, sorted
}

// name says where a located boundary is: the file's name and the line.
func (b boundary) name() string { return fmt.Sprintf("%s:%d", path.Base(b.file), b.line) }

// readBoundaries reads the boundaries of the set below a data folder, those of
// a file next to each other and in order. A boundary without identifiers is an
// error, as is a file that lacks what is needed.
func readBoundaries(data string) ([]boundary, error) {
	name := filepath.Join(data, "compaction-gold", "compaction_gold.json")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var set struct {
		Compactions []struct {
			File   string         `json:"file"`
			Object *int           `json:"boundary_line_index"`
			Tokens int            `json:"pre_tokens"`
			Gold   map[string]int `json:"gold"`
		} `json:"compactions"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(set.Compactions) == 0 {
		return nil, fmt.Errorf("%s: no compactions in it", name)
	}
	var all []boundary
	for i, c := range set.Compactions {
		if c.File == "" || c.Object == nil || len(c.Gold) == 0 {
			return nil, fmt.Errorf("%s: compaction %d has no file, no boundary_line_index or no gold", name, i+1)
		}
		b := boundary{file: c.File, object: *c.Object, tokens: c.Tokens}
		for id := range c.Gold {
			if id == "" {
				return nil, fmt.Errorf("%s: compaction %d has an empty identifier", name, i+1)
			}
			b.gold = append(b.gold, id)
		}
		slices.Sort(b.gold)
		all = append(all, b)
	}
	slices.SortStableFunc(all, func(a, b boundary) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.object, b.object))
	})
	return all, nil
}

// mark is a boundary as a transcript records it.
type mark struct {
	object int // among the objects of the file, from 0
	line   int // from 1
	tokens int // of the prompt before it; 0 when the file does not say
}

// readMarks finds the boundaries in a Claude Code transcript. As in the set,
// a line counts as an object if all of it is one JSON value.
func readMarks(r io.Reader) ([]mark, error) {
	in := bufio.NewReader(r)
	var marks []mark
	object := 0
	for line := 1; ; line++ {
		text, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if json.Valid(text) {
			if tokens, ok := markOf(text); ok {
				marks = append(marks, mark{object, line, tokens})
			}
			object++
		}
		if err != nil {
			return marks, nil
		}
	}
}

// markOf tells whether a line is a boundary, and its tokens.
func markOf(line []byte) (tokens int, ok bool) {
	if !bytes.Contains(line, []byte("compact_boundary")) {
		return 0, false
	}
	var l struct {
		Type     string `json:"type"`
		Subtype  string `json:"subtype"`
		Metadata struct {
			Tokens int `json:"preTokens"`
		} `json:"compactMetadata"`
	}
	if json.Unmarshal(line, &l) != nil || l.Type != "system" || l.Subtype != "compact_boundary" {
		return 0, false
	}
	return l.Metadata.Tokens, true
}

// locate finds the line of a boundary. The error says why the set and the
// transcript do not fit together.
func (b *boundary) locate(marks []mark) error {
	for _, m := range marks {
		if m.object != b.object {
			continue
		}
		if m.tokens != 0 && b.tokens != 0 && m.tokens != b.tokens {
			return fmt.Errorf("line %d: compacted at %s tokens, not at %s as the set has it",
				m.line, thousands(int64(m.tokens)), thousands(int64(b.tokens)))
		}
		b.line = m.line
		return nil
	}
	return fmt.Errorf("object %d is no compaction boundary", b.object)
}
