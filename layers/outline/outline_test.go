package outline_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hexapla/layers/outline"
)

// TestI1_Outlines: signatures and headings stay, bodies go, and what only looks
// like a declaration, in a string or a comment, is none.
func TestI1_Outlines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, source, want string }{
		{"a.go", "// Package a.\npackage a\n\nimport \"fmt\"\n\n// T is.\ntype T struct {\n\tA int // a\n}\n\nconst x, y = 1, 2\n\nvar z map[string]int = nil\n\n// F does.\nfunc (t *T) F(a, b int) (s string, err error) {\n\treturn fmt.Sprint(\"func no() {\"), nil\n}\n",
			"package a\ntype T struct {\n  A int\n}\nconst x, y\nvar z map[string]int\nfunc (t *T) F(a, b int) (s string, err error)\n"},
		{"a.ts", "import x from 'x';\n// function no() {\nexport class A<T> extends B {\n  private a = 1;\n  b: string\n  constructor(private c: { d: number } = { d: 1 }) { super(); }\n  async e(): Promise<void> {\n    if (x) { y(); }\n  }\n}\nexport const f = (a: number) => {\n  return `}${a}{`;\n};\ninterface I { a: string; b(): { c: number }; }\nfunction g(): { a: string } { return { a: '' } }\nrun({ a: 1 });\nexport type K = { a: number } | null;\n",
			"export class A<T> extends B {\n  private a = 1\n  b: string\n  constructor(private c: {…} = {…})\n  async e(): Promise<void>\n}\nexport const f = (a: number) => {…}\ninterface I {\n  a: string\n  b(): {…}\n}\nfunction g(): {…}\nexport type K = {…} | null\n"},
		{"a.js", "const a = 1\nfunction b(c) {\n  return c\n}\nmodule.exports = b\n", "const a = 1\nfunction b(c)\n"},
		{"a.rs", "use a::{b, c};\n/// Doc {\n#[derive(Debug)]\npub struct S<'a> { x: HashMap<A, B>, pub y: &'a str }\nimpl<'a> S<'a> {\n    pub fn f(&self) -> Option<u8> { let a = '{'; None }\n}\npub enum E { A(u8), B }\nfn main() {}\nconst N: usize = 3;\n",
			"pub struct S<'a> {\n  x: HashMap<A, B>\n  pub y: &'a str\n}\nimpl<'a> S<'a> {\n  pub fn f(&self) -> Option<u8>\n}\npub enum E {\n  A(u8)\n  B\n}\nfn main()\nconst N: usize = 3\n"},
		{"A.java", "package a;\nimport b.C;\n/** { */\npublic class A extends B implements C {\n  private final int[] x = {1, 2};\n  @Override public String f(int a) throws E { return \"}\"; }\n  interface D { void g(); }\n}\n",
			"public class A extends B implements C {\n  private final int[] x = {…}\n  @Override public String f(int a) throws E\n  interface D {\n    void g()\n  }\n}\n"},
		{"a.py", "import os\n\"\"\"def no():\"\"\"\n@dec(1)\nclass A(B):\n    x: int = 1\n    def f(self,\n          a={'b': 1}) -> int:\n        def g(): pass\n        return 1\n    async def h(self): ...\ndef i(): return 2\n",
			"@dec(1)\nclass A(B)\n  def f(self, a={'b': 1}) -> int\n  async def h(self)\ndef i()\n"},
		{"a.lua", "local M = {}\nfunction M.a(b, c)\n  if b then return function() end end\n  for i = 1, 2 do end\nend\nlocal f = function(x) return '--' end\nreturn M\n", "function M.a(b, c)\nlocal f = function(x)\n"},
		{"a.md", "# One\ntext\n```sh\n# no\n```\n\nTwo\n---\n\n- a\n---\n### Three ##\n#no\n~~~\n## no\n~~~~\n", "# One\n## Two\n### Three ##\n"},
	} {
		if got, ok := outline.Of(c.name, c.source); !ok || got != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, ok, got, c.want)
		}
	}
	for _, c := range []struct{ name, source string }{
		{"a.txt", "words"}, {"a.go", "package a\nfunc {"}, {"a.ts", "const a = `open"}, {"a.md", "no headings"}, {"a.py", ""}, {"noext", "x"},
	} {
		if got, ok := outline.Of(c.name, c.source); ok || got != "" {
			t.Errorf("%s %q: %q", c.name, c.source, got)
		}
	}
	var long strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&long, "# %d %s\n", i, strings.Repeat("ü", 300))
	}
	got, _ := outline.Of("a.md", long.String())
	if lines := strings.Count(got, "\n"); lines != outline.MaxLines+1 || !strings.HasSuffix(got, "… and 600 more\n") || len(got) > (outline.MaxLines+1)*(outline.MaxLine+1) {
		t.Errorf("%d lines, %d bytes", lines, len(got))
	}
}

// TestI1_OutlinesOfThisRepository: every file of Go here has an outline that is
// shorter than it.
func TestI1_OutlinesOfThisRepository(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../*/*.go")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := outline.Of(name, string(source)); !ok || len(got) > len(source) {
			t.Errorf("%s: %v, %d of %d bytes", name, ok, len(got), len(source))
		}
	}
}

func FuzzOf(f *testing.F) {
	names := [...]string{"a.go", "a.ts", "a.py", "a.lua", "a.rs", "a.java", "a.md"}
	f.Add("class A { f() { } }", 1)
	f.Add("def f(a, b=[1,\n2]):\n  pass", 2)
	f.Add("struct S<A> { a: B<C, D>, }", 4)
	f.Add("# a\n\nb\n==\n", 6)
	f.Fuzz(func(t *testing.T, source string, n int) {
		got, ok := outline.Of(names[uint(n)%uint(len(names))], source)
		if ok != (got != "") {
			t.Fatalf("%v %q", ok, got)
		}
		for line := range strings.Lines(got) {
			if len(line) > outline.MaxLine+20 {
				t.Fatalf("a line of %d bytes", len(line))
			}
		}
	})
}
