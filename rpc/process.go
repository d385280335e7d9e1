package rpc

import "time"

// ProcessProbe looks at a process by its id. Started tells processes apart
// that had the same id one after another; it is "" where the system does not
// say. Alive is false for a process that is not visible or ended but is not
// reaped.
type ProcessProbe func(pid int) (started string, alive bool)

// watch ends the connection when the client's process is gone.
func (s *server) watch(pid int) {
	if !watchProcess(s.options.Process, pid, s.timeouts.Process, s.base.Done(), func() { s.finish(ending{wait: s.timeouts.Grace}) }) {
		s.log.Debug("the client's process is not visible; not watching it")
	}
}

// watchProcess looks at a process and, if it is visible, goes on looking until
// stop is closed: gone is called once when the process is gone. A process that
// is not visible at the start (another container, another machine) is not
// watched; the end of the input stays the sign.
func watchProcess(probe ProcessProbe, pid int, every time.Duration, stop <-chan struct{}, gone func()) (watched bool) {
	started, alive := probe(pid)
	if !alive {
		return false
	}
	go func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
			if now, alive := probe(pid); !alive || now != started {
				gone()
				return
			}
		}
	}()
	return true
}
