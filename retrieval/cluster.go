package retrieval

import (
	"cmp"
	"container/heap"
	"context"
	"math"
	"slices"
	"strings"

	"hexapla/layers/terms"
)

// Subject is what a conversation is about, to be grouped with others.
type Subject struct {
	ID     string
	Thread string // conversations that follow each other in a thread are near
	Names  []Name // by Key, without duplicates
}

// Name is a word or an entity of a subject.
type Name struct {
	Key    string // by which names are the same
	Show   string // as people write it
	Weight int    // how much it says of the subject, 1 to 16
	Label  bool   // it may stand in a label
}

// Cluster is a group of subjects.
type Cluster struct {
	Members []ClusterMember // nearest to the rest first
	Names   []string        // that tell it from the others, the most telling first
}

// ClusterMember is a subject in a group.
type ClusterMember struct {
	Index int // of the subject
	// Score is how near it is to the rest of the group, in [0,1], against the member
	// that is nearest; six decimals.
	Score float64
}

const (
	// MaxSubjects bounds what can be grouped at once.
	MaxSubjects = 2000

	unit            = 1_000_000 // of a similarity of 1
	clusterNearness = 0.08 * unit
	threadNearness  = 0.06 * unit // that a subject has to the one before it in its thread
	weakest         = 0.03 * unit // similarities below it are none
	maxClusterNames = 5
	// maxSharedBy is how many subjects may have a name for it to bring them
	// together; what more of them have tells little and costs much.
	maxSharedBy = 400
	// maxNeighbours is how many others a subject is near to, the nearest; it bounds the
	// work where all speak of much the same.
	maxNeighbours = 64
)

// Group groups subjects by what they have in common: the two groups whose
// members are nearest to each other on average become one, until the nearest are
// no longer near (agglomerative, average linkage). Nearness is the cosine of the
// names, weighted by how rare they are. It is a pure function of the subjects and
// their order; more than MaxSubjects are not grouped: the rest is left out. The
// groups come in the order of size, then of their newest member, the last of the
// subjects first. The error is the context's.
func Group(ctx context.Context, subjects []Subject) ([]Cluster, error) {
	subjects = subjects[:min(len(subjects), MaxSubjects)]
	g := newGrouping(subjects)
	if err := g.compare(ctx); err != nil {
		return nil, err
	}
	if err := g.merge(ctx); err != nil {
		return nil, err
	}
	var out []Cluster
	for _, members := range g.members {
		if len(members) > 0 {
			out = append(out, g.cluster(members))
		}
	}
	newest := func(c Cluster) int {
		last := 0
		for _, m := range c.Members {
			last = max(last, m.Index)
		}
		return last
	}
	slices.SortFunc(out, func(a, b Cluster) int {
		return cmp.Or(cmp.Compare(len(b.Members), len(a.Members)), cmp.Compare(newest(b), newest(a)))
	})
	return out, nil
}

// grouping is the state of one Group.
type grouping struct {
	subjects []Subject
	names    map[string]int    // number of each key
	df       []int             // by number
	vectors  [][]component     // by subject
	near     []map[int32]int64 // by group: sums of the nearness of members, by other group
	members  [][]int           // by group; empty once it is part of another
	queue    pairs
}

type component struct {
	name   int
	weight int64 // thousandths of the vector's length
}

func newGrouping(subjects []Subject) *grouping {
	g := &grouping{subjects: subjects, names: map[string]int{}}
	for i := range subjects {
		for _, name := range subjects[i].Names {
			n, ok := g.names[name.Key]
			if !ok {
				n = len(g.df)
				g.names[name.Key] = n
				g.df = append(g.df, 0)
			}
			g.df[n]++
		}
	}
	for i := range subjects {
		vector := make([]component, 0, len(subjects[i].Names))
		sum := 0.0
		for _, name := range subjects[i].Names {
			n := g.names[name.Key]
			w := terms.Round(float64(min(max(name.Weight, 1), 16)) * terms.IDF(len(subjects), g.df[n]))
			sum += float64(w * w)
			vector = append(vector, component{n, int64(w * 1000)})
		}
		length := int64(math.Sqrt(sum)*1000) + 1
		for k := range vector {
			vector[k].weight = vector[k].weight * 1000 / length
		}
		g.vectors = append(g.vectors, vector)
		g.near = append(g.near, map[int32]int64{})
		g.members = append(g.members, []int{i})
	}
	return g
}

// compare finds the nearness of all subjects that have a name in common.
func (g *grouping) compare(ctx context.Context) error {
	type holder struct {
		subject int
		weight  int64
	}
	holders := make([][]holder, len(g.df))
	common := max(len(g.subjects)/3, 3)
	dots := make([]int64, len(g.subjects))
	last := map[string]int{}
	rows := make([][]neighbourOf, len(g.subjects))
	for i := range g.subjects {
		if err := ctx.Err(); err != nil {
			return err
		}
		clear(dots)
		for _, c := range g.vectors[i] {
			if g.df[c.name] < 2 || g.df[c.name] > min(common, maxSharedBy) {
				continue
			}
			for _, h := range holders[c.name] {
				dots[h.subject] += c.weight * h.weight
			}
			holders[c.name] = append(holders[c.name], holder{i, c.weight})
		}
		if thread := g.subjects[i].Thread; thread != "" {
			if before, ok := last[thread]; ok {
				dots[before] += threadNearness
			}
			last[thread] = i
		}
		for k, nearness := range dots[:i] {
			if nearness >= weakest {
				rows[i] = append(rows[i], neighbourOf{int32(k), nearness})
				rows[k] = append(rows[k], neighbourOf{int32(i), nearness})
			}
		}
	}
	for i, row := range rows { // a pair counts if either is among the nearest of the other
		slices.SortFunc(row, func(a, b neighbourOf) int {
			return cmp.Or(cmp.Compare(b.nearness, a.nearness), cmp.Compare(b.subject, a.subject))
		})
		for _, n := range row[:min(len(row), maxNeighbours)] {
			if _, ok := g.near[i][n.subject]; !ok {
				g.set(i, int(n.subject), n.nearness)
			}
		}
	}
	return nil
}

