package minify_test

import (
	"strings"
	"testing"

	"hexapla/layers/minify"
)

func TestB3_Minify(t *testing.T) {
	for _, c := range []struct {
		language     minify.Language
		source, want string
	}{
		{minify.Go, "//go:build linux\n\n// Package p.\npackage p\n\n\nvar  a = \"//  no\" // yes\n\n/* one\ntwo */ var b = `/*\n\n*/`\n", "//go:build linux\n\npackage p\nvar a = \"//  no\"\nvar b = `/*\n\n*/`\n"},
		{minify.Go, "func f() int {\n\treturn /* a\n\t*/ 1 /* b */ +/**/1\n}", "func f() int {\nreturn\n1 + 1\n}"},
		{minify.TypeScript, "const a = /[/*]\\/\\/'/g; // x\nconst b = a / 2 / c; /* y */ const d = `a // ${ b /* z */ + `//` } //`\n", "const a = /[/*]\\/\\/'/g;\nconst b = a / 2 / c; const d = `a // ${ b + `//` } //`\n"},
		{minify.Python, "#!/usr/bin/python3\nx = '#'  # c\n\n\nif x:\n    # c\n    y = f\"{x[\"#\"]:#>3}\"   \n", "#!/usr/bin/python3\nx = '#'\nif x:\n    y = f\"{x[\"#\"]:#>3}\"\n"},
		{minify.Lua, "local a = [==[ --[[ ]] ]==] --[[ x\ny ]] local b = '--' -- z\n", "local a = [==[ --[[ ]] ]==]\nlocal b = '--'\n"},
		{minify.Rust, "/// doc\nfn f<'a>(x: &'a str) -> char { /* a /* b */ c */ '\"' } // x\nlet s = r#\"// \"x\" \"#;\n", "fn f<'a>(x: &'a str) -> char { '\"' }\nlet s = r#\"// \"x\" \"#;\n"},
		{minify.Java, "/** Doc. */\nclass A { String s = \"\"\"\n  // \"x\"\n  \"\"\"; char c = '\"'; } // y\n", "class A { String s = \"\"\"\n  // \"x\"\n  \"\"\"; char c = '\"'; }\n"},
	} {
		got, ok := minify.Code(c.source, c.language)
		if !ok || got != c.want {
			t.Errorf("%s: %q, %v\nwant %q", c.language, got, ok, c.want)
		}
	}
	for _, c := range []struct {
		language minify.Language
		source   string
	}{
		{minify.Go, "var a = \"open // x\n"}, {minify.Go, "/* open"}, {minify.TypeScript, "return <div>http://x</div> // c"}, {minify.TypeScript, "function f() {} /x/.test(y)"},
		{minify.Java, `int a; \u002f/ c`}, {minify.Python, "'''open # x"}, {"cobol", "x"}, {minify.Rust, "/* /* */"}, {minify.Lua, "--[[ open"},
	} {
		if got, ok := minify.Code(c.source, c.language); ok || got != c.source {
			t.Errorf("%s %q became %q", c.language, c.source, got)
		}
	}
}

func FuzzCode(f *testing.F) {
	f.Add("a := `x` // y\n", 0)
	f.Add("x = f'{a!r:>{w}}' # y\n", 2)
	f.Add("a = b / c /* d */ `x${`y`}`", 1)
	languages := [...]minify.Language{minify.Go, minify.TypeScript, minify.Python, minify.Lua, minify.Rust, minify.Java}
	f.Fuzz(func(t *testing.T, source string, n int) {
		language := languages[uint(n)%uint(len(languages))]
		got, ok := minify.Code(source, language)
		if !ok && got != source {
			t.Fatalf("%q became %q", source, got)
		}
		if len(got) > len(source)+strings.Count(source, "//") {
			t.Fatalf("%q grew to %q", source, got)
		}
		if again, ok2 := minify.Code(got, language); ok && ok2 && again != got {
			t.Fatalf("%q, minified again %q", got, again)
		}
	})
}
