package session

import (
	"cmp"
	"slices"
	"strings"

	"hexapla/layers/digest"
	"hexapla/storage"
)

// Entity is something that is spoken of.
type Entity struct {
	Kind string // "file", "function", "concept" or "error"
	Name string
}

// NeighborsRequest asks what is connected to an entity.
type NeighborsRequest struct {
	Entity Entity // without a kind, the first under which it is known: file, function, concept, error
	Depth  int    // 1 or 2
	Limit  int
	AsOf   int64
}

// Neighbor is an entity that is connected to the one that was asked for.
type Neighbor struct {
	Entity
	Weight   int
	Distance int    // 1 or 2
	Via      Entity // of those at distance 2
	// What the weight is made of. Those at distance 2 have none.
	Shared        int      // conversations that speak of both
	Near          int      // turns that speak of the one beside turns that speak of the other
	Together      int      // conversations that changed both; files alone
	Conversations []string // newest first
}

// Weights of a connection: for each conversation that speaks of both, for each
// turn in which or beside which both stand, for each conversation that changed
// both files, and for an error that stands beside a file.
const (
	weightShared   = 1
	weightNear     = 2
	weightTogether = 4
	weightError    = 3
	mostNear       = 5 // turns of one conversation that count
)

// Bounds of a walk.
const (
	defaultNeighbors    = 20
	maxNeighbors        = 200
	maxNeighborMentions = 2000 // postings that are read
	maxNeighborTalks    = 50   // conversations, newest first
	maxTurnEntities     = 60   // of each kind in a turn
	maxEvidence         = 5    // conversations that are named
	maxSteps            = 8    // neighbors from which a second step is taken
)

// Neighbors returns what is connected to an entity, heaviest first, and the
// entity as it is known; its name is empty if it is not.
func (s *Session) Neighbors(req NeighborsRequest) (known Entity, out []Neighbor, seq int64, err error) {
	switch {
	case strings.TrimSpace(req.Entity.Name) == "" || len(req.Entity.Name) > maxURI:
		return known, nil, 0, invalid("entity", "must have 1 to %d bytes", maxURI)
	case req.Depth < 0 || req.Depth > 2:
		return known, nil, 0, &InvalidError{Path: "depth", Message: "out of range", Limit: 2}
	case req.Limit < 0 || req.Limit > maxNeighbors:
		return known, nil, 0, &InvalidError{Path: "limit", Message: "out of range", Limit: maxNeighbors}
	case req.AsOf < 0:
		return known, nil, 0, invalid("asOf", "must not be negative")
	case req.Limit == 0:
		req.Limit = defaultNeighbors
	}
	kinds := []string{req.Entity.Kind}
	switch req.Entity.Kind {
	case "":
		kinds = []string{"file", "function", "concept", "error"}
	case "file", "function", "concept", "error":
	default:
		return known, nil, 0, invalid("kind", `must be "file", "function", "concept" or "error"`)
	}
	ws := s.Workspace
	err = ws.view(req.AsOf, func(v storage.View) error {
		seq = v.Seq()
		for _, kind := range kinds {
			e := Entity{kind, asText(req.Entity.Name)}
			if kind == "error" {
				if patterns := digest.ErrorPatterns(e.Name); len(patterns) > 0 {
					e.Name = patterns[0]
				}
			}
			list, found, err := ws.neighbors(v, e)
			if err != nil {
				return err
			}
			if found {
				known, out = e, list
				break
			}
		}
		if known.Name != "" && req.Depth == 2 {
			far, err := ws.secondStep(v, known, out)
			if err != nil {
				return err
			}
			out = append(out, far...)
			sortNeighbors(out)
		}
		out = out[:min(len(out), req.Limit)]
		return nil
	})
	return known, out, seq, err
}

// secondStep takes a step more from the heaviest neighbors. What it finds weighs
// half of the lighter of the two connections that lead there.
func (ws *Workspace) secondStep(v storage.View, start Entity, near []Neighbor) ([]Neighbor, error) {
	var far []Neighbor
	for _, via := range near[:min(len(near), maxSteps)] {
		list, _, err := ws.neighbors(v, via.Entity)
		if err != nil {
			return nil, err
		}
		for _, n := range list[:min(len(list), defaultNeighbors)] {
			if n.is(start) || slices.ContainsFunc(near, func(k Neighbor) bool { return k.is(n.Entity) }) {
				continue
			}
			weight := min(n.Weight, via.Weight) / 2
			at := slices.IndexFunc(far, func(k Neighbor) bool { return k.is(n.Entity) })
			switch {
			case weight == 0:
			case at < 0:
				far = append(far, Neighbor{Entity: n.Entity, Weight: weight, Distance: 2, Via: via.Entity, Conversations: n.Conversations})
			case far[at].Weight < weight:
				far[at].Weight, far[at].Via, far[at].Conversations = weight, via.Entity, n.Conversations
			}
		}
	}
	return far, nil
}

// is tells whether two entities are the same; of a file the end of its path may
// be all that is known.
func (e Entity) is(other Entity) bool {
	return e.Kind == other.Kind && (e.Name == other.Name || e.Kind == "file" && digest.SameFile(e.Name, other.Name))
}

func sortNeighbors(list []Neighbor) {
	slices.SortFunc(list, func(a, b Neighbor) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Distance, b.Distance), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
}

