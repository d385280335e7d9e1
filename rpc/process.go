package rpc

import "time"

// ProcessProbe looks at a process by its id. Started tells processes apart
// that had the same id one after another; it is "" where the system does not
// say. Alive is false for a process that is not visible or ended but is not
// reaped.
type ProcessProbe func(pid int) (started string, alive bool)

// watch looks at the client's process and, if it is visible, goes on looking:
// the connection ends when the process is gone. A process that is not visible
// at the start (another container, another machine) is not watched; the end of
// the input stays the sign.
func (s *server) watch(pid int) {
	started, alive := s.options.Process(pid)
	if !alive {
		s.log.Debug("the client's process is not visible; not watching it")
		return
	}
	go func() {
		ticker := time.NewTicker(s.timeouts.Process)
		defer ticker.Stop()
		for {
			select {
			case <-s.base.Done():
				return
			case <-ticker.C:
			}
			if now, alive := s.options.Process(pid); !alive || now != started {
				s.finish(ending{wait: s.timeouts.Grace})
				return
			}
		}
	}()
}
