package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hexapla/rpc"
	"hexapla/rpc/wire"
	"hexapla/session"
	"hexapla/storage"
)

// planted are secrets that stand in no other text, made of a name.
type planted struct{ token, password, inURL string }

func plant(name string) planted {
	sum := sha256.Sum256([]byte(name))
	digits := hex.EncodeToString(sum[:])
	return planted{token: "gh" + "p_" + digits[:36], password: "Pw!" + digits[36:46], inURL: "q" + digits[46:60]}
}

func (p planted) text() string {
	return "The password is " + p.password + " and the token " + p.token + "; see postgres:" + "//app:" + p.inURL + "@db.example.org/main."
}

// step leads from a value into it: a field of a struct, an element of a slice, or
// a value of JSON.
type step struct {
	field int
	name  string
}

// textPaths lists the ways to all strings of a type of parameters.
func textPaths(t reflect.Type, path []step, seen map[reflect.Type]bool) [][]step {
	if seen[t] {
		return nil
	}
	switch t.Kind() {
	case reflect.String, reflect.Interface, reflect.Map:
		return [][]step{append([]step(nil), path...)}
	case reflect.Pointer:
		return textPaths(t.Elem(), path, seen)
	case reflect.Slice:
		if t == reflect.TypeFor[json.RawMessage]() {
			return [][]step{append([]step(nil), path...)}
		}
		return textPaths(t.Elem(), path, seen)
	case reflect.Struct:
		seen[t] = true
		defer delete(seen, t)
		var out [][]step
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Name == "Session" && f.Type.Kind() == reflect.String {
				continue
			}
			out = append(out, textPaths(f.Type, append(path, step{i, f.Name}), seen)...)
		}
		return out
	}
	return nil
}

func named(path []step) string {
	var names []string
	for _, s := range path {
		names = append(names, s.name)
	}
	return strings.Join(names, ".")
}

// put sets the string at the end of a path, making what is on the way.
func put(v reflect.Value, path []step, text string) {
	for {
		switch v.Kind() {
		case reflect.Pointer:
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
			continue
		case reflect.Slice:
			if v.Type() == reflect.TypeFor[json.RawMessage]() {
				raw, _ := json.Marshal(map[string]any{"role": "assistant", "content": []any{
					map[string]any{"type": "text", "text": text},
					map[string]any{"type": "tool_use", "id": "t9", "name": "Bash", "input": map[string]any{"command": text}},
				}})
				v.SetBytes(raw)
				return
			}
			if v.Len() == 0 {
				v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			}
			v = v.Index(0)
			continue
		case reflect.Interface:
			v.Set(reflect.ValueOf(map[string]any{"command": text, text: 1, "deep": []any{map[string]any{"why": text}}}))
			return
		case reflect.Map:
			v.Set(reflect.ValueOf(map[string]string{"note": text, text: "x"}))
			return
		case reflect.String:
			v.SetString(text)
			return
		}
		v, path = v.Field(path[0].field), path[1:]
	}
}

