package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// A shared memory is lines of JSON: a sharedHead, then sharedLines, which are the
// requests that record the conversations, in order (docs/sharing.md).
const (
	sharedFormat  = "hexapla-memory"
	sharedVersion = 1
)

// sharedHead is the first line of a shared memory.
type sharedHead struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Store   string `json:"store"` // identity of the store that it was taken from
}

// sharedLine is any other line.
type sharedLine struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

func newShare(p program) *cobra.Command {
	var folder folderFlags
	var file string
	cmd := &cobra.Command{
		Use:   "share [CONVERSATION...]",
		Short: "Write conversations of a folder to a file, for another person or folder",
		Long: `Share writes conversations of a folder with their tool outputs and summaries to a
file, from which import takes them into the memory of another folder, on this
machine or another one. Secrets were replaced when they were recorded; layer 0,
pins and what was learned stay here.

Without CONVERSATION all conversations of the folder are written, but for those
that it took over from another memory itself.`,
		Example: `  hexapla share --output brewlog.jsonl
  hexapla share c12 c17 --output flush.jsonl
  hexapla share | ssh build hexapla import --workspace /src/brewlog -`,
		Args: arguments(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, ids []string) error {
			return withSession(cmd, p, folder, func(ctx context.Context, s *server, session string) (err error) {
				of := ""
				if cmd.Flags().Changed("session") {
					of = session
				}
				out := p.out
				if file != "" {
					f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
					if err != nil {
						return fmt.Errorf("share: %w", err)
					}
					defer func() {
						if err = errors.Join(err, f.Close()); err != nil {
							_ = os.Remove(file) // half a memory is none
						}
					}()
					out = f
				}
				w := bufio.NewWriter(out)
				sh := sharer{server: s, session: session, lines: json.NewEncoder(w), progress: newProgress(p)}
				sh.lines.SetEscapeHTML(false)
				if err := sh.share(ctx, of, ids); err != nil {
					return fmt.Errorf("share: %w", err)
				}
				if err := w.Flush(); err != nil {
					return fmt.Errorf("share: %w", err)
				}
				if file != "" {
					fmt.Fprintf(p.out, "%d conversations with %d turns in %s\n", sh.conversations, sh.turns, file)
				}
				return nil
			})
		},
	}
	folder.add(cmd)
	cmd.Flags().Lookup("session").Usage = "only the session of this `id`"
	cmd.Flags().StringVar(&file, "output", "", "new `file` to write (default: standard output)")
	return cmd
}

// sharer writes a shared memory.
type sharer struct {
	*server
	session  string // any open one of the workspace
	lines    *json.Encoder
	progress *progress

	conversations, turns int
}

// share writes the conversations of one session or all, or those of the ids.
func (s *sharer) share(ctx context.Context, of string, ids []string) error {
	defer s.progress.clear()
	chosen, err := s.choose(ctx, of, ids)
	if err != nil {
		return err
	}
	if len(chosen) == 0 {
		return errors.New("there is no conversation to share")
	}
	var sessions wire.SessionListResult
	if err := s.Call(ctx, wire.MethodSessionList, wire.SessionListParams{Session: s.session}, &sessions); err != nil {
		return err
	}
	if err := s.lines.Encode(sharedHead{Format: sharedFormat, Version: sharedVersion, Store: sessions.Store}); err != nil {
		return err
	}
	begun := map[string]bool{}
	for i, c := range chosen {
		s.progress.show("sharing %d of %d", i+1, len(chosen))
		if !begun[c.Session] {
			begun[c.Session] = true
			if err := s.begin(sessions.Sessions, c.Session); err != nil {
				return err
			}
		}
		if err := s.conversation(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", c.Header.ID, err)
		}
	}
	return nil
}

// choose lists what is shared, oldest first.
func (s *sharer) choose(ctx context.Context, of string, ids []string) ([]wire.ListedConversation, error) {
	var chosen []wire.ListedConversation
	left := slices.Clone(ids)
	params := wire.ConversationListParams{Session: s.session, Of: of, Limit: 1000}
	for {
		var page wire.ConversationListResult
		if err := s.Call(ctx, wire.MethodConversationList, params, &page); err != nil {
			return nil, err
		}
		for _, c := range page.Conversations {
			i := slices.Index(left, c.Header.ID)
			switch {
			case i >= 0:
				left = slices.Delete(left, i, i+1)
				chosen = append(chosen, c)
			case len(ids) == 0 && !c.Shared:
				chosen = append(chosen, c)
			}
		}
		if page.Cursor == "" {
			break
		}
		params.Cursor = page.Cursor
	}
	if len(left) > 0 {
		return nil, fmt.Errorf("no conversation %s", strings.Join(left, ", "))
	}
	slices.Reverse(chosen)
	return chosen, nil
}

