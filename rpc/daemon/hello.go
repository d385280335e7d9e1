package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Wire is the version of what client and daemon say to each other: the greeting
// here and the protocol after it. It rises when one of another version would
// misunderstand.
const Wire = 1

// Release says which program a client or daemon is.
type Release struct {
	Wire    int    `json:"wire"`
	Version string `json:"version"` // of the program, such as "0.1.0"
	Build   string `json:"build"`   // tells builds of one version apart, for people
}

// OlderThan orders releases by wire version, then by version. Builds have no
// order.
func (r Release) OlderThan(other Release) bool {
	if r.Wire != other.Wire {
		return r.Wire < other.Wire
	}
	a, b := strings.Split(r.Version, "."), strings.Split(other.Version, ".")
	for i := range max(len(a), len(b)) {
		if x, y := part(a, i), part(b, i); x != y {
			return x < y
		}
	}
	return false
}

// part is a number of a version; what is missing or no number counts as 0.
func part(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	n, _ := strconv.Atoi(parts[i])
	return n
}

// purpose is what a client wants.
type purpose string

const (
	toServe  purpose = "serve"  // to speak the protocol from here on
	toStatus purpose = "status" // to be told how the daemon is
	toDrain  purpose = "drain"  // that the daemon leaves; the connection ends when it has
)

// hello is the first line on a connection.
type hello struct {
	Hexapla purpose `json:"hexapla"`
	Release
	Data string `json:"data"` // id of the data folder
}

// Status is how a daemon is.
type Status struct {
	PID        int    `json:"pid"`
	Wire       int    `json:"wire"`
	Version    string `json:"version"`
	Build      string `json:"build"`
	Socket     string `json:"socket"`
	Started    int64  `json:"started"`    // Unix milliseconds
	Clients    int    `json:"clients"`    // connections that are served
	Workspaces int    `json:"workspaces"` // that are open
	Idle       string `json:"idle"`       // how long it stays without clients, such as "5m0s"
}

// answer is the daemon's line.
type answer struct {
	Refused string `json:"refused,omitempty"` // "" when the client gets what it wants
	Status
}

// Reasons for which a daemon refuses a client.
const (
	refusedOlder = "older" // the client's wire version is older
	refusedNewer = "newer" // the client's wire version is newer
	refusedData  = "data"  // the client means another data folder
	refusedHello = "hello" // the line is no greeting
)

// maxLine bounds a line of the greeting, in bytes.
const maxLine = 4096

var errHello = errors.New("daemon: the greeting is not understood")

// readLine reads one line into v. It takes no byte beyond the line, so that the
// rest of the connection is untouched.
func readLine(r io.Reader, v any) error {
	line := make([]byte, 0, 256)
	var one [1]byte
	for {
		if _, err := io.ReadFull(r, one[:]); err != nil {
			return err
		}
		if one[0] == '\n' {
			break
		}
		if len(line) == maxLine {
			return fmt.Errorf("%w: a line is over %d bytes", errHello, maxLine)
		}
		line = append(line, one[0])
	}
	if err := json.Unmarshal(line, v); err != nil {
		return fmt.Errorf("%w: %w", errHello, err)
	}
	return nil
}

func writeLine(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}