// neighbourOf is a subject that another is near to.
type neighbourOf struct {
	subject  int32
	nearness int64
}

// set notes the nearness of two groups: the sum over their members.
func (g *grouping) set(a, b int, sum int64) {
	g.near[a][int32(b)], g.near[b][int32(a)] = sum, sum
	mean := sum / int64(len(g.members[a])*len(g.members[b]))
	if mean >= clusterNearness {
		heap.Push(&g.queue, pair{max(a, b), min(a, b), len(g.members[a]) + len(g.members[b]), mean})
	}
}

// merge makes groups of groups until none are near. The order in which a map
// gives its entries has no part in the result: sums are whole numbers, and the
// queue orders pairs completely.
func (g *grouping) merge(ctx context.Context) error {
	for len(g.queue) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		next := heap.Pop(&g.queue).(pair)
		into, from := next.b, next.a
		if len(g.members[into]) == 0 || len(g.members[from]) == 0 || len(g.members[into])+len(g.members[from]) != next.size {
			continue // one of them has changed since
		}
		g.members[into] = append(g.members[into], g.members[from]...)
		g.members[from] = nil
		for other, sum := range g.near[from] {
			delete(g.near[other], int32(from))
			if int(other) != into {
				g.near[into][other] += sum
			}
		}
		delete(g.near[into], int32(from))
		g.near[from] = nil
		for other, sum := range g.near[into] {
			g.set(into, int(other), sum)
		}
	}
	return nil
}

// cluster describes a group.
func (g *grouping) cluster(members []int) Cluster {
	slices.Sort(members)
	center := make([]int64, len(g.df))
	held := make([]int, len(g.df))
	var names []int
	for _, i := range members {
		for _, c := range g.vectors[i] {
			if held[c.name] == 0 {
				names = append(names, c.name)
			}
			held[c.name]++
			center[c.name] += c.weight
		}
	}
	var out Cluster
	most := int64(1)
	dots := make([]int64, len(members))
	for k, i := range members {
		for _, c := range g.vectors[i] {
			rest := center[c.name]
			if len(members) > 1 {
				rest -= c.weight
			}
			dots[k] += c.weight * rest
		}
		most = max(most, dots[k])
	}
	for k, i := range members {
		out.Members = append(out.Members, ClusterMember{i, ratio(float64(dots[k]), float64(most))})
	}
	slices.SortStableFunc(out.Members, func(a, b ClusterMember) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Index, a.Index))
	})
	out.Names = g.label(members, names, center, held)
	return out
}

// label chooses the names that tell a group from the others: those that weigh
// most in it and that at least a third of its members have.
func (g *grouping) label(members, names []int, center []int64, held []int) []string {
	shows := make(map[int][]string, len(names))
	for _, i := range members {
		for _, name := range g.subjects[i].Names {
			if name.Label {
				n := g.names[name.Key]
				shows[n] = append(shows[n], name.Show)
			}
		}
	}
	least := max((len(members)+2)/3, min(len(members), 2))
	names = slices.DeleteFunc(names, func(n int) bool { return held[n] < least || len(shows[n]) == 0 })
	slices.SortFunc(names, func(a, b int) int {
		return cmp.Or(cmp.Compare(center[b]*int64(held[b]), center[a]*int64(held[a])), cmp.Compare(a, b))
	})
	var out []string
	for _, n := range names {
		show := commonest(shows[n])
		if len(out) == maxClusterNames {
			break
		}
		if !slices.ContainsFunc(out, func(other string) bool { return alike(show, other) }) {
			out = append(out, show)
		}
	}
	return out
}

// alike tells that of two names one is part of the other, but for case and the
// end of a file name: they would say the same twice in a label.
func alike(a, b string) bool {
	bare := func(s string) string {
		if dot := strings.LastIndexByte(s, '.'); dot > 0 {
			s = s[:dot]
		}
		return strings.ToLower(strings.TrimSuffix(s, "_test"))
	}
	a, b = bare(a), bare(b)
	return strings.Contains(a, b) || strings.Contains(b, a)
}

// commonest returns the text that occurs most often, of several the first by
// length, then by its letters.
func commonest(texts []string) string {
	slices.SortFunc(texts, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	best, most := "", 0
	for i := 0; i < len(texts); {
		n := i
		for n < len(texts) && texts[n] == texts[i] {
			n++
		}
		if n-i > most {
			best, most = texts[i], n-i
		}
		i = n
	}
	return best
}

// pair is two groups that might become one.
type pair struct {
	a, b int // a > b
	size int // members of both, to see whether either has grown since
	mean int64
}

// pairs is a heap: the nearest first, then the smallest, then the oldest.
type pairs []pair

func (p pairs) Len() int      { return len(p) }
func (p pairs) Swap(i, j int) { p[i], p[j] = p[j], p[i] }
func (p *pairs) Push(x any)   { *p = append(*p, x.(pair)) }
func (p *pairs) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}
func (p pairs) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(p[j].mean, p[i].mean), cmp.Compare(p[i].size, p[j].size), cmp.Compare(p[i].b, p[j].b), cmp.Compare(p[i].a, p[j].a)) < 0
}
