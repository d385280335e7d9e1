package digest_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"hexapla/layers"
	"hexapla/layers/digest"
)

var update = flag.Bool("update", false, "write the wanted results of testdata anew")

// section returns a file of an archive.
func section(a *txtar.Archive, name string) (string, bool) {
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data), true
		}
	}
	return "", false
}

func setSection(a *txtar.Archive, after, name, data string) {
	for i := range a.Files {
		if a.Files[i].Name == name {
			a.Files[i].Data = []byte(data)
			return
		}
	}
	for i := range a.Files {
		if a.Files[i].Name == after {
			a.Files = append(a.Files[:i+1:i+1], append([]txtar.File{{Name: name, Data: []byte(data)}}, a.Files[i+1:]...)...)
			return
		}
	}
}

func archive(t *testing.T, path string) *txtar.Archive {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return txtar.Parse(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))
}

func save(t *testing.T, path string, a *txtar.Archive) {
	t.Helper()
	if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestToolResultGolden(t *testing.T) {
	const path = "testdata/tools.txtar"
	a, c := archive(t, path), counter(t)
	for _, f := range append([]txtar.File(nil), a.Files...) {
		name, ok := strings.CutSuffix(f.Name, "/call")
		if !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			tool, input, _ := strings.Cut(strings.TrimSpace(string(f.Data)), " ")
			out, ok := section(a, name+"/output")
			if !ok {
				t.Fatal("no output")
			}
			out, isError := strings.CutPrefix(out, "!error\n")
			r := digest.ToolResult(digest.ToolOutput{Tool: tool, Input: input, Output: out, IsError: isError}, c)
			got := r.Summary + "\n"
			for _, l := range []struct {
				label string
				list  []string
			}{{"names", r.Entities}, {"files", r.KeyFiles}, {"errors", r.ErrorPatterns}, {"places", r.Pointers}} {
				if len(l.list) > 0 {
					got += l.label + ": " + strings.Join(l.list, " | ") + "\n"
				}
			}
			if n := c.Count(r.Summary); n > layers.CapToolSummary {
				t.Errorf("%d tokens", n)
			}
			want, _ := section(a, name+"/want")
			if got != want && !*update {
				t.Errorf("got\n%swant\n%s", got, want)
			}
			setSection(a, name+"/output", name+"/want", got)
		})
	}
	if *update {
		save(t, path, a)
	}
}

// transcript reads a conversation from lines that begin with USER, ASSISTANT,
// CALL name input, RESULT or ERROR; other lines continue the text before.
func transcript(t *testing.T, id, text string, c layers.Counter) layers.Conversation {
	t.Helper()
	conv := layers.Conversation{ID: id, Session: "s1"}
	var target *string
	const start = 1_768_212_240_000 // 2026-01-12 10:04 UTC
	add := func(role layers.Role) *layers.Turn {
		n := len(conv.Turns)
		conv.Turns = append(conv.Turns, layers.Turn{Number: n + 1, Role: role, Time: start + int64(n)*60_000})
		return &conv.Turns[n]
	}
	calls := 0
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "USER":
			turn := add(layers.RoleUser)
			turn.Text, target = rest, &turn.Text
		case "ASSISTANT":
			turn := add(layers.RoleAssistant)
			turn.Text, target = rest, &turn.Text
		case "CALL":
			if n := len(conv.Turns); n == 0 || conv.Turns[n-1].Role != layers.RoleAssistant {
				add(layers.RoleAssistant)
			}
			turn := &conv.Turns[len(conv.Turns)-1]
			calls++
			name, input, _ := strings.Cut(rest, " ")
			turn.Calls = append(turn.Calls, layers.ToolCall{ID: fmt.Sprint("call", calls), Name: name, Input: input})
			target = nil
		case "RESULT", "ERROR":
			turn := add(layers.RoleTool)
			turn.Results = append(turn.Results, layers.ToolResult{CallID: fmt.Sprint("call", calls), Content: rest, IsError: word == "ERROR"})
			target = &turn.Results[0].Content
		default:
			if target == nil {
				t.Fatalf("line belongs nowhere: %q", line)
			}
			*target += "\n" + line
		}
	}
	for i := range conv.Turns {
		for k := range conv.Turns[i].Results {
			for _, other := range conv.Turns {
				for _, call := range other.Calls {
					if call.ID == conv.Turns[i].Results[k].CallID {
						conv.Turns[i].Results[k].Tool = call.Name
					}
				}
			}
		}
	}
	return compressed(conv, c)
}

func TestExchangeGolden(t *testing.T) {
	paths, err := filepath.Glob("testdata/exchanges/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no exchanges: %v", err)
	}
	c := counter(t)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			a := archive(t, path)
			text, ok := section(a, "conversation")
			if !ok {
				t.Fatal("no conversation")
			}
			conv := transcript(t, "c12", text, c)
			x := digest.Exchange{Conversation: conv, Tokens: 4321}
			h, s := digest.Header(x, c), digest.Summary(x, c)
			want, _ := section(a, "header")
			var got strings.Builder
			got.WriteString(digest.RenderHeader(h))
			fmt.Fprintf(&got, "key: %s\n", strings.Join(h.KeyEntities, " | "))
			check(t, a, "header", want, got.String())
			want, _ = section(a, "summary")
			text = digest.RenderSummary(s, h.ID)
			for _, ch := range s.CodeChanges {
				line, _ := json.Marshal(ch)
				text += string(line) + "\n"
			}
			check(t, a, "summary", want, text)
			want, _ = section(a, "layer0")
			check(t, a, "layer0", want, digest.RenderCurrentContext(digest.CurrentContext(digest.Story{Ongoing: &x}, c)))
			if *update {
				save(t, path, a)
			}
		})
	}
}

func check(t *testing.T, a *txtar.Archive, name, want, got string) {
	t.Helper()
	if got != want && !*update {
		t.Errorf("%s: got\n%swant\n%s", name, got, want)
	}
	after := a.Files[len(a.Files)-1].Name
	setSection(a, after, name, got)
}
