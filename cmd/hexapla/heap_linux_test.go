package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
)

// heapState is what is left of a process's memory when all that is not in use has
// been given back.
type heapState struct {
	Asked      int // how often it was asked
	Live       uint64
	Goroutines int
}

// tellHeap answers SIGUSR1 as long as the process lives.
func tellHeap(path string) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	go func() {
		for n := 1; ; n++ {
			<-asked
			runtime.GC() // what it finds is swept, and pools are emptied, by the next
			debug.FreeOSMemory()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			data, err := json.Marshal(heapState{n, m.HeapAlloc, runtime.NumGoroutine()})
			if err == nil {
				err = os.WriteFile(path+".new", data, 0o600)
			}
			if err == nil {
				err = os.Rename(path+".new", path)
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, "heap:", err)
			}
		}
	}()
}

// heap asks a program whose environment names a heapFile.
func (p *post) heap(pid int, path string) (state heapState) {
	p.t.Helper()
	read := func() (state heapState) {
		if data, err := os.ReadFile(path); err == nil {
			if err := json.Unmarshal(data, &state); err != nil {
				p.t.Fatal(err)
			}
		}
		return state
	}
	before := read().Asked
	if err := syscall.Kill(pid, syscall.SIGUSR1); err != nil {
		p.t.Fatal(err)
	}
	p.until("the heap is told", func() bool { state = read(); return state.Asked > before })
	return state
}

// TestHeapIsTold: what a process holds is seen, and that it let it go.
func TestHeapIsTold(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	path := p.run + "/heap"
	p.env = append(p.env, heapFile+"="+path)
	w := p.open(sharedWorkspace, "s")
	pid := p.daemons()[0]
	first := p.heap(pid, path)
	again := p.heap(pid, path)
	if first.Live < 1<<20 || first.Goroutines < 5 || again.Asked != 2 || again.Live > first.Live+1<<20 {
		t.Errorf("%+v, then %+v", first, again)
	}
	w.leave()
}