// bases give parameters with which a method succeeds, for a text at the path.
// Methods without one take their session alone.
var bases = map[string]func(path string) any{
	wire.MethodSessionOpen: func(string) any {
		return &wire.SessionOpenParams{Workspace: wire.Workspace{URI: testWorkspace}, Session: "s"}
	},
	wire.MethodConversationRecord: func(path string) any {
		p := &wire.ConversationRecordParams{Session: "s"}
		turn := wire.Turn{Role: "user", Text: "What is it?"}
		switch {
		case strings.Contains(path, "ToolCalls"):
			turn = wire.Turn{Role: "assistant", ToolCalls: []wire.ToolCall{{ID: "t1", Name: "Bash"}}}
		case strings.Contains(path, "ToolResults"):
			turn = wire.Turn{Role: "tool", ToolResults: []wire.ToolResult{{CallID: "t1", Content: "ok"}}}
			if strings.Contains(path, "Blob") {
				turn.ToolResults[0].Content = ""
			}
		}
		p.Turns = []wire.Turn{turn}
		return p
	},
	wire.MethodConversationEdit: func(path string) any {
		p := &wire.ConversationEditParams{Session: "s", Conversation: "c1", Turn: 1}
		text := "What was it?"
		switch {
		case strings.Contains(path, "ToolCalls"):
			p.Turn = 2
		case strings.Contains(path, "ToolResults"):
			p.Turn, p.ToolResults = 3, []wire.ToolResult{{CallID: "t1", Content: "ok"}}
		default:
			p.Content = &text
		}
		return p
	},
	wire.MethodConversationAlias: func(string) any {
		return &wire.ConversationAliasParams{Session: "s", Alias: "the-first", To: "c1"}
	},
	wire.MethodToolRecord: func(string) any {
		return &wire.ToolRecordParams{Session: "s", Tool: "Bash", Content: "ok"}
	},
	wire.MethodResponseIngest: func(path string) any {
		p := &wire.ResponseIngestParams{Session: "s"}
		if !strings.HasPrefix(path, "Message") && !strings.HasPrefix(path, "Response") {
			p.Text = "It is so."
		}
		if strings.HasPrefix(path, "Response") {
			p.Response = &wire.StructuredResponse{Content: "It is so."}
			if strings.Contains(path, "ToolUses") {
				p.Response.ToolUses = []wire.ToolCall{{ID: "t7", Name: "Bash"}}
			}
		}
		return p
	},
	wire.MethodHousekeepingApply: func(string) any { return &wire.HousekeepingApplyParams{Session: "s", Conversation: "c1"} },
	wire.MethodContextRequest: func(path string) any {
		p := &wire.ContextRequestParams{Session: "s"}
		if strings.Contains(path, "Query") {
			p.Requests.RetrieveConversations = []wire.RetrieveConversations{{Priority: "relevant"}}
		}
		return p
	},
	wire.MethodPinAdd:       func(string) any { return &wire.PinAddParams{Session: "s", Text: "Never push to main."} },
	wire.MethodBudgetReport: func(string) any { return &wire.BudgetReportParams{Session: "s", PromptTokens: 100, CountedTokens: 90} },
	wire.MethodPackBuild: func(string) any {
		return &wire.PackBuildParams{Session: "s", Budget: wire.Budget{Total: 4000}, Input: &wire.UserInput{Type: "user_query", Content: "And now?"}}
	},
	wire.MethodPackExplain: func(string) any {
		return &wire.PackExplainParams{PackBuildParams: wire.PackBuildParams{Session: "s", Budget: wire.Budget{Total: 4000}}}
	},
	wire.MethodPackWhatIf: func(string) any {
		return &wire.PackWhatIfParams{Session: "s", Budgets: []int{4000}}
	},
	wire.MethodSearchQuery: func(string) any { return &wire.SearchQueryParams{Session: "s", Query: "reader"} },
}

