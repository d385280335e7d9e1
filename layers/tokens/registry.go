package tokens

import (
	"fmt"
	"sync"
)

// A Registry holds the encodings, whose tables are built on first use, and the
// cache of counts. It is safe for concurrent use.
type Registry struct {
	o200k, cl100k Encoding
	cache         countCache
}

// NewRegistry returns a registry in which nothing is built yet.
func NewRegistry() *Registry {
	shared := sync.OnceValue(newClasses)
	return &Registry{
		o200k:  Encoding{name: O200k, ranks: o200kRanks, next: (*classes).nextO200k, classes: shared},
		cl100k: Encoding{name: Cl100k, ranks: cl100kRanks, next: (*classes).nextCl100k, classes: shared},
	}
}

// Encoding returns the encoding of that name, "o200k_base" or "cl100k_base".
func (r *Registry) Encoding(name string) (*Encoding, error) {
	switch name {
	case O200k:
		return &r.o200k, nil
	case Cl100k:
		return &r.cl100k, nil
	}
	return nil, fmt.Errorf("token encoding: %q is neither %s nor %s", name, O200k, Cl100k)
}
