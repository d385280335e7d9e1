package vectors

// Merge adds the terms of another text to a text's.
func (s *Sum) Merge(o *Sum) {
	for k := range s.values {
		s.values[k] += o.values[k]
	}
	s.known += o.known
}

// Known is how many of the terms that were added the model knew.
func (s *Sum) Known() int { return s.known }
