package digest_test

import (
	"path/filepath"
	"strings"
	"testing"

	"hexapla/layers"
	"hexapla/layers/digest"
)

// atoms returns the paths, identifiers and numbers of a text: what must never
// be made up.
func atoms(text string) []string {
	var out []string
	for _, w := range strings.FieldsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '/' || r == '.' || r == '-' || r == '~' || r == '$')
	}) {
		w = strings.Trim(w, ".-/~$")
		if strings.ContainsAny(w, "0123456789_/.") || strings.ToLower(w) != w && w != strings.ToUpper(w[:1])+strings.ToLower(w[1:]) {
			out = append(out, w)
		}
	}
	return out
}

func missing(text, source string) []string {
	var out []string
	for _, a := range atoms(text) {
		if !strings.Contains(source, a) {
			out = append(out, a)
		}
	}
	return out
}

// body is a rendered header without id, time and outcome.
func body(h layers.Header) string {
	_, after, _ := strings.Cut(digest.RenderHeader(h), " · ")
	return after
}

// TestNothingIsMadeUp checks that every path, identifier and number in what is
// made from real sessions stands in them.
func TestNothingIsMadeUp(t *testing.T) {
	c := counter(t)
	conversations, words := 0, 0
	for _, path := range sessions(t) {
		var all strings.Builder
		var trios []digest.Trio
		for _, raw := range recorded(t, path) {
			conv := compressed(raw, c)
			x := digest.Exchange{Conversation: conv}
			h, s := digest.Header(x, c), digest.Summary(x, c)
			from := source(raw)
			all.WriteString(from + h.ID + "\n")
			report := func(what, text, from string) {
				words += len(atoms(text))
				if made := missing(text, from); len(made) > 0 {
					t.Errorf("%s %s %s: %q is not in the source:\n%s", filepath.Base(path), conv.ID, what, made, text)
				}
			}
			report("header", body(h)+strings.Join(h.KeyEntities, "\n"), from)
			text, _ := strings.CutPrefix(digest.RenderSummary(s, h.ID), h.ID)
			for _, ch := range s.CodeChanges {
				text += strings.Join(ch.Files, "\n") + "\n"
			}
			report("summary", text, from)
			report("layer 0", digest.RenderCurrentContext(digest.CurrentContext(digest.Story{Trios: trios, Ongoing: &x}, c)), all.String())
			trios = append(trios, digest.Trio{Header: h, Summary: s})
			conversations++
		}
		if text := digest.RenderCurrentContext(digest.CurrentContext(digest.Story{Trios: trios}, c)); len(missing(text, all.String())) > 0 {
			t.Errorf("%s: layer 0: %q made up:\n%s", filepath.Base(path), missing(text, all.String()), text)
		}
	}
	t.Logf("%d conversations, %d atoms", conversations, words)
	if conversations < 100 {
		t.Errorf("only %d conversations", conversations)
	}
}

// TestResultsAreTrue checks the same for tool results, where only numbers may
// be new: they count.
func TestResultsAreTrue(t *testing.T) {
	c := counter(t)
	results := 0
	for _, path := range sessions(t) {
		for _, raw := range recorded(t, path) {
			inputs := map[string]layers.ToolCall{}
			for _, turn := range raw.Turns {
				for _, k := range turn.Calls {
					inputs[k.ID] = k
				}
				for _, r := range turn.Results {
					results++
					k := inputs[r.CallID]
					got := digest.ToolResult(digest.ToolOutput{Tool: r.Tool, Input: k.Input, Output: r.Content, IsError: r.IsError}, c)
					if n := c.Count(got.Summary); n > layers.CapToolSummary || got.Summary == "" {
						t.Errorf("%d tokens: %q", n, got.Summary)
					}
					from := source(layers.Conversation{Turns: []layers.Turn{{Text: r.Content, Calls: []layers.ToolCall{k}}}})
					for _, list := range [][]string{got.Entities, got.KeyFiles, atoms(got.Summary)} {
						for _, a := range list {
							if !strings.Contains(from, a) && strings.Trim(a, "0123456789.") != "" && a != "KiB" && a != "MiB" && a != "JSON" && a != "HTML" && a != "base64" {
								t.Errorf("%s: %q is not in the output of %s: %s", filepath.Base(path), a, r.Tool, got.Summary)
							}
						}
					}
				}
			}
		}
	}
	t.Logf("%d results", results)
}