// begin writes the line that opens a session.
func (s *sharer) begin(sessions []wire.SessionInfo, id string) error {
	i := slices.IndexFunc(sessions, func(info wire.SessionInfo) bool { return info.Session == id })
	if i < 0 {
		return fmt.Errorf("session %s is not there any more", id)
	}
	info := sessions[i]
	return s.line(wire.MethodSessionOpen, struct {
		Session string `json:"session"`
		Agent   string `json:"agent,omitempty"`
		Model   string `json:"model,omitempty"`
		Title   string `json:"title,omitempty"`
		Shared  bool   `json:"shared"`
	}{id, info.Agent, info.Model, info.Title, true})
}

// sharePage is how much of a conversation is read at once, in tokens.
const sharePage = 200_000

// conversation writes the lines that record a conversation, one for each turn.
func (s *sharer) conversation(ctx context.Context, c wire.ListedConversation) error {
	params := wire.ConversationGetParams{Session: s.session, Conversation: c.Header.ID, Detail: "full", MaxTokens: sharePage}
	last := 0
	for {
		var page wire.ConversationGetResult
		if err := s.Call(ctx, wire.MethodConversationGet, params, &page); err != nil {
			return err
		}
		for _, recorded := range page.Turns {
			if recorded.Number <= last {
				continue // a page began within it
			}
			last = recorded.Number
			turn, err := s.turn(ctx, &recorded)
			if err != nil {
				return err
			}
			s.turns++
			if err := s.record(wire.ConversationRecordParams{Session: c.Session, Conversation: c.Header.ID, Turns: []wire.Turn{turn}}); err != nil {
				return err
			}
		}
		if params.Cursor = page.Cursor; page.Cursor == "" {
			s.conversations++
			if page.Header.Outcome == "ongoing" {
				return nil
			}
			return s.record(wire.ConversationRecordParams{
				Session: c.Session, Conversation: c.Header.ID, Done: true, Outcome: page.Header.Outcome, Housekeeping: saidOf(&page),
			})
		}
	}
}

// saidOf is what the model said of a conversation, nil where it said nothing.
func saidOf(c *wire.ConversationGetResult) *wire.Housekeeping {
	const said = "housekeeping"
	var h wire.Housekeeping
	if c.Header.Source == said {
		h.LLM.ResponseHeader = &wire.ResponseHeader{Topic: c.Header.Topic, Summary: c.Header.Summary, KeyEntities: c.Header.KeyEntities, Outcome: c.Header.Outcome}
	}
	if c.Summary != nil && c.Summary.Source == said {
		h.LLM.ContextSummary, h.LLM.KeyDecisions, h.LLM.OpenQuestions = c.Summary.Content, c.Summary.KeyDecisions, c.Summary.OpenQuestions
		for _, change := range c.Summary.CodeChanges {
			change.RelatedConversations = nil // ids of this memory
			h.LLM.CodeChanges = append(h.LLM.CodeChanges, change)
		}
	}
	if h.LLM.ResponseHeader == nil && h.LLM.ContextSummary == "" {
		return nil
	}
	return &h
}

// turn is a recorded turn as it is to be recorded again, with whole tool outputs.
func (s *sharer) turn(ctx context.Context, recorded *wire.RecordedTurn) (wire.Turn, error) {
	turn := wire.Turn{Role: recorded.Role, Kind: recorded.Kind, Text: recorded.Text, ToolCalls: recorded.ToolCalls, Time: recorded.Time}
	for _, r := range recorded.ToolResults {
		content, err := s.output(ctx, r.Compressed.Blob)
		switch {
		case rpc.IsKind(err, wire.KindBlobDamaged), rpc.IsKind(err, wire.KindNotFound):
			content = r.Compressed.Summary // all that is left of it
		case err != nil:
			return turn, err
		}
		turn.ToolResults = append(turn.ToolResults, wire.ToolResult{CallID: r.CallID, Tool: r.Compressed.Tool, Content: content, IsError: r.IsError})
	}
	return turn, nil
}

// output reads a stored output whole.
func (s *sharer) output(ctx context.Context, blob wire.BlobRef) (string, error) {
	if blob.SHA256 == "" {
		return "", nil
	}
	var text strings.Builder
	params := wire.BlobReadParams{Session: s.session, SHA256: blob.SHA256, Length: 8 << 20}
	for {
		var page wire.BlobReadResult
		if err := s.Call(ctx, wire.MethodBlobRead, params, &page); err != nil {
			return "", err
		}
		text.WriteString(page.Text)
		if params.Offset = page.NextOffset; page.NextOffset == 0 {
			return text.String(), nil
		}
	}
}

func (s *sharer) record(params wire.ConversationRecordParams) error {
	return s.line(wire.MethodConversationRecord, params)
}

func (s *sharer) line(method string, params any) error {
	text, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return s.lines.Encode(sharedLine{Method: method, Params: text})
}
