package digest_test

import (
	"fmt"
	"strings"
	"testing"

	"hexapla/layers"
	"hexapla/layers/digest"
)

// sample is tool output as it occurs: source, logs and prose, size bytes long.
func sample(size int) string {
	unit := "    12→func (s *Store) WriteCommitted(ctx context.Context, opts Options) error {\n" +
		"internal/store/write.go:88:4: undefined: commitOrHead\nok  \tshop/internal/cart\t0.012s\n" +
		"The `Write` method in internal/store/write.go now calls commitOrHead instead of commit, because that failed.\n" +
		"drwxr-xr-x 2 dev dev 4096 Jan  5 10:04 manual_commit_hooks.go\n"
	return strings.Repeat(unit, size/len(unit)+1)[:size]
}

func BenchmarkEntitiesOf(b *testing.B) {
	for _, size := range []int{2 << 10, 20 << 10, 1 << 20} {
		// Names differ from line to line, so that the lists do not fill and end
		// the scan; beyond 200 of each the scan stops by design.
		text := strings.ReplaceAll(sample(size), "commitOrHead", "commit")
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				digest.EntitiesOf(text)
			}
		})
	}
}

func BenchmarkToolResult(b *testing.B) {
	c := counter(b)
	for _, size := range []int{2 << 10, 20 << 10, 1 << 20} {
		in := digest.ToolOutput{Tool: "Bash", Input: `{"command":"go test ./... 2>&1"}`, Output: sample(size)}
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				digest.ToolResult(in, c)
			}
		})
	}
}

// long is a conversation of n turns with edits and checks.
func long(n int, c layers.Counter) layers.Conversation {
	conv := layers.Conversation{ID: "c12", Turns: []layers.Turn{{Role: layers.RoleUser, Text: "Please refactor the commit logic in internal/store so that writes are batched. " + sample(2000)}}}
	code := strings.ReplaceAll(sample(3000), "\n", `\n`)
	code = strings.ReplaceAll(code, "\t", `\t`)
	for i := 0; len(conv.Turns) < n-1; i++ {
		id := fmt.Sprint("t", i)
		call := layers.ToolCall{ID: id, Name: "Edit", Input: fmt.Sprintf(`{"file_path":"internal/store/file%d.go","old_string":"%s","new_string":"%s"}`, i%9, code, code)}
		if i%3 == 0 {
			call = layers.ToolCall{ID: id, Name: "Bash", Input: `{"command":"go test ./..."}`}
		}
		result := layers.ToolResult{CallID: id, Tool: call.Name}
		result.Compressed = digest.ToolResult(digest.ToolOutput{Tool: call.Name, Input: call.Input, Output: "ok  \tshop/internal/cart\t0.012s\n"}, c)
		conv.Turns = append(conv.Turns,
			layers.Turn{Role: layers.RoleAssistant, Text: "Now let me update `WriteCommitted` to use the batch, because each commit is slow. The issue was the lock.", Calls: []layers.ToolCall{call}},
			layers.Turn{Role: layers.RoleTool, Results: []layers.ToolResult{result}})
	}
	conv.Turns = append(conv.Turns, layers.Turn{Role: layers.RoleAssistant, Text: "Done. " + strings.Repeat("Moved `commitOrHead` to internal/store/batch.go and updated callers. ", 20) + "Should I go on?"})
	return conv
}

func BenchmarkConversation200Turns(b *testing.B) {
	c := counter(b)
	x := digest.Exchange{Conversation: long(200, c)}
	b.Run("Header", func(b *testing.B) {
		for b.Loop() {
			digest.Header(x, c)
		}
	})
	b.Run("Summary", func(b *testing.B) {
		for b.Loop() {
			digest.Summary(x, c)
		}
	})
}

func BenchmarkCurrentContext(b *testing.B) {
	c := counter(b)
	x := digest.Exchange{Conversation: long(40, c)}
	var trios []digest.Trio
	for i := range 200 {
		h, s := digest.Header(x, c), digest.Summary(x, c)
		h.ID = fmt.Sprint("c", i)
		h.Topic = fmt.Sprintf("Topic number %d of the store", i)
		trios = append(trios, digest.Trio{Header: h, Summary: s})
	}
	for b.Loop() {
		digest.CurrentContext(digest.Story{Trios: trios, Ongoing: &x}, c)
	}
}

func BenchmarkTrim(b *testing.B) {
	c := counter(b)
	text := strings.Repeat("Moved `commitOrHead` to internal/store/batch.go, because callers need it. ", 40)
	for b.Loop() {
		digest.Trim(text, 60, c)
	}
}