// neighbors returns what is connected to an entity by one step, and whether
// anything is known of it.
func (ws *Workspace) neighbors(v storage.View, start Entity) ([]Neighbor, bool, error) {
	name := start.Name
	if start.Kind == "file" {
		name = tail(name, 2)
	}
	var talks []string // newest first
	seen := map[string]bool{}
	read := 0
	var failed error
	err := v.Mentions(start.Kind, name, false, func(_, _ string, seq int64) bool {
		var record storage.Record
		if record, failed = v.Get(seq); failed != nil {
			return false
		}
		if !seen[record.Parent] {
			seen[record.Parent] = true
			talks = append(talks, record.Parent)
		}
		read++
		return read < maxNeighborMentions && len(talks) < maxNeighborTalks
	})
	if err == nil {
		err = failed
	}
	if err != nil || len(talks) == 0 {
		return nil, false, err
	}
	found := map[Entity]*Neighbor{}
	var order []*Neighbor
	for _, id := range talks {
		spoken, err := ws.spokenOf(v, id)
		if err != nil {
			return nil, false, err
		}
		changes, err := changesOf(v, id)
		if err != nil {
			return nil, false, err
		}
		changed := start.Kind == "file" && newestOf(changes, start.Name) >= 0
		for _, c := range spoken.connections(start) {
			n := found[c.entity]
			if n == nil && c.entity.Kind == "file" { // another conversation may write its path otherwise
				if at := slices.IndexFunc(order, func(k *Neighbor) bool { return k.is(c.entity) }); at >= 0 {
					n = order[at]
				}
			}
			if n == nil {
				n = &Neighbor{Entity: c.entity, Distance: 1}
				found[c.entity], order = n, append(order, n)
			}
			if k := len(n.Conversations); k == 0 || n.Conversations[k-1] != id {
				n.Shared++
				n.Conversations = append(n.Conversations, id)
			}
			n.Near += min(c.near, mostNear)
			if changed && c.entity.Kind == "file" && newestOf(changes, c.entity.Name) >= 0 {
				n.Together = min(n.Together+1, n.Shared)
			}
		}
	}
	out := make([]Neighbor, 0, len(order))
	for _, n := range order {
		n.Weight = weightShared*n.Shared + weightNear*n.Near + weightTogether*n.Together
		if n.Near > 0 && (n.Kind == "error") != (start.Kind == "error") && (n.Kind == "file" || start.Kind == "file") {
			n.Weight += weightError
		}
		n.Conversations = n.Conversations[:min(len(n.Conversations), maxEvidence)]
		out = append(out, *n)
	}
	sortNeighbors(out)
	return out, true, nil
}

// spoken is what a conversation speaks of: for each entity the turns, ascending.
type spoken struct {
	entities []Entity // in the order of their first appearance
	turns    [][]int
}

// connection is an entity that stands in the same conversation as another.
type connection struct {
	entity Entity
	near   int
}

// connections returns what stands in a conversation with an entity.
func (s *spoken) connections(start Entity) []connection {
	var mine []int
	for i, e := range s.entities {
		if e.is(start) {
			mine = append(mine, s.turns[i]...)
		}
	}
	slices.Sort(mine)
	mine = slices.Compact(mine)
	var out []connection
	for i, e := range s.entities {
		if e.is(start) {
			continue
		}
		near := 0
		for _, turn := range s.turns[i] {
			// A call and what it printed are two turns.
			if at, ok := slices.BinarySearch(mine, turn-1); ok || at < len(mine) && mine[at] <= turn+1 {
				near++
			}
		}
		out = append(out, connection{e, near})
	}
	return out
}

// spokenOf reads what a conversation speaks of.
func (ws *Workspace) spokenOf(v storage.View, conversation string) (*spoken, error) {
	edited, err := newestEdit(v)
	if err != nil {
		return nil, err
	}
	key := triesKey{conversation, v.ListLen(listOfTurns(conversation)), edited}
	if s, ok := ws.spoken.get(key); ok {
		return s, nil
	}
	turns, _, err := turnsOf(v, conversation, maxTurnNumber)
	if err != nil {
		return nil, err
	}
	s := &spoken{}
	index := map[Entity]int{}
	add := func(turn int, kind string, names []string) {
		for _, name := range names[:min(len(names), maxTurnEntities)] {
			e := Entity{kind, name}
			if kind == "file" {
				e = s.fileLike(e, index)
			}
			i, ok := index[e]
			if !ok {
				i = len(s.entities)
				index[e] = i
				s.entities, s.turns = append(s.entities, e), append(s.turns, nil)
			}
			if n := len(s.turns[i]); n == 0 || s.turns[i][n-1] != turn {
				s.turns[i] = append(s.turns[i], turn)
			}
		}
	}
	for i := range turns {
		turn := &turns[i]
		var text strings.Builder
		text.WriteString(turn.Text)
		for _, call := range turn.Calls {
			text.WriteString("\n" + call.Name + " " + call.Input)
		}
		if text.Len() > 0 {
			e := digest.EntitiesOf(text.String())
			add(turn.Number, "file", e.Files)
			add(turn.Number, "function", e.Functions)
			add(turn.Number, "concept", e.Concepts)
			add(turn.Number, "error", telling(e.Errors))
		}
		for k := range turn.Results {
			c := &turn.Results[k].Compressed
			add(turn.Number, "file", c.KeyFiles)
			add(turn.Number, "function", c.Entities)
			add(turn.Number, "error", telling(c.ErrorPatterns))
		}
	}
	ws.spoken.put(key, s)
	return s, nil
}

// fileLike returns the file that is known already under another form of its
// path, in which the path is whole, or the file itself.
func (s *spoken) fileLike(e Entity, index map[Entity]int) Entity {
	if _, ok := index[e]; ok {
		return e
	}
	for _, known := range s.entities {
		if known.Kind == "file" && digest.SameFile(known.Name, e.Name) && len(known.Name) > len(e.Name) {
			return known
		}
	}
	return e
}

func telling(patterns []string) []string {
	return slices.DeleteFunc(slices.Clone(patterns), func(p string) bool { return !digest.Telling(p) })
}
