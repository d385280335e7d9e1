package main

import (
	"fmt"
	"os"
	"testing"
)

// TestF17_StdoutBelongsToTheProtocol: descriptor 1 of the server is its
// standard error, so that no print of a dependency can reach the client.
func TestF17_StdoutBelongsToTheProtocol(t *testing.T) {
	t.Parallel()
	server, _ := opened(t)
	var ends [2]string
	for i := range ends {
		end, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", server.cmd.Process.Pid, i+1))
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = end
	}
	if ends[0] != ends[1] {
		t.Errorf("descriptor 1 is %s, 2 is %s", ends[0], ends[1])
	}
}
