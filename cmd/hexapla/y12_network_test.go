//go:build linux

package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hexapla/rpc/wire"
)

// TestY12_NothingListensOnTheNetwork: there is nothing that a browser could reach:
// neither the daemon nor a server beside an editor listens on an address, on any
// interface, while they work.
func TestY12_NothingListensOnTheNetwork(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	w := p.open(testWorkspace, "s")
	var list wire.SessionListResult
	if err := w.Call(w.ctx(), wire.MethodSessionList, wire.SessionListParams{Session: "s"}, &list); err != nil {
		t.Fatal(err)
	}
	processes := p.processes()
	if len(p.daemons()) == 0 || len(processes) < 2 {
		t.Fatalf("not both run, a daemon and a server: %v", processes)
	}
	for _, pid := range processes {
		if found := listening(t, pid); len(found) > 0 {
			t.Errorf("process %d listens: %v", pid, found)
		}
	}
	w.leave()
	// The test can see: this process listens now.
	own, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	if len(listening(t, os.Getpid())) == 0 {
		t.Error("a socket that listens was not seen")
	}
}

// listening lists the TCP sockets of a process that wait for connections.
func listening(t *testing.T, pid int) (found []string) {
	t.Helper()
	inodes := map[string]bool{}
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil {
			if inode, ok := strings.CutPrefix(to, "socket:["); ok {
				inodes[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	for _, name := range []string{"tcp", "tcp6"} {
		table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, name))
		if os.IsNotExist(err) {
			continue // no such family here
		}
		if err != nil {
			t.Fatal(err)
		}
		const listen = "0A"
		for line := range bytes.Lines(table) {
			if fields := strings.Fields(string(line)); len(fields) > 9 && fields[3] == listen && inodes[fields[9]] {
				found = append(found, name+" "+fields[1])
			}
		}
	}
	return found
}
