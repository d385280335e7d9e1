package digest_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"hexapla/layers"
	"hexapla/layers/digest"
)

func TestEntitiesOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text                         string
		files, functions, concepts, errors string
	}{
		{"paths", "see ./cmd/x/main.go:12:3, /etc/app/config.yaml and README.md.", "cmd/x/main.go | /etc/app/config.yaml | README.md", "", "", ""},
		{"route groups", "open apps/web/(protected)/teams/[id]/route.ts now", "apps/web/(protected)/teams/[id]/route.ts", "", "", ""},
		{"windows", `C:\src\app\main.cs and src\lib\util.py`, `C:\src\app\main.cs | src\lib\util.py`, "", "", ""},
		{"escaped JSON", `{"text":"a\nutils.go \"x\" b\tmain.go"}`, "utils.go | main.go", "", "", ""},
		{"diff header", "diff --git a/x/a.go b/x/a.go\n--- a/x/a.go\n+++ b/x/a.go\n", "x/a.go", "", "", ""},
		{"dot files and known names", "edit .gitignore, .github/workflows/ci.yml, the Makefile and go.mod", ".gitignore | .github/workflows/ci.yml | Makefile | go.mod", "", "", ""},
		{"not files", "Node.js and Vue.js, e.g. version 1.2.3, fmt.Println, example.com, and 3.5 of them", "", "", "", ""},
		{"URLs are not files", "read https://example.com/docs/a.html first", "", "", "", ""},
		{"quotes", "“utils.go” → 'a.py', \"b.rs\"", "utils.go | a.py | b.rs", "", "", ""},
		{"functions", "call runEnable() or strategy.NewStore(x); TruncateRunes is unused, see my_func and HTTPServer", "", "runEnable | NewStore | TruncateRunes | my_func | HTTPServer", "", ""},
		{"prose is no function", "the file(s) and GitHub, macOS, JavaScript; I think so (really)", "", "", "GitHub | JavaScript", ""},
		{"declarations", "```go\ntype Cart struct {\nfunc (c *Cart) Total() int {\nfunc sum(x []int) int {\n```", "", "Cart | Total", "", ""},
		{"python", "```\nclass User:\n    def load(self, path):\n```", "", "User | load", "", ""},
		{"code spans", "`agentType`, `manual-commit`, `go test ./...`, `a b c d e`, `the`", "", "agentType", "manual-commit | go test", ""},
		{"commands", "run `npm run build`, then git rebase and mise run test:ci; we go to make sure", "", "", "npm run build | git rebase | mise run test:ci", ""},
		{"branches and keys", "on branch soph/improve-enable, merge origin/main for ENT-98, not UTF-8", "", "", "soph/improve-enable | origin/main | ENT-98", ""},
		{"hashes", "commit 72a7142b655090da4560 and 1a2b3c4 are ids", "", "", "", ""},
		{"go errors", "a/b.go:12:4: undefined: fooBar\n    b_test.go:31: Total() = 1099, want 1100\n--- FAIL: TestTotal (0.01s)", "a/b.go | b_test.go", "fooBar | Total | TestTotal", "", "undefined: fooBar | Total() = <n>, want <n> | FAIL: TestTotal (<time>)"},
		{"typescript error", "src/a.ts(12,5): error TS2345: Argument of type 'x'.", "src/a.ts", "", "", "error TS2345: Argument of type 'x'."},
		{"python error", "Traceback (most recent call last):\n  File \"/home/x/a.py\", line 3, in <module>\nValueError: invalid literal for int() with base 10: 'x1'", "/home/x/a.py", "ValueError", "", "ValueError: invalid literal for int() with base <n>: 'x1'"},
		{"rust and java", "error[E0382]: borrow of moved value: `x`\nCaused by: java.lang.NullPointerException: name\n", "", "NullPointerException", "", "error[E0382]: borrow of moved value: `x` | Caused by: java.lang.NullPointerException: name"},
		{"shell and http", "bash: rg: command not found\ncat: /tmp/x1/y: No such file or directory\nHTTP/1.1 503 Service Unavailable\npanic: at 0xc000012345", "", "", "", "bash: rg: command not found | cat: <path>: No such file or directory | HTTP/1.1 503 Service Unavailable | panic: at <hex>"},
		{"time stamps", "2026-01-12T10:04:05Z [db] ERROR connection refused by 10.0.0.7:5432 after 1.25s", "", "", "", "connection refused by <n> after <time>"},
		{"no errors", "the error was gone\nreturn fmt.Errorf(\"no such file: %w\", err)\n   12→panic: not here\n0 errors\ninternal/a.go:12:\tpanic(\"x\")", "internal/a.go", "", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := digest.EntitiesOf(test.text)
			for _, x := range []struct {
				what string
				got  []string
				want string
			}{{"files", got.Files, test.files}, {"functions", got.Functions, test.functions}, {"concepts", got.Concepts, test.concepts}, {"errors", got.Errors, test.errors}} {
				if s := strings.Join(x.got, " | "); s != x.want {
					t.Errorf("%s: got %q, want %q", x.what, s, x.want)
				}
			}
		})
	}
}

