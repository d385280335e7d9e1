package session

import (
	"cmp"
	"context"
	"slices"

	"hexapla/layers/scrub"
	"hexapla/storage"
)

// Rescrubbed tells what a rescrub replaced, or would replace. No value is in it.
type Rescrubbed struct {
	Places []ScrubbedPlace // what was found, by kind of place, in order of their names
	// Families are the findings of all places.
	Families  []scrub.FamilyCount
	Records   int   // versions of records that were rewritten, also for a reference or a count alone
	Blobs     int   // outputs that were replaced
	Bytes     int64 // of the text that was looked through
	Audit     int   // entries of the audit log that were rewritten
	Replies   int   // answers that are kept for repeated writes and were taken out
	Renamed   int   // ids, such as sessions and aliases, that were secrets
	Redacted  int   // packs of the past that are marked since
	Packs     []string
	Unreached int // outputs that are no text and have a finding: they are as they were
	Damaged   int // records and outputs that could not be read; they went if anything was replaced
	Sequence  int64
}

// Changed tells whether there was anything to replace.
func (r *Rescrubbed) Changed() bool { return len(r.Places) > 0 }

// ScrubbedPlace is how much was found in one kind of place.
type ScrubbedPlace struct {
	Kind     string // of the record; else "output" for what tools printed, "audit", "system", "reply" or "id"
	Families []scrub.FamilyCount
}

// maxPacksTold bounds the packs of a receipt.
const maxPacksTold = 100

// Rescrub puts placeholders in the place of what the client's rules find in
// everything that was recorded before they were in force. When it returns no file
// of the store has a value that was found. The placeholders are those that the
// door gives, and what is made of a text (words, counts, compressed outputs, trios,
// layer 0) is made anew of the clean one, so that what is read, and the next pack,
// is as if it had been scrubbed when it came. With dry it only counts.
//
// Packs of the past that may have shown something of it are marked. Where there is
// nothing to replace nothing is written. Until its commit it ends with ctx.
func (s *Service) Rescrub(ctx context.Context, session string, dry bool) (Rescrubbed, error) {
	at, err := s.Session(session)
	if err != nil {
		return Rescrubbed{}, err
	}
	var r *rescrubbing
	err = at.Workspace.view(0, func(v storage.View) (err error) {
		r, err = s.newRescrubbing(ctx, at.Workspace, v)
		return err
	})
	if err == nil && !dry {
		err = s.shared.places.Rename(ctx, s.hide)
	}
	if err != nil || dry || !r.done.Changed() {
		if r == nil {
			return Rescrubbed{}, err
		}
		return r.done, err
	}
	r = nil
	err = s.shared.erase(at.Workspace, func(ws *Workspace) error {
		return ws.store.EraseIn(ctx, []func(storage.View) (storage.Mapping, error){
			func(v storage.View) (m storage.Mapping, err error) {
				if r, err = s.newRescrubbing(ctx, ws, v); err != nil || !r.done.Changed() {
					return m, err
				}
				ws.rename = r.name
				return r.mapping(), nil
			},
			func(v storage.View) (storage.Mapping, error) { return r.trios(v) },
			func(v storage.View) (storage.Mapping, error) { return r.contexts(v) },
		}, func() error { return ws.purgeIndex(ctx) })
	})
	if r == nil {
		return Rescrubbed{}, err
	}
	return r.done, err
}

// newRescrubbing reads what there is to replace as of a view.
func (s *Service) newRescrubbing(ctx context.Context, ws *Workspace, v storage.View) (*rescrubbing, error) {
	r := &rescrubbing{
		ctx: ctx, ws: ws, view: v, scrubber: s.scrubberFor(ws), counting: true,
		places: map[string][]scrub.Finding{}, blobs: map[string]cleanBlob{}, records: map[int64]storage.Content{},
		calls: map[string]map[int][]cleanCall{}, turns: map[string]turnMoved{}, touched: map[string]int64{},
		deltas: map[string]int64{}, renewals: map[int64]contextRenewal{}, ids: map[string]bool{},
		systems: map[string]bool{}, lists: map[string]string{},
	}
	r.done.Sequence = v.Seq()
	for _, step := range []func() error{r.readBlobs, r.readRecords, r.readTables, r.readReplies, r.readAudit} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	r.counting = false
	r.settle()
	return r, v.Err()
}

// rescrubbing is what is known of what is being replaced.
type rescrubbing struct {
	ctx      context.Context
	ws       *Workspace
	view     storage.View
	scrubber *scrub.Scrubber
	counting bool // findings are noted
	places   map[string][]scrub.Finding
	blobs    map[string]cleanBlob // by their hash so far: those that change or go
	records  map[int64]storage.Content
	first    int64                          // sequence of the first record that has other text
	touched  map[string]int64               // conversations whose texts change, by the sequence of the first one
	calls    map[string]map[int][]cleanCall // of conversations, by turn
	turns    map[string]turnMoved           // the newest version of each turn so far
	deltas   map[string]int64               // tokens that edits added to sessions, beyond what is known
	renewals map[int64]contextRenewal       // how versions of layer 0 were made
	ids      map[string]bool                // that were secrets
	systems  map[string]bool                // tables with system branches that change
	tokens   int64                          // that all turns have more
	count    int64                          // of blobs that there are more
	bytes    int64                          // of blobs that there are more
	lists    map[string]string              // new names of lists, by the old ones
	failed   error                          // of a part of the mapping that cannot return one
	done     Rescrubbed
}

// scrub replaces what is found in a text at a kind of place. A text that is a
// name of ours as a whole stays.
func (r *rescrubbing) scrub(kind, text string) string {
	if ours(text) {
		return text
	}
	if r.counting {
		r.done.Bytes += int64(len(text))
	}
	clean, found := r.scrubber.Scrub(text)
	r.found(kind, found)
	return clean
}

func (r *rescrubbing) found(kind string, found []scrub.Finding) {
	if r.counting && len(found) > 0 {
		r.places[kind] = append(r.places[kind], found...)
	}
}

// json replaces what is found in a text that may be JSON, as the door does in
// values.
func (r *rescrubbing) json(kind, text string) string {
	a := admission{scrubber: r.scrubber}
	if r.counting {
		r.done.Bytes += int64(len(text))
	}
	clean := string(walkRaw([]byte(text), a.text, a.tree))
	r.found(kind, a.findings)
	return clean
}

// name replaces an id, or a name in a list's, that is a secret.
func (r *rescrubbing) name(id string) string {
	if ours(id) {
		return id
	}
	clean, found := r.scrubber.Scrub(id)
	if clean != id && r.counting && !r.ids[id] {
		r.ids[id] = true
		r.places["id"] = append(r.places["id"], found...)
	}
	return clean
}

// settle makes the receipt of what was found.
func (r *rescrubbing) settle() {
	var all []scrub.Finding
	for kind, found := range r.places {
		all = append(all, found...)
		r.done.Places = append(r.done.Places, ScrubbedPlace{kind, scrub.Families(found)})
	}
	slices.SortFunc(r.done.Places, func(a, b ScrubbedPlace) int { return cmp.Compare(a.Kind, b.Kind) })
	r.done.Families = scrub.Families(all)
	r.done.Renamed = len(r.ids)
	if r.done.Changed() {
		r.done.Records = len(r.records)
	} else {
		r.done.Audit, r.done.Replies, r.done.Redacted, r.done.Packs = 0, 0, 0, nil
	}
}
