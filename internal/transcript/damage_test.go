package transcript_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hexapla/internal/transcript"
)

// TestCutAnywhere: a transcript that ends in the middle is read up to there.
// Only a file that is cut within its first lines may not be recognised.
func TestCutAnywhere(t *testing.T) {
	t.Parallel()
	for _, name := range []string{claudeFixture, specStoryFixture} {
		whole := fixture(t, name)
		_, all, _ := read(t, name, whole)
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.IntRange(0, min(len(whole), 50_000)).Draw(t, "length")
			_, messages, report, err := transcript.ReadAll(name, strings.NewReader(whole[:n]))
			if err != nil {
				if n > 2000 || !errors.Is(err, transcript.ErrForeign) {
					t.Fatalf("cut at %d: %v", n, err)
				}
				return
			}
			if len(report.Problems) > 1 {
				t.Fatalf("cut at %d: %v", n, report.Problems)
			}
			// All but the last exchange are as in the whole.
			for i, m := range messages[:max(0, len(messages)-3)] {
				if got, want := outline([]transcript.Message{m}), outline(all[i:i+1]); got != want {
					t.Fatalf("cut at %d: message %d is\n%s\nwant\n%s", n, i, got, want)
				}
			}
		})
	}
}

// TestDamageAnywhere: overwritten bytes cost at most the messages around them.
func TestDamageAnywhere(t *testing.T) {
	t.Parallel()
	for _, name := range []string{claudeFixture, specStoryFixture} {
		whole := fixture(t, name)
		whole = whole[:min(len(whole), 40_000)]
		_, all, _ := read(t, name, whole)
		rapid.Check(t, func(t *rapid.T) {
			at := rapid.IntRange(3000, len(whole)-100).Draw(t, "at")
			junk := rapid.SampledFrom([]string{"\x00\x00\x00", "\n", "\"}", "{\"", "\xff\xfe", "```", "</details></tool-use>"}).Draw(t, "junk")
			_, messages, _, err := transcript.ReadAll(name, strings.NewReader(whole[:at]+junk+whole[at+len(junk):]))
			if err != nil {
				t.Fatalf("at %d: %v", at, err)
			}
			if len(messages) < len(all)/8 {
				t.Fatalf("at %d: %d messages of %d", at, len(messages), len(all))
			}
			wellFormedRapid(t, messages)
		})
	}
}

func wellFormedRapid(t *rapid.T, messages []transcript.Message) {
	for i, m := range messages {
		if m.Index != i || m.Follows >= i || m.Follows < -1 || m.Line < 1 {
			t.Fatalf("message %d: %+v", i, m)
		}
	}
}

func FuzzClaude(f *testing.F) {
	f.Add(lines(user("u1", "", "one"), answer("a1", "u1", "m1", use("t1", "Read")), result("r1", "a1", "t1", "out"), compaction))
	f.Add(user("u1", "", "one") + answer("a1", "u1", "m1", text("two")) + "\n" + `{"parentUuid":"a1","type":"us{"parentUuid":"a1"`)
	f.Add(lines(`{"type":"queue-operation","operation":"enqueue","content":"x"}`, `{"type":"queue-operation","operation":"remove"}`, user("a", "a", "<command-name>/x")))
	f.Add(lines(user("u1", "", "one"), `{"type":"user","uuid":"u2","message":{"content":[[],7,null,{"type":"tool_result","content":{}},{"type":"text"}]}}`))
	f.Fuzz(fuzz("x.jsonl"))
}

func FuzzSpecStory(f *testing.F) {
	f.Add("_**User (2026-01-12 15:08:38Z)**_\n\nx\n\n---\n\n_**Agent (m 2026-01-12 15:08:42Z)**_\n\n<tool-use data-tool-type=\"read\" data-tool-name=\"Read\"><details>\n<summary>Tool use</summary>\n`a`\n\n```text\nb\n```\n</details></tool-use>\n")
	f.Add("_**Agent (m)**_\n<think>a</think><think>b\n\n_**User**_\n```\n```text\n```\n")
	f.Add("_**Agent**_\n<tool-use \n```\n</details></tool-use>\n```")
	f.Fuzz(fuzz("x.md"))
}

func fuzz(name string) func(*testing.T, string) {
	return func(t *testing.T, text string) {
		_, messages, _, err := transcript.ReadAll(name, strings.NewReader(text))
		if err != nil && !errors.Is(err, transcript.ErrForeign) {
			t.Fatal(err)
		}
		wellFormed(t, messages)
	}
}

// BenchmarkClaude reads a real session, bytes of the file a second.
func BenchmarkClaude(b *testing.B) {
	whole := fixture(b, claudeFixture)
	b.SetBytes(int64(len(whole)))
	for b.Loop() {
		if _, _, _, err := transcript.ReadAll("x", strings.NewReader(whole)); err != nil {
			b.Fatal(err)
		}
	}
}
