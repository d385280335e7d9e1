package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"hexapla/rpc/wire/gen"
)

// patience bounds how long a test waits for the server before it fails.
const patience = 30 * time.Second

// rawServer is the program as a child process, spoken to in frames that this
// file writes and reads itself: nothing of package rpc stands between.
type rawServer struct {
	t        *testing.T
	cmd      *exec.Cmd
	in       io.WriteCloser
	messages chan rawMessage // closed at the end of the output
	events   []rawMessage    // read and not asked for since the last call
}

type rawMessage struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Params json.RawMessage   `json:"params"`
	Result json.RawMessage   `json:"result"`
	Error  *gen.ExampleError `json:"error"`
}

// startRaw starts `hexapla serve` on an empty data folder.
func startRaw(t *testing.T) *rawServer {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "serve", "--fixed-keys", "--data-dir", t.TempDir())
	cmd.Env = append(os.Environ(), asProgram+"=1")
	var log bytes.Buffer
	cmd.Stderr = &log
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &rawServer{t: t, cmd: cmd, in: in, messages: make(chan rawMessage, 1024)}
	go s.read(bufio.NewReader(out))
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		if t.Failed() && log.Len() > 0 {
			t.Logf("the server's log:\n%s", log.String())
		}
	})
	return s
}

// read takes frames off the server's output until it ends or is malformed.
func (s *rawServer) read(out *bufio.Reader) {
	defer close(s.messages)
	header := textproto.NewReader(out)
	for {
		fields, err := header.ReadMIMEHeader()
		if err != nil {
			return
		}
		n, err := strconv.Atoi(fields.Get("Content-Length"))
		if err != nil {
			return
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(out, body); err != nil {
			return
		}
		var m rawMessage
		if err := json.Unmarshal(body, &m); err != nil {
			return
		}
		s.messages <- m
	}
}

func (s *rawServer) send(body map[string]any) {
	s.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(s.in, "Content-Length: %d\r\n\r\n%s", len(raw), raw); err != nil {
		s.t.Fatal(err)
	}
}

func (s *rawServer) notify(method string, params json.RawMessage) {
	s.t.Helper()
	body := map[string]any{"jsonrpc": "2.0", "method": method}
	if params != nil {
		body["params"] = params
	}
	s.send(body)
}

// next returns the next message.
func (s *rawServer) next(waitingFor string) rawMessage {
	s.t.Helper()
	select {
	case m, ok := <-s.messages:
		if !ok {
			s.t.Fatalf("the server's output ended while waiting for %s", waitingFor)
		}
		return m
	case <-time.After(patience):
		s.t.Fatalf("no %s within %v", waitingFor, patience)
	}
	panic("unreachable")
}

// call sends a request and returns the response to it. Events that come before
// are kept until the next call.
func (s *rawServer) call(id int, method string, params json.RawMessage) rawMessage {
	s.t.Helper()
	s.events = nil
	body := map[string]any{"jsonrpc": "2.0", "id": id, "method": method}
	if params != nil {
		body["params"] = params
	}
	s.send(body)
	for {
		m := s.next("response to " + method)
		if m.Method != "" {
			s.events = append(s.events, m)
			continue
		}
		if string(m.ID) != strconv.Itoa(id) {
			s.t.Fatalf("response to %s, want one to %d (%s)", m.ID, id, method)
		}
		return m
	}
}

// event returns the parameters of an event that follows from the last call.
func (s *rawServer) event(method string) json.RawMessage {
	s.t.Helper()
	for {
		for _, m := range s.events {
			if m.Method == method {
				return m.Params
			}
		}
		s.events = append(s.events, s.next("event "+method))
	}
}

// wait returns the exit code of the process once it ended.
func (s *rawServer) wait() int {
	s.t.Helper()
	defer s.in.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range s.messages {
		}
		_ = s.cmd.Wait()
	}()
	select {
	case <-done:
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		s.t.Fatal("the server did not end")
	}
	return -1
}

// leafSpan is a value of a JSON text that holds no others, or an empty array
// or object.
type leafSpan struct {
	path    string // such as "entries[0].time"
	general string // the same without numbers: "entries[].time"
	from    int
	to      int
}

// leafSpans finds the leaves of a JSON text.
func leafSpans(t *testing.T, raw json.RawMessage) []leafSpan {
	t.Helper()
	if len(raw) == 0 {
		return nil
	}
	var out []leafSpan
	d := json.NewDecoder(bytes.NewReader(raw))
	var walk func(path string) error
	walk = func(path string) error {
		token, err := d.Token()
		if err != nil {
			return err
		}
		end := int(d.InputOffset())
		open, ok := token.(json.Delim)
		if !ok {
			// The token begins behind the white space, comma or colon.
			from := end - len(tokenText(raw[:end], token))
			out = append(out, leafSpan{path, general(path), from, end})
			return nil
		}
		empty := !d.More()
		for i := 0; d.More(); i++ {
			at := fmt.Sprintf("%s[%d]", path, i)
			if open == '{' {
				key, err := d.Token()
				if err != nil {
					return err
				}
				at = strings.TrimPrefix(path+"."+key.(string), ".")
			}
			if err := walk(at); err != nil {
				return err
			}
		}
		if _, err := d.Token(); err != nil {
			return err
		}
		if empty {
			out = append(out, leafSpan{path, general(path), end - 1, int(d.InputOffset())})
		}
		return nil
	}
	if err := walk(""); err != nil {
		t.Fatal(err)
	}
	return out
}

// tokenText returns the text of the scalar that ends a piece of JSON.
func tokenText(text []byte, token json.Token) []byte {
	if _, ok := token.(string); !ok {
		return text[bytes.LastIndexAny(text, " \t\r\n,:[")+1:]
	}
	for i := len(text) - 2; ; i-- {
		if text[i] != '"' {
			continue
		}
		backslashes := 0
		for i-backslashes > 0 && text[i-backslashes-1] == '\\' {
			backslashes++
		}
		if backslashes%2 == 0 {
			return text[i:]
		}
	}
}

// general is a path without the numbers in its brackets.
func general(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		b.WriteByte(path[i])
		if path[i] == '[' {
			for i+1 < len(path) && path[i+1] != ']' {
				i++
			}
		}
	}
	return b.String()
}

// leaves returns the leaves of a JSON text by their path, spelt the one way
// that encoding/json spells them.
func leaves(t *testing.T, raw json.RawMessage) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, leaf := range leafSpans(t, raw) {
		var value any
		if err := json.Unmarshal(raw[leaf.from:leaf.to], &value); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		out[leaf.path] = string(text)
	}
	return out
}
