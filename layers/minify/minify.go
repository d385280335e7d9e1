package minify

import (
	"path"
	"strings"
)

// Language is a language that can be minified.
type Language string

// Languages.
const (
	Go         Language = "go"
	TypeScript Language = "typescript" // and JavaScript
	Python     Language = "python"
	Lua        Language = "lua"
	Rust       Language = "rust"
	Java       Language = "java"
)

// LanguageOf tells the language of a file by its name, "" where it is none of
// these. Files of JSX and TSX are not.
func LanguageOf(name string) Language {
	switch strings.ToLower(path.Ext(name)) {
	case ".go":
		return Go
	case ".ts", ".mts", ".cts", ".js", ".mjs", ".cjs":
		return TypeScript
	case ".py", ".pyi":
		return Python
	case ".lua":
		return Lua
	case ".rs":
		return Rust
	case ".java":
		return Java
	}
	return ""
}

// Code returns source without what means nothing. It is false, and source comes
// back as it is, for a language that is not known and for source that the
// tokenizer is not sure of.
func Code(source string, language Language) (string, bool) {
	s, ok := newScanner(source, language)
	if !ok {
		return source, false
	}
	var w writer
	w.out.Grow(len(source))
	w.indent = language == Python
	for s.at < len(source) {
		from := s.at
		kind := s.next()
		if s.lost || s.at > len(source) {
			return source, false
		}
		w.put(kind, source[from:s.at])
	}
	return w.out.String(), true
}

// newScanner is false for a language that is not known, and for source that has
// what the scanner does not look for.
func newScanner(source string, language Language) (*scanner, bool) {
	s := &scanner{source: source, language: language}
	switch language {
	case Go:
		s.cgo = strings.Contains(source, `import "C"`)
	case Java:
		if escapedSyntax(source) {
			return nil, false
		}
	case TypeScript:
		if strings.ContainsAny(source, "\u2028\u2029") { // ends of lines, also of comments
			return nil, false
		}
	case Python, Lua, Rust:
	default:
		return nil, false
	}
	return s, true
}

// escapedSyntax tells that Java source writes a character of its syntax as an
// escape, which is translated before anything else.
func escapedSyntax(source string) bool {
	for rest := source; ; {
		_, after, found := strings.Cut(rest, `\u`)
		if !found {
			return false
		}
		digits := strings.TrimLeft(after, "u")
		if len(digits) >= 4 {
			switch strings.ToLower(digits[:4]) {
			case "000a", "000d", "0022", "0027", "005c", "002f", "002a":
				return true
			}
		}
		rest = after
	}
}

// kind is what a piece of source is.
type kind int

const (
	kindCode    kind = iota // what stays, strings too
	kindBlank               // spaces and tabs
	kindNewline             // one line feed
	kindComment             // what goes
	kindKept                // a comment that stays, to the end of its line
	kindGuard               // a build constraint of Go, which a blank line must follow
)

// writer puts pieces together.
type writer struct {
	out    strings.Builder
	indent bool   // blanks at the beginning of a line stay
	blank  string // that comes before the next code of the line
	begun  bool   // the line has code
	guard  bool   // the line is a build constraint
	bare   bool   // the line ends in a backslash
	joined bool   // the one before does, so that this one may be empty
}

func (w *writer) put(kind kind, text string) {
	switch kind {
	case kindBlank:
		switch {
		case w.begun:
			w.blank = " "
		case w.indent:
			w.blank += text
		}
	case kindComment:
		if strings.Contains(text, "\n") {
			w.newline()
		} else if w.begun {
			w.blank = " "
		}
	case kindNewline:
		w.newline()
	default:
		w.out.WriteString(w.blank)
		w.blank, w.begun = "", true
		w.out.WriteString(text)
		w.guard = kind == kindGuard
		w.bare = w.indent && text[len(text)-1] == '\\'
	}
}

func (w *writer) newline() {
	w.blank = ""
	if !w.begun && !w.joined {
		return
	}
	w.out.WriteByte('\n')
	if w.guard {
		w.out.WriteByte('\n')
	}
	w.begun, w.guard, w.bare, w.joined = false, false, false, w.bare
}
