package session_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"hexapla/layers"
	"hexapla/layers/rendering"
	"hexapla/session"
)

// FuzzParsePolicy: what is taken is a policy that can be used.
func FuzzParsePolicy(f *testing.F) {
	f.Add(`{"lowWaterPercent":40}`)
	f.Add(`{"unknown":1}`)
	f.Add(`[`)
	f.Fuzz(func(t *testing.T, text string) {
		policy, err := layers.ParsePolicy([]byte(text), layers.DefaultPolicy())
		if err == nil && policy.Check() != nil {
			t.Errorf("%s was taken: %v", text, policy.Check())
		}
	})
}

// FuzzParseSettings: what is taken of profiles and of the audit log's bounds can
// be used.
func FuzzParseSettings(f *testing.F) {
	f.Add(`{"mode":"auto"}`)
	f.Add(`{"entries":10,"bytes":100000,"days":1}`)
	f.Add(`{"entries":-1}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, text string) {
		profiles, err := layers.ParseProfiles([]byte(text), layers.DefaultProfiles())
		if err == nil && profiles.Check() != nil {
			t.Errorf("%s was taken: %v", text, profiles.Check())
		}
		audit, err := session.ParseAuditRetention([]byte(text))
		if err == nil && (audit.Entries < 0 || audit.Bytes < 0 || audit.Days < 0) {
			t.Errorf("%s was taken: %+v", text, audit)
		}
	})
}

var workspaceID = regexp.MustCompile(`^[0-9a-f]{16}$`)

// FuzzWorkspaceID: whatever a client names, the folder's name is 16 hex digits,
// and a slash or a dot at the end of a file's path changes nothing.
func FuzzWorkspaceID(f *testing.F) {
	for _, uri := range []string{"file:///home/dev/a", "file:///C%3A/x", `C:\x\..\y`, "/a/../b", "vscode-remote://ssh/x", "file://host/%zz", "", "file:///é%2F", "untitled:1"} {
		f.Add(uri)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		id := session.WorkspaceID(uri)
		if !workspaceID.MatchString(id) {
			t.Fatalf("%q: %q", uri, id)
		}
		// What is no URI, such as one with control characters, stays as it is.
		if _, err := url.Parse(uri); err == nil && strings.HasPrefix(uri, "file:///") && !strings.ContainsAny(uri, "?#%") {
			for _, end := range []string{"/", "/.", "/x/.."} {
				if other := session.WorkspaceID(uri + end); other != id {
					t.Errorf("%q is %s, with %q %s", uri, id, end, other)
				}
			}
		}
	})
}

// opened is a session for a fuzz target.
func opened(f *testing.F) *session.Session {
	service := newService(session.Options{DataDir: f.TempDir(), Now: func() int64 { return 1_700_000_000_000 }})
	f.Cleanup(func() { service.Close() })
	if _, err := service.OpenSession(f.Context(), session.OpenRequest{URI: "file:///work", Session: "s"}); err != nil {
		f.Fatal(err)
	}
	s, err := service.Session("s")
	if err != nil {
		f.Fatal(err)
	}
	return s
}

// FuzzCursor: a cursor is one that was given, or an error that says so.
func FuzzCursor(f *testing.F) {
	s := opened(f)
	for range 3 {
		if _, err := s.Record(f.Context(), session.RecordRequest{Done: true, Turns: []layers.Turn{
			{Role: layers.RoleUser, Text: strings.Repeat("The reader is slow. ", 200)}, {Role: layers.RoleAssistant, Text: "It is faster now."},
		}}); err != nil {
			f.Fatal(err)
		}
	}
	for _, cursor := range []string{"", "0@1", "1@999999", "-1@5", "9223372036854775807@1", "1@9223372036854775807", "x", "1@2@3"} {
		f.Add(cursor)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		check := func(err error) {
			var invalid *session.InvalidError
			if err != nil && !errors.As(err, &invalid) && !errors.Is(err, session.ErrStateChanged) && !errors.Is(err, session.ErrNotFound) {
				t.Errorf("%q: %v", cursor, err)
			}
		}
		_, err := s.Conversation(session.ConversationRequest{Conversation: "c1", Detail: layers.DetailFull, MaxTokens: 50, Cursor: cursor})
		check(err)
		_, err = s.Search(t.Context(), session.SearchRequest{Query: "reader", Limit: 1, Cursor: cursor})
		check(err)
	})
}

// FuzzPack: whatever was said, printed and asked, a pack is within its budget,
// its bytes are JSON and its own checksum's, and it can be rendered for each provider.
func FuzzPack(f *testing.F) {
	s := opened(f)
	f.Add("Why does it leak?", "The pool.", "--- FAIL: TestPool", 3000)
	f.Add("## system", "<system>\u202e", strings.Repeat("=", 5000), 900)
	f.Add("\xff\x00", "\u2028</user>", "{\"a\":", 1)
	f.Fuzz(func(t *testing.T, query, answer, output string, total int) {
		total = max(1, total%20_000)
		_, err := s.Record(t.Context(), session.RecordRequest{Done: true, Turns: []layers.Turn{
			{Role: layers.RoleUser, Text: query},
			{Role: layers.RoleAssistant, Text: answer, Calls: []layers.ToolCall{{ID: "t", Name: "Bash", Input: `{"command":"make"}`}}},
			{Role: layers.RoleTool, Results: []layers.ToolResult{{CallID: "t", Content: output}}},
		}, Contents: []string{output}})
		if err != nil {
			return // it was refused
		}
		reply, err := s.BuildPack(t.Context(), session.PackRequest{Budget: layers.Budget{Total: total}})
		if err != nil {
			return // too little for what must be there
		}
		if tokens := reply.Pack.System + reply.Pack.Context + reply.Pack.Input; !json.Valid(reply.Canonical) || tokens > total {
			t.Fatalf("%d tokens of %d: %s", tokens, total, reply.Canonical)
		}
		for _, format := range rendering.Formats() {
			if _, err := rendering.Render(reply.Pack, format); err != nil {
				t.Errorf("%s: %v", format, err)
			}
		}
	})
}
