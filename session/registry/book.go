package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strconv"
)

// State is how a folder was found.
type State string

// States of a folder that is opened.
const (
	New      State = "new"      // nothing is known of it
	Known    State = "known"    // its workspace is where it was
	Moved    State = "moved"    // it had another name before
	Replaced State = "replaced" // another folder had its name before; it has a workspace of its own
	Gone     State = "gone"     // the folder is not there any more; its workspace is
)

// Place is a folder, or what stands for one.
type Place struct {
	URI  string // canonical
	Path string // in the file system; "" where the URI names nothing in it
	ID   string // the workspace's, when it is seen for the first time
}

// Found is where a folder's memory is.
type Found struct {
	ID    string
	State State
	// Candidate is a workspace that may have been this folder's; its ID is ""
	// when there is none.
	Candidate Entry
}

// Entry is one workspace.
type Entry struct {
	ID   string   `json:"id"`
	URIs []string `json:"uris,omitempty"` // canonical; the one that was used last comes first
	Was  string   `json:"was,omitempty"`  // the URI that another workspace took over
	// Paths are those of URIs; "" for one that names nothing in the file system.
	Paths    []string `json:"paths,omitempty"`
	Identity Identity `json:"identity,omitzero"`
	Seen     int64    `json:"seen"` // Unix milliseconds of the last opening, to the day
	// Asks is the workspace that the user is asked about.
	Asks  string `json:"asks,omitempty"`
	State State  `json:"state,omitempty"` // while Asks is set: New or Replaced
}

// seenStep is how old Seen may be, in milliseconds: a day. A finer one would cost
// a write at each opening.
const seenStep = 24 * 60 * 60 * 1000

// book is the content of the registry's file.
type book struct {
	Format  int      `json:"format"`
	Home    Identity `json:"home,omitzero"` // of the data folder when this was written
	Entries []*Entry `json:"workspaces"`

	hasStore func(id string) bool
	changed  bool
}

func (b *book) entry(id string) *Entry {
	for _, e := range b.Entries {
		if e.ID == id {
			return e
		}
	}
	return nil
}

// named lists the workspaces that a URI stands for or stood for, the one that was
// opened last first.
func (b *book) named(uri string) (found []*Entry) {
	for _, e := range b.Entries {
		if slices.Contains(e.URIs, uri) {
			found = append(found, e)
		}
	}
	slices.SortStableFunc(found, func(a, c *Entry) int { return int(min(max(c.Seen-a.Seen, -1), 1)) })
	return found
}

// resolve finds the workspace of a folder and notes what is new about it.
func (b *book) resolve(p Place, now int64) Found {
	id, missing := look(p.Path)
	e, state := b.find(p, id, missing)
	b.use(e, p, id, now)
	found := Found{ID: e.ID, State: state}
	if e.Asks != "" {
		if c := b.entry(e.Asks); c != nil {
			found.State, found.Candidate = e.State, *c
		}
	}
	return found
}

// find returns the entry of a folder, which is made if there is none.
func (b *book) find(p Place, id Identity, missing bool) (*Entry, State) {
	named := b.named(p.URI)
	if !id.known() {
		switch {
		case len(named) == 0:
			return b.add(p)
		case missing && named[0].Identity.known():
			return named[0], Gone
		}
		return named[0], Known
	}
	for _, e := range named {
		if e.Identity.known() && e.Identity.sameNode(id) {
			return e, Known
		}
	}
	if len(named) == 0 && b.hasStore(p.ID) && b.entry(p.ID) == nil {
		return b.add(p) // older than the registry
	}
	for _, e := range b.Entries {
		if !e.Identity.same(id) {
			continue
		}
		if e.there() {
			return e, Known // another way to it
		}
		if id.Born != 0 {
			e.URIs, e.Paths = nil, nil // they lead to it no longer
			return e, Moved
		}
		// Without a time of birth this may be another folder with its number.
		return b.ask(p, e, New)
	}
	for _, e := range named {
		if !e.Identity.known() {
			return e, Known // it was not there before
		}
	}
	if len(named) > 0 {
		return b.ask(p, named[0], Replaced)
	}
	if c := b.lost(p); c != nil {
		return b.ask(p, c, New)
	}
	return b.add(p)
}

// there tells whether one of the entry's names leads to its folder.
func (e *Entry) there() bool {
	for _, p := range e.Paths {
		if id, _ := look(p); e.Identity.known() && id.known() && e.Identity.sameNode(id) {
			return true
		}
	}
	return false
}

// lost returns the workspace whose folder is gone and had the same last name, if
// there is one alone.
func (b *book) lost(p Place) (found *Entry) {
	for _, e := range b.Entries {
		if !e.Identity.known() || len(e.Paths) == 0 || path.Base(e.URIs[0]) != path.Base(p.URI) {
			continue
		}
		if _, missing := look(e.Paths[0]); missing {
			if found != nil {
				return nil
			}
			found = e
		}
	}
	return found
}

// ask makes a workspace for a folder and notes which other may be its own.
func (b *book) ask(p Place, candidate *Entry, state State) (*Entry, State) {
	e, _ := b.add(p)
	e.Asks, e.State = candidate.ID, state
	return e, state
}

// add makes an entry. Its id is the place's own, unless that is taken.
func (b *book) add(p Place) (*Entry, State) {
	id := p.ID
	for n := 2; b.entry(id) != nil || n > 2 && b.hasStore(id); n++ {
		sum := sha256.Sum256([]byte(p.URI + "\x00" + strconv.Itoa(n)))
		id = hex.EncodeToString(sum[:8])
	}
	e := &Entry{ID: id}
	b.Entries = append(b.Entries, e)
	if b.hasStore(id) {
		return e, Known
	}
	return e, New
}

// use notes that a place leads to a workspace.
func (b *book) use(e *Entry, p Place, id Identity, now int64) {
	if len(e.URIs) == 0 || e.URIs[0] != p.URI {
		if at := slices.Index(e.URIs, p.URI); at >= 0 {
			e.URIs, e.Paths = slices.Delete(e.URIs, at, at+1), slices.Delete(e.Paths, at, at+1)
		}
		e.URIs, e.Paths = slices.Insert(e.URIs, 0, p.URI), slices.Insert(e.Paths, 0, p.Path)
		b.changed = true
	}
	if id.known() && e.Identity != id {
		e.Identity = id
		b.changed = true
	}
	if now-e.Seen >= seenStep || now < e.Seen-seenStep || e.Seen == 0 {
		e.Seen = max(now, 1)
		b.changed = true
	}
}

// adopt gives a folder the workspace from. It returns the one it had.
func (b *book) adopt(p Place, from string, now int64) (before string, err error) {
	before = b.resolve(p, now).ID
	e, target := b.entry(before), b.entry(from)
	if target == nil {
		if !b.hasStore(from) {
			return before, ErrUnknown
		}
		target = &Entry{ID: from}
		b.Entries = append(b.Entries, target)
	}
	b.changed = true
	if target == e {
		e.Asks, e.State = "", ""
		return before, nil
	}
	if target.there() {
		return before, ErrInUse
	}
	at := slices.Index(e.URIs, p.URI)
	e.URIs, e.Paths = slices.Delete(e.URIs, at, at+1), slices.Delete(e.Paths, at, at+1)
	e.Identity, e.Was, e.Asks, e.State = Identity{}, p.URI, "", ""
	id, _ := look(p.Path)
	target.Identity, target.Was, target.Asks, target.State = Identity{}, "", "", ""
	target.URIs, target.Paths = nil, nil
	b.use(target, p, id, now)
	target.Seen = max(now, 1)
	return before, nil
}