func TestTrim(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text string
		max        int
		want       string
	}{
		{"fits", "One. Two.", 20, "One. Two."},
		{"sentences from the end", "First comes this. Then comes that. And more.", 36, "First comes this. Then comes that."},
		{"key points of one long sentence", "It was late, we looked at many things, the root cause was `a.go`, and then we left for good", 28, "the root cause was `a.go`"},
		{"words", "supercalifragilistic expialidocious words", 25, "supercalifragilistic…"},
		{"no loose end", "Moved the code into the new file for reasons", 24, "Moved the code…"},
		{"whole code span", "Renamed `OldName of thing` to `NewName`", 20, "Renamed…"},
		{"nothing fits", "Extraordinary", 5, "Extra"},
		{"zero", "x", 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, cut := digest.Trim(test.text, test.max, perByte{})
			if got != test.want || cut != (got != test.text) {
				t.Errorf("got %q, %v; want %q", got, cut, test.want)
			}
		})
	}
}

func FuzzEntitiesOf(f *testing.F) {
	for _, s := range []string{"a/b.go:12: x", "```\nfunc f(", "`x` [Image] C:\\a\\b.c", "error: \xff\x00 ‘’", "go test ./... (a)/[b]/c.ts", "{\"a\\nb.go\":\"\\\"\"}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e := digest.EntitiesOf(s)
		for _, list := range [][]string{e.Files, e.Functions, e.Concepts, e.Errors} {
			if len(list) > 200 {
				t.Fatal("unbounded")
			}
			for _, x := range list {
				if x == "" || len(x) > 256 {
					t.Fatalf("bad entity %q", x)
				}
			}
		}
		for _, list := range [][]string{e.Files, e.Functions} {
			for _, x := range list {
				if !strings.Contains(s, x) {
					t.Fatalf("%q is not in %q", x, s)
				}
			}
		}
	})
}

func FuzzToolResult(f *testing.F) {
	f.Add("Bash", `{"command":"go test ./..."}`, "--- FAIL: TestX\n", true)
	f.Add("Edit", `{"file_path":"a.go","old_string":"`, "x", false)
	f.Add("shell", `{"command":["bash","-lc","apply_patch <<'P'\n*** Begin Patch\n"]}`, `{"output":"x","metadata":{"exit_code":1}}`, false)
	f.Add("x", "not json", "[1,2", false)
	f.Fuzz(func(t *testing.T, tool, input, output string, isError bool) {
		c := perWord{}
		r := digest.ToolResult(digest.ToolOutput{Tool: tool, Input: input, Output: output, IsError: isError}, c)
		if n := c.Count(r.Summary); n > layers.CapToolSummary || strings.ContainsAny(r.Summary, "\n\r") || !utf8.ValidString(r.Summary) {
			t.Fatalf("%d tokens: %q", n, r.Summary)
		}
	})
}

func FuzzTrim(f *testing.F) {
	f.Add("One. Two `x y`. Three: four, five", 7)
	f.Add("\xff`\u2028…", 3)
	f.Fuzz(func(t *testing.T, s string, max int) {
		max %= 500
		for _, c := range []layers.Counter{perByte{}, perWord{}} {
			got, cut := digest.Trim(s, max, c)
			if max >= 0 && c.Count(got) > max || !cut && got != s && strings.TrimSpace(s) != "" {
				t.Fatalf("%d, %v: %q", max, cut, got)
			}
		}
	})
}