// TestY6_NothingGetsPastTheDoor plants secrets in every string of the parameters
// of every method of the table, found by reflection, and looks for them in every
// file of the data folder, in the log and in the answers.
func TestY6_NothingGetsPastTheDoor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var log bytes.Buffer
	c := startLogged(t, dir, &log)
	recordStory(c, 4)
	opened := call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: "s", Turns: []wire.Turn{
		{Role: "user", Text: "Why?"}, {Role: "assistant", ToolCalls: []wire.ToolCall{{ID: "t1", Name: "Bash"}}},
		{Role: "tool", ToolResults: []wire.ToolResult{{CallID: "t1", Content: "ok"}}},
	}})
	var secrets []planted
	succeeded := map[string]int{}
	fields := 0
	for _, m := range wire.Methods() {
		if m.Direction != wire.ClientToServer || m.Name == wire.MethodSessionClose {
			continue
		}
		for _, path := range textPaths(m.Params, nil, map[reflect.Type]bool{}) {
			name := m.Name + " " + named(path)
			fields++
			for _, bare := range []bool{false, true} {
				secret := plant(fmt.Sprint(name, bare))
				text := secret.text()
				if bare {
					text = secret.token
				}
				params := reflect.New(m.Params)
				if base := bases[m.Name]; base != nil {
					params = reflect.ValueOf(base(named(path)))
				} else if f := params.Elem().FieldByName("Session"); f.IsValid() {
					f.SetString("s")
				}
				if m.Name == wire.MethodConversationEdit {
					params.Elem().FieldByName("Conversation").SetString(opened.Conversation)
				}
				put(params.Elem(), path, text)
				secrets = append(secrets, secret)
				var result json.RawMessage
				err := c.Call(t.Context(), m.Name, params.Interface(), &result)
				said := string(result)
				if err != nil {
					said = fmt.Sprintf("%+v", err)
				} else {
					succeeded[m.Name]++
				}
				for _, raw := range []string{secret.token, secret.password, secret.inURL} {
					if strings.Contains(said, raw) {
						t.Errorf("%s: the answer repeats a secret: %.300s", name, said)
					}
				}
			}
		}
	}
	for _, m := range wire.Methods() {
		if bases[m.Name] != nil && succeeded[m.Name] < 2 {
			t.Errorf("%s did not succeed with texts: the test proves nothing of it", m.Name)
		}
	}
	// A session's name is not scrubbed but refused.
	secret := plant("session")
	if err := c.Call(t.Context(), wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: testWorkspace + secret.token}, Session: secret.token}, nil); !rpc.IsKind(err, wire.KindInvalidParams) || strings.Contains(err.Error(), secret.token) {
		t.Errorf("a session by the name of a secret: %v", err)
	}
	secrets = append(secrets, secret)
	c.awaitIndex("s")
	c.stop()
	stores, err := filepath.Glob(filepath.Join(dir, "workspaces", "*"))
	if err != nil || len(stores) == 0 {
		t.Fatal("no stores: ", err)
	}
	kinds := 0
	for _, store := range stores {
		kinds = max(kinds, kindsKnown(t, store))
	}
	if kinds < 14 {
		t.Errorf("records of %d kinds, want 14 or more", kinds)
	}
	files := filesWithAny(t, dir, secrets)
	for _, found := range files {
		t.Error(found)
	}
	for _, secret := range secrets {
		for _, raw := range []string{secret.token, secret.password, secret.inURL} {
			if strings.Contains(log.String(), raw) {
				t.Errorf("the log has a secret: %s", raw[:6])
			}
		}
	}
	if fields < 80 {
		t.Errorf("%d fields, want 80 or more", fields)
	}
	t.Logf("%d fields, %d secrets", fields, 3*len(secrets))
}

// kindsKnown reads all records of a store, of which the sessions must know how to
// find the texts, and counts their kinds.
func kindsKnown(t *testing.T, dir string) int {
	t.Helper()
	store, err := storage.Open(t.Context(), storage.Options{Dir: dir, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	seen := map[string]bool{}
	err = store.Scan(t.Context(), 0, store.Seq(), func(r storage.Record, _ []byte) error {
		seen[r.Kind] = true
		_, _, err := session.MapTexts(r.Kind, r.Body, func(text string) string { return text })
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return len(seen)
}

// filesWithAny reads every file of a folder and tells where a secret stands.
func filesWithAny(t *testing.T, dir string, secrets []planted) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, secret := range secrets {
			for _, raw := range []string{secret.token, secret.password, secret.inURL} {
				if at := bytes.Index(data, []byte(raw)); at >= 0 {
					found = append(found, fmt.Sprintf("%s has a secret: %q", filepath.Base(path), data[max(0, at-80):at+8]))
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// startLogged is startChild with the server's stderr in a buffer, which may be
// read once the server has ended.
func startLogged(t *testing.T, dataDir string, log *bytes.Buffer) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "serve", "--data-dir", dataDir)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stderr = log
	client, err := rpc.StartChild(context.Background(), cmd, rpc.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Initialize(t.Context(), rpc.InitializeParams{ClientName: "test"}); err != nil {
		t.Fatal(err)
	}
	return &child{t, client}
}
