package digest

import (
	"sort"
	"strings"
)

// ranked collects names with weights.
type ranked struct {
	index map[string]int
	list  []rankedName
}

type rankedName struct {
	name   string
	weight int
	file   bool
}

func (r *ranked) add(name string, weight int, file bool) {
	if name == "" || len(name) > 200 || strings.ContainsAny(name, "\n\r") {
		return
	}
	if r.index == nil {
		r.index = make(map[string]int, 32)
	}
	key := name
	if file {
		key = "/" + baseName(name)
	}
	if i, ok := r.index[key]; ok {
		known := &r.list[i]
		if !file || sameFile(known.name, name) {
			known.weight += weight
			return
		}
		key = name
		if i, ok := r.index[key]; ok {
			r.list[i].weight += weight
			return
		}
	}
	r.index[key] = len(r.list)
	r.list = append(r.list, rankedName{name, weight, file})
}

// sameFile tells whether one path is the other, or its end.
func sameFile(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	return a == b || strings.HasSuffix(a, b) && (a[len(a)-len(b)-1] == '/' || a[len(a)-len(b)-1] == '\\')
}

// top returns the n heaviest names, ties by first appearance.
func (r *ranked) top(n int) []string {
	sort.SliceStable(r.list, func(a, b int) bool { return r.list[a].weight > r.list[b].weight })
	out := []string{}
	for _, x := range r.list {
		if len(out) == n {
			break
		}
		out = append(out, x.name)
	}
	return out
}

// keyEntities ranks what a conversation is about: edited files first, then what
// the user named, what the answer names, what was only read.
func keyEntities(s *survey) []string {
	r := s.rank()
	return r.top(maxKeyEntities)
}

func (s *survey) rank() *ranked {
	r := &ranked{}
	for _, st := range s.edits() {
		for _, f := range st.call.files {
			r.add(f, 12, true)
		}
	}
	for _, st := range s.steps {
		if st.call.change == "" && !st.failed {
			for _, f := range st.call.files {
				r.add(f, 1, true)
			}
		}
	}
	weigh := func(text string, weight int) {
		e := EntitiesOf(text)
		for _, f := range e.Files {
			r.add(f, weight, true)
		}
		for _, f := range e.Functions {
			r.add(f, weight, false)
		}
		for _, f := range head(e.Concepts, 20) {
			r.add(f, weight/3+1, false)
		}
	}
	weigh(s.query, 6)
	for _, f := range head(s.follow, 8) {
		weigh(f, 3)
	}
	weigh(s.answer(), 4)
	return r
}
