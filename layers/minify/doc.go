// Package minify makes code shorter that stays the same code: comments, blank
// lines, indentation that means nothing and runs of blanks go; strings, and
// everything else, stay to the byte. It knows Go, TypeScript and JavaScript,
// Python, Lua, Rust and Java, by a tokenizer for each.
//
// It guarantees:
//   - what a parser accepted before, it accepts after, as the same program, but
//     for line numbers; line feeds that end statements stay;
//   - comments that compilers and tools read stay: directives of Go and cgo,
//     shebangs, the coding line of Python;
//   - the result is a pure function of the source, minifying it again changes
//     nothing, and time is linear in the source;
//   - where the tokenizer cannot be sure (an unterminated string, JSX, a slash
//     behind a brace in JavaScript, escaped quotes of Java outside of strings), the
//     source comes back as it is, with false.
//
// It does not rename, join statements or check syntax. Python's docstrings are
// strings and stay.
package minify
