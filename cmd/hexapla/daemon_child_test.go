package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"

	"hexapla/rpc/daemon"
)

// claim makes the program tell daemons that it is another release, as the JSON
// of a daemon.Release.
const claim = "HEXAPLA_TEST_RELEASE"

func claimedRelease() *daemon.Release {
	text := os.Getenv(claim)
	if text == "" {
		return nil
	}
	var r daemon.Release
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		panic(err)
	}
	return &r
}

// knock makes the test's binary connect to a socket and print what it is told.
const knock = "HEXAPLA_TEST_KNOCK"

func knockAt(path string) int {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "hello?\n") // it may be gone already
	said, _ := io.ReadAll(conn)
	fmt.Printf("said: %s", said)
	return 0
}
