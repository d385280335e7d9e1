package session_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"testing"

	"hexapla/layers"
	"hexapla/layers/scrub"
	"hexapla/session"
)

// scrubbing is a service with settings, over a folder.
func scrubbing(t *testing.T, dir string, random byte, settings scrub.Settings) *session.Service {
	t.Helper()
	rules, err := scrub.Compile(settings)
	if err != nil {
		t.Fatal(err)
	}
	service := newService(session.Options{
		DataDir: dir, Now: func() int64 { return 1_700_000_000_000 }, Secrets: rules,
		Random: bytes.NewReader(bytes.Repeat([]byte{random}, 1024)),
	})
	t.Cleanup(func() {
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	return service
}

func opens(t *testing.T, service *session.Service, uri, id string) *session.Session {
	t.Helper()
	if _, err := service.OpenSession(t.Context(), session.OpenRequest{URI: uri, Session: id}); err != nil {
		t.Fatal(err)
	}
	s, err := service.Session(id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type doorParams struct {
	Session string
	Text    string
	Input   any
	Raw     json.RawMessage
	List    []*doorPart
	Names   map[string]string
	Kept    string `scrub:"-"`
	Bytes   []byte
	doorPart
}

type doorPart struct{ Inner string }

func fake() string { return "gh" + "p_" + "9fQ2mX7cT4kL1vB8nR5wZ3yH6jD0sA2eG4uP" }

// TestY6_Door: every text that can be reached from parameters is scrubbed, and
// what a tag or its place exempts is not.
func TestY6_Door(t *testing.T) {
	t.Parallel()
	service := scrubbing(t, t.TempDir(), 1, scrub.DefaultSettings())
	opens(t, service, "file:///work", "s")
	secret := fake()
	p := doorParams{
		Session: "s", Text: "a " + secret, Input: map[string]any{"cmd": []any{secret, 1.5, nil, true}, secret: "x", "password": "Trombone42!"},
		Raw: json.RawMessage(`{"a":"<` + secret + `>","n":12345678901234567890}`), List: []*doorPart{{secret}, nil},
		Names: map[string]string{secret: secret}, Kept: secret, Bytes: []byte(secret), doorPart: doorPart{secret},
	}
	found := service.Admit(t.Context(), &p)
	if p.Kept != secret {
		t.Error("a field with the tag was changed")
	}
	p.Kept = ""
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte(secret)) || strings.Contains(p.Names["x"], secret) || bytes.Contains(text, []byte("Trombone")) {
		t.Errorf("left: %s", text)
	}
	if !strings.Contains(string(p.Raw), "12345678901234567890") || p.Session != "s" {
		t.Errorf("changed: %s", p.Raw)
	}
	total := 0
	for _, f := range found {
		total += f.Count
	}
	if total != 10 {
		t.Errorf("%+v", found)
	}
	placeholder := strings.TrimPrefix(p.Text, "a ")
	for _, other := range []string{p.List[0].Inner, p.Inner, string(p.Bytes), p.Names[placeholder]} {
		if other != placeholder {
			t.Errorf("%q and %q", placeholder, other)
		}
	}
}

// TestY6_KeyOfTheWorkspace: a secret has the same placeholder after a restart, and
// another in another workspace; a session of a secret's name is refused.
func TestY6_KeyOfTheWorkspace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	scrubbed := func(service *session.Service, id string) string {
		p := struct{ Session, Text string }{id, fake()}
		service.Admit(t.Context(), &p)
		return p.Text
	}
	service := scrubbing(t, dir, 7, scrub.DefaultSettings())
	opens(t, service, "file:///work", "s")
	first := scrubbed(service, "s")
	opens(t, service, "file:///other", "o")
	if first == scrubbed(scrubbing(t, t.TempDir(), 7, scrub.DefaultSettings()), "nobody") {
		t.Error("what is nobody's has the workspace's key")
	}
	if _, err := service.OpenSession(t.Context(), session.OpenRequest{URI: "file:///work", Session: fake()}); err == nil || strings.Contains(err.Error(), fake()) {
		t.Errorf("a session named by a secret: %v", err)
	}
	if err := service.Close(); err != nil {
		t.Fatal(err)
	}
	service = scrubbing(t, dir, 9, scrub.DefaultSettings())
	opens(t, service, "file:///work", "s")
	if again := scrubbed(service, "s"); again != first || !strings.HasPrefix(first, "[secret:github-") {
		t.Errorf("%q, then %q", first, again)
	}
	elsewhere := scrubbing(t, t.TempDir(), 9, scrub.DefaultSettings())
	opens(t, elsewhere, "file:///work", "s")
	if other := scrubbed(elsewhere, "s"); other == first {
		t.Error("two stores have the same key")
	}
}

// TestY6_PackBeforeAndAfter: a pack has the same input before it is recorded as
// after.
func TestY6_PackBeforeAndAfter(t *testing.T) {
	t.Parallel()
	service := scrubbing(t, t.TempDir(), 1, scrub.DefaultSettings())
	s := opens(t, service, "file:///work", "s")
	input := struct{ Session, Text string }{"s", "Deploy with " + fake() + " and password=Trombone42! now."}
	recorded := struct {
		Session string
		Turns   []layers.Turn
	}{"s", []layers.Turn{{Role: layers.RoleUser, Text: input.Text}}}
	service.Admit(t.Context(), &input)
	service.Admit(t.Context(), &recorded)
	if recorded.Turns[0].Text != input.Text || strings.Contains(input.Text, "Trombone") {
		t.Fatalf("%q and %q", input.Text, recorded.Turns[0].Text)
	}
	before, err := s.BuildPack(t.Context(), session.PackRequest{Budget: layers.Budget{Total: 4000}, Input: &session.PackInput{Kind: layers.InputUserQuery, Content: input.Text}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Record(t.Context(), session.RecordRequest{Turns: recorded.Turns}); err != nil {
		t.Fatal(err)
	}
	if after := pack(t, s, 4000); !strings.Contains(before.Pack.Text, input.Text) || !strings.Contains(after.Pack.Text, input.Text) {
		t.Errorf("%s\n\n%s", before.Pack.Text, after.Pack.Text)
	}
}

// TestH15_Allowlists: headers, summaries and layer 0 name only the paths and
// domains that they may; the full text names all.
func TestH15_Allowlists(t *testing.T) {
	t.Parallel()
	settings := scrub.DefaultSettings()
	settings.PathAllowlist, settings.DomainAllowlist = []string{"public/**", "*.md"}, []string{"example.org"}
	s := opens(t, scrubbing(t, t.TempDir(), 1, settings), "file:///work", "s")
	const text = "The cause is in internal/secret/plan.go, not in public/api/reader.go; see docs.example.org and intranet.corp.com, and README.md. I decided to change internal/secret/plan.go."
	id := talk(t, s, "Why does internal/secret/plan.go fail, unlike public/api/reader.go?", text)
	var h layers.Housekeeping
	h.LLM.ResponseHeader = layers.Header{Topic: "internal/secret/plan.go fails", KeyEntities: []string{"internal/secret/plan.go", "public/api/reader.go"}}
	h.LLM.ContextSummary = "internal/secret/plan.go was the cause, public/api/reader.go was not."
	h.LLM.CurrentContext = &layers.CurrentContext{OverallNarrative: "Work on internal/secret/plan.go and public/api/reader.go.", ActiveEntities: layers.ActiveEntities{Files: []string{"internal/secret/plan.go", "public/api/reader.go"}}}
	if _, err := s.ApplyHousekeeping(t.Context(), id, h, ""); err != nil {
		t.Fatal(err)
	}
	for _, detail := range []layers.Detail{layers.DetailHeader, layers.DetailSummary} {
		got, err := s.Conversation(session.ConversationRequest{Conversation: id, Detail: detail})
		if err != nil {
			t.Fatal(err)
		}
		shown := got.Text + strings.Join(got.Header.KeyEntities, " ") + got.Summary.Content
		if strings.Contains(shown, "secret/plan.go") || strings.Contains(shown, "corp.com") || !strings.Contains(shown, "reader.go") {
			t.Errorf("%s: %s", detail, shown)
		}
	}
	history, _, err := s.ContextHistory(t.Context(), 0, 10)
	if err != nil || len(history) == 0 {
		t.Fatal(err)
	}
	for _, version := range history {
		cc := version.Context
		if all := cc.OverallNarrative + cc.CurrentObjective + strings.Join(cc.ActiveEntities.Files, " ") + strings.Join(cc.KeyAchievements, " "); strings.Contains(all, "secret/plan") || strings.Contains(all, "corp.com") {
			t.Errorf("layer 0: %s", all)
		}
	}
	if cc := history[0].Context; !strings.Contains(cc.OverallNarrative, "public/api/reader.go") || len(cc.ActiveEntities.Files) != 1 {
		t.Errorf("layer 0: %+v", cc)
	}
	full, err := s.Conversation(session.ConversationRequest{Conversation: id, Detail: layers.DetailFull})
	if err != nil || !strings.Contains(full.Text, "internal/secret/plan.go") || !strings.Contains(full.Text, "intranet.corp.com") {
		t.Errorf("the full text: %v %s", err, full.Text)
	}
}

// TestY6_EveryKindIsKnown: the table of record kinds has each kind that the
// package declares, and its bodies come back as they were.
func TestY6_EveryKindIsKnown(t *testing.T) {
	t.Parallel()
	packages, err := parser.ParseDir(token.NewFileSet(), ".", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	kinds := 0
	ast.Inspect(packages["session"], func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != len(spec.Names) {
			return true
		}
		for i, name := range spec.Names {
			value, ok := spec.Values[i].(*ast.BasicLit)
			if !ok || !strings.HasPrefix(name.Name, "kind") || value.Kind != token.STRING {
				continue
			}
			kinds++
			kind := strings.Trim(value.Value, `"`)
			if _, _, err := session.MapTexts(kind, []byte("{}"), func(s string) string { return s }); err != nil {
				t.Errorf("%s: %v", name.Name, err)
			}
		}
		return true
	})
	if kinds < 20 {
		t.Errorf("%d kinds found, want 20 or more", kinds)
	}
	body, changed, err := session.MapTexts("turn", []byte(`{"role":"user","text":"a"}`), strings.ToUpper)
	if err != nil || !changed || !bytes.Contains(body, []byte(`"A"`)) {
		t.Errorf("%s, %v", body, err)
	}
	if _, _, err := session.MapTexts("nothing", nil, strings.ToUpper); err == nil {
		t.Error("an unknown kind is mapped")
	}
}

// TestY6_ScanOfAnOldStore: what was recorded before there was a door is found with
// its place, page by page, and never shown.
func TestY6_ScanOfAnOldStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	off := scrub.Settings{}
	service := scrubbing(t, dir, 1, off)
	s := opens(t, service, "file:///work", "s")
	secret := fake()
	for range 3 {
		talk(t, s, "Use "+secret+" please", "I did.")
	}
	if _, err := s.AddPin(t.Context(), "the key is "+secret, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := s.RecordTool(t.Context(), session.ToolRequest{Tool: "Bash", Content: strings.Repeat("x\n", 4000) + "token=" + secret}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.BuildPack(t.Context(), session.PackRequest{Budget: layers.Budget{Total: 4000}, Input: &session.PackInput{Kind: layers.InputUserQuery, Content: "and " + secret}}); err != nil {
		t.Fatal(err)
	}
	if err := service.Close(); err != nil {
		t.Fatal(err)
	}
	s = opens(t, scrubbing(t, dir, 1, scrub.DefaultSettings()), "file:///work", "s")
	whole, err := s.ScanSecrets(t.Context(), session.ScanRequest{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range whole.Findings {
		seen[f.Kind] = true
		if strings.Contains(reflect.ValueOf(f).String()+f.Record+f.Placeholder, secret) || f.Placeholder == "" {
			t.Errorf("%+v", f)
		}
		if f.Kind == "turn" && (f.Conversation == "" || f.Turn != 1 || f.Sequence == 0) {
			t.Errorf("%+v", f)
		}
		if f.Kind == "output" && len(f.Blob) != 64 {
			t.Errorf("%+v", f)
		}
	}
	for _, kind := range []string{"turn", "output", "pin", "audit"} {
		if !seen[kind] {
			t.Errorf("nothing is found in records of kind %s: %v", kind, seen)
		}
	}
	var paged []session.ScanFinding
	cursor := ""
	for range 100 {
		page, err := s.ScanSecrets(t.Context(), session.ScanRequest{Limit: 1, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range page.Families {
			for range f.Count {
				paged = append(paged, session.ScanFinding{})
			}
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	if cursor != "" || len(paged) != len(whole.Findings) {
		t.Errorf("%d findings by pages, %d at once", len(paged), len(whole.Findings))
	}
	if _, err := s.ScanSecrets(t.Context(), session.ScanRequest{Cursor: "x"}); err == nil {
		t.Error("a cursor of another method is taken")
	}
	text := "a\nb " + secret
	if got, err := s.ScanSecrets(t.Context(), session.ScanRequest{Text: &text}); err != nil || len(got.Findings) != 1 || got.Findings[0].Line != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

// BenchmarkAdmit is what the door takes of recording a typical exchange of 2 KB.
func BenchmarkAdmit(b *testing.B) {
	service := newService(session.Options{DataDir: b.TempDir()})
	defer service.Close()
	if _, err := service.OpenSession(b.Context(), session.OpenRequest{URI: "file:///work", Session: "s"}); err != nil {
		b.Fatal(err)
	}
	req := struct {
		Session string
		session.RecordRequest
	}{"s", exchange(7)}
	size := 0
	for _, turn := range req.Turns {
		size += len(turn.Text)
	}
	for _, content := range req.Contents {
		size += len(content)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		service.Admit(b.Context(), &req)
	}
}
