package storage

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
)

// This file is what follows where a mapping takes records away, or gives them
// other ids: their versions, places in lists and postings.

// version maps the entry of a version: it goes, or moves, with its record.
func (w *mapper) version(c *change) {
	if len(c.key) < 8 {
		return
	}
	seq := newest(c.key[len(c.key)-8:])
	if w.dropped[seq] {
		c.to = nil
		return
	}
	if len(w.moved) == 0 {
		return
	}
	kind, rest, ok := cutName(c.key)
	id, _, ok2 := cutName(rest)
	if !ok || !ok2 {
		return
	}
	if to, moves := w.moved[seq]; moves {
		id = to
		c.to, c.elsewhere = appendNewest(versionPrefix(kind, id), seq), true
	}
	if versions, target := w.merged[Mention{kind, id}]; target {
		w.merged[Mention{kind, id}] = append(versions, seq)
	}
}

// newMentions emits what records are found by that they were not before.
func (w *mapper) newMentions() error {
	for _, seq := range slices.Sorted(maps.Keys(w.found)) {
		names := slices.SortedFunc(maps.Keys(w.found[seq]), func(a, b Mention) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
		})
		for _, m := range names {
			if err := w.emit(change{bucket: bucketMentions, to: mentionKey(m, seq), elsewhere: true}); err != nil {
				return err
			}
		}
	}
	return nil
}

// place maps a place in a list: those behind one that goes move up.
func (w *mapper) place(c *change) {
	if len(c.key) < 8 {
		w.harmed(c)
		return
	}
	prefix, at := c.key[:len(c.key)-8], toNumber(c.key[len(c.key)-8:])
	if !bytes.Equal(prefix, w.list) {
		w.list, w.left = prefix, 0
	}
	entry, err := openEntry(c.key, c.value)
	switch {
	case err != nil:
		w.harmed(c)
	case w.dropped[entry.Seq], w.later[entry.Seq]:
		c.to = nil
	}
	if c.to == nil {
		w.left++
		return
	}
	id, renamed := w.moved[entry.Seq]
	if renamed {
		entry.ID = id
	}
	if name, _, ok := cutName(prefix); ok && w.m.List != nil {
		if to := w.m.List(name); to != name {
			prefix, c.elsewhere = listPrefix(to), true
		}
	}
	if w.left > 0 || renamed || c.elsewhere {
		c.to = appendNumber(bytes.Clone(prefix), at-w.left)
		if err == nil {
			c.content = sealEntry(c.to, entry)
		}
	}
}
