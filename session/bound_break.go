//go:build break_nofilter

package session

// bound returns any open workspace if that of the id is not open: the broken
// promise by which the tests of isolation are tested. See internal/broken.
func (s *Service) bound(id string) *Workspace {
	if ws := s.workspaces[id]; ws != nil {
		return ws
	}
	for _, ws := range s.workspaces {
		return ws
	}
	return nil
}
