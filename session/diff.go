package session

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hexapla/layers"
)

// PackChange is one thing that two packs show differently. From has no detail
// for what was added, To none for what was removed.
type PackChange struct {
	ID      string
	Section string // in the second pack; in the first for what was removed
	From    layers.Form
	To      layers.Form
	item    packItem // of the one that showed it, else of the other
}

// DiffReply compares two packs of the audit log, which were built again.
type DiffReply struct {
	From, To                PackReply
	Added, Removed, Changed []PackChange
	PrefixBytes             int // bytes at the beginning of both texts that are the same
	Reason                  string
}

// Reasons why a pack does not go on with the bytes of another, beside those of
// a fold (layers.EpochWindow and so on).
const (
	DiffSame    = "same"    // it is the same pack
	DiffAppend  = "append"  // no fold between them: what changed stands at the end
	DiffRequest = "request" // they were asked for with other parameters, or under other settings
)

// Diff tells what changed from one pack of the audit log to another. A checksum
// that is not in the log gives ErrNotFound.
func (s *Session) Diff(ctx context.Context, from, to string) (DiffReply, error) {
	var reply DiffReply
	var err error
	if reply.From, err = s.Replay(ctx, from); err != nil {
		return reply, ofParameter("from", err)
	}
	if reply.To, err = s.Replay(ctx, to); err != nil {
		return reply, ofParameter("to", err)
	}
	a, b := reply.From.Pack, reply.To.Pack
	reply.PrefixBytes = commonPrefix(a.Text, b.Text)
	reply.Reason = diffReason(&reply, a, b)
	reply.Added, reply.Removed, reply.Changed = pair(itemsOf(a), itemsOf(b))
	return reply, nil
}

// pair tells what the items of two packs have not in common.
func pair(before, after []packItem) (added, removed, changed []PackChange) {
	known := make(map[itemKey]int, len(before))
	for i := range before {
		known[before[i].key] = i
	}
	kept := make([]bool, len(before))
	for _, now := range after {
		i, ok := known[now.key]
		if !ok {
			added = append(added, PackChange{ID: now.id, Section: now.section, To: now.form, item: now})
			continue
		}
		kept[i] = true
		if before[i].form != now.form {
			changed = append(changed, PackChange{ID: now.id, Section: now.section, From: before[i].form, To: now.form, item: before[i]})
		}
	}
	for i, gone := range before {
		if !kept[i] {
			removed = append(removed, PackChange{ID: gone.id, Section: gone.section, From: gone.form, item: gone})
		}
	}
	return added, removed, changed
}

// ofParameter names the parameter whose pack there is no entry of.
func ofParameter(name string, err error) error {
	var missing *NotFoundError
	if errors.As(err, &missing) {
		return &NotFoundError{Path: name, Message: missing.Message}
	}
	return fmt.Errorf("%s: %w", name, err)
}

func diffReason(reply *DiffReply, a, b *layers.Pack) string {
	system := func(p *layers.Pack) string { return p.Branches.System }
	switch {
	case reply.From.Checksum == reply.To.Checksum:
		return DiffSame
	case a.Session != b.Session, a.Layout != b.Layout, a.Budget != b.Budget, a.Encoding != b.Encoding, a.Settings != b.Settings,
		system(a) != system(b), (a.EpochReason == layers.EpochFill) != (b.EpochReason == layers.EpochFill):
		return DiffRequest
	case a.Epoch == b.Epoch:
		return DiffAppend
	}
	return b.EpochReason
}

// packItem is an item of a pack, told apart from every other one.
type packItem struct {
	key         itemKey
	id, section string
	form        layers.Form
	said        bool // by the user
	at          int  // place in the pack
}

// itemKey names the same thing in two packs. A piece of the stream keeps its
// key when it is shown in other detail or is no longer the input; what stands
// for something else is told apart by what it is.
type itemKey struct {
	id, section, detail string
	n                   int
}

func itemsOf(p *layers.Pack) []packItem {
	var out []packItem
	seen := map[itemKey]int{}
	for i := range p.Sections {
		s := &p.Sections[i]
		for _, item := range s.Items {
			key := itemKey{id: item.ID}
			if !isPieceID(item.ID) || s.Name == layers.SectionErrors {
				key.section, key.detail = s.Name, item.Form.Detail
			}
			if item.Form.Detail == layers.FormDigest {
				key.section = "" // it moves with what it stands for
			}
			n := seen[key]
			seen[key]++
			key.n = n
			out = append(out, packItem{
				key: key, id: item.ID, section: s.Name, form: item.Form, said: item.User || s.Name == layers.SectionPins, at: len(out),
			})
		}
	}
	return out
}

// isPieceID tells that an item is a piece of the stream: a turn, an output, or
// what was served or found.
func isPieceID(id string) bool { return strings.ContainsAny(id, "#:") }
