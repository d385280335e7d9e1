//go:build !break_nofilter

package session

// bound returns the client's open workspace of an id, nil if it has none. All
// that a client does reaches its store through this look-up.
func (s *Service) bound(id string) *Workspace { return s.workspaces[id] }
