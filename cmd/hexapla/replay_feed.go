package main

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hexapla/internal/transcript"
	"hexapla/layers"
	"hexapla/rpc/wire"
)

// feeder records the messages of a transcript in a session of the server.
type feeder struct {
	to            *server
	id            string // of the session
	conversations int    // that were opened
}

// open opens a session in a workspace of the transcript's own. A workspace in
// which something was recorded already is an error.
func (r *replayer) open(ctx context.Context, w *work) (*feeder, error) {
	uri := "replay:" + filepath.Base(w.name)
	r.seen[uri]++
	if n := r.seen[uri]; n > 1 {
		uri = fmt.Sprintf("%s#%d", uri, n)
	}
	opened, err := r.server.openSession(ctx, wire.SessionOpenParams{
		Workspace: wire.Workspace{URI: uri}, Model: w.session.Model, Agent: "replay", Title: filepath.Base(w.name),
	})
	if err != nil {
		return nil, err
	}
	if opened.Conversations > 0 {
		return nil, fmt.Errorf("the data folder holds a replay of this file already; name another one")
	}
	return &feeder{to: r.server, id: opened.Session}, nil
}

// feed records one message. Summaries of the recorded client are left out: what
// they sum up is recorded.
func (f *feeder) feed(ctx context.Context, m transcript.Message) error {
	if m.Compaction && f.conversations > 0 {
		return nil
	}
	turn := toWire(m)
	if f.conversations == 0 && m.Role != layers.RoleUser {
		// The transcript begins in the middle; turns need a conversation.
		opening := wire.Turn{Role: string(layers.RoleUser), Kind: string(layers.InputUserQuery), Text: "[the recording begins here]"}
		if err := f.record(ctx, wire.ConversationRecordParams{Session: f.id, Turns: []wire.Turn{opening}}); err != nil {
			return err
		}
	}
	if f.conversations == 0 && turn.Kind == string(layers.InputUserFeedback) {
		turn.Kind = string(layers.InputUserQuery)
	}
	return f.record(ctx, wire.ConversationRecordParams{Session: f.id, Turns: []wire.Turn{turn}})
}

// done completes the conversation in progress, if there is one.
func (f *feeder) done(ctx context.Context) error {
	if f.conversations == 0 {
		return nil
	}
	return f.record(ctx, wire.ConversationRecordParams{Session: f.id, Done: true})
}

func (f *feeder) record(ctx context.Context, params wire.ConversationRecordParams) error {
	var receipt wire.ConversationRecordResult
	if err := f.to.Call(ctx, wire.MethodConversationRecord, params, &receipt); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	if receipt.Opened {
		f.conversations++
	}
	return nil
}

// packed is a pack as the server built it.
type packed struct {
	Text     string          `json:"text"`
	Tokens   wire.PackTokens `json:"tokens"`
	Sections []wire.Section  `json:"sections"`

	built wire.PackBuildResult
	took  time.Duration // from the request to the answer
}

// build builds a pack of what was recorded.
func (f *feeder) build(ctx context.Context, params wire.PackBuildParams) (packed, error) {
	params.Session = f.id
	var p packed
	start := time.Now()
	err := f.to.Call(ctx, wire.MethodPackBuild, params, &p.built)
	p.took = time.Since(start)
	if err != nil {
		return p, fmt.Errorf("build pack: %w", err)
	}
	if err := json.Unmarshal(p.built.Pack, &p); err != nil {
		return p, fmt.Errorf("build pack: %w", err)
	}
	return p, nil
}

// toWire makes the parameters of a message.
func toWire(m transcript.Message) wire.Turn {
	turn := wire.Turn{Role: string(m.Role), Kind: string(m.Kind), Text: m.Text}
	if m.Time != 0 {
		turn.Time = time.UnixMilli(m.Time).UTC().Format(time.RFC3339Nano)
	}
	for _, c := range m.Calls {
		turn.ToolCalls = append(turn.ToolCalls, wire.ToolCall{ID: c.ID, Name: c.Name, Input: json.RawMessage(c.Input)})
	}
	for _, result := range m.Results {
		turn.ToolResults = append(turn.ToolResults, wire.ToolResult{
			CallID: result.CallID, Tool: result.Tool, Content: result.Content, IsError: result.IsError,
		})
	}
	return turn
}

// openTranscript opens a recorded session for reading; a name that ends in .gz
// is unpacked on the way.
func openTranscript(name string) (io.ReadCloser, error) {
	f, err := os.Open(name)
	if err != nil || !strings.HasSuffix(name, ".gz") {
		return f, err
	}
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
	}
	return packedFile{unpacked, f}, nil
}

// packedFile is a file that is unpacked as it is read.
type packedFile struct {
	io.Reader
	file *os.File
}

func (p packedFile) Close() error { return p.file.Close() }
