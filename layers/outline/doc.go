// Package outline makes an outline of a file: the signatures of code, the headings
// of prose.
//
// Go is read by the parser of the standard library; TypeScript, JavaScript,
// Python, Lua, Rust and Java by the tokenizer of layers/minify, so that a brace in
// a string or a comment opens nothing; Markdown by its headings outside of code.
//
// It guarantees:
//   - an outline is shorter than MaxLines lines of MaxLine bytes each, and at most
//     as long as the source plus a few bytes a line;
//   - it is a pure function of name and source, and time is linear in the source,
//     but for Go's parser, which bounds its own depth;
//   - where the source cannot be read for sure, there is no outline, not half of one.
//
// It does no I/O and judges nothing: which file gets an outline is the caller's to
// say.
package outline

import (
	"path"
	"strings"

	"hexapla/layers/minify"
)

// Bounds of an outline.
const (
	MaxLines = 400 // lines; what is left out is counted in one more
	MaxLine  = 200 // bytes
)

// Of returns the outline of a file by its name, in lines; false where there is
// none.
func Of(name, source string) (string, bool) {
	w := &writer{}
	ok := false
	switch language := minify.LanguageOf(name); {
	case language == minify.Go:
		ok = w.goFile(source)
	case language != "":
		var tokens []minify.Token
		if tokens, ok = minify.Tokens(source, language); !ok {
			return "", false
		}
		switch language {
		case minify.Python:
			w.python(tokens)
		case minify.Lua:
			w.lua(tokens)
		default:
			(&braces{writer: w, tokens: tokens, language: language}).declarations(0, "")
		}
	default:
		switch strings.ToLower(path.Ext(name)) {
		case ".md", ".markdown", ".mdx":
			w.markdown(source)
			ok = true
		}
	}
	if !ok || w.lines == 0 {
		return "", false
	}
	return w.text(), true
}
