package outline

import (
	"slices"
	"strings"

	"hexapla/layers/minify"
)

// braces reads TypeScript, JavaScript, Rust and Java, whose declarations end in a
// semicolon or in a block.
type braces struct {
	*writer
	tokens   []minify.Token
	language minify.Language
	at       int
}

// maxDepth bounds blocks that hold declarations in each other.
const maxDepth = 16

// head is a declaration as far as it was read.
type head struct {
	text   strings.Builder
	words  []string // before the first parenthesis or sign of assignment
	last   string   // the last token of code
	opened int      // brackets that are open
	value  bool     // behind a sign of assignment
	over   bool     // no more words
}

func (h *head) add(text string) {
	h.text.WriteString(text)
	if !h.over && wordStart(text[0]) {
		h.words = append(h.words, text)
	}
	h.last = text
}

func wordStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$' || c == '@' || c >= 0x80
}

func (h *head) empty() bool { return h.last == "" }

// declarations reads to the end of a block, and writes what it declares. within is
// the word that the block belongs to, "" at the top.
func (b *braces) declarations(depth int, within string) {
	h := &head{}
	end := func() {
		b.write(depth, h, within)
		h = &head{}
	}
	fields := within == "struct" || within == "enum" || within == "union"
	for b.at < len(b.tokens) {
		t := b.tokens[b.at]
		b.at++
		switch {
		case t.Kind == minify.TokenNewline && b.endsLine(h):
			end()
		case t.Kind != minify.TokenCode:
			if !h.empty() {
				h.text.WriteByte(' ')
			}
		case h.empty() && t.Text == "#" && b.language == minify.Rust:
			b.attribute()
		case t.Text == "(" || t.Text == "[" || fields && t.Text == "<":
			h.add(t.Text)
			h.opened++
			h.over = true
		case t.Text == ")" || t.Text == "]" || fields && t.Text == ">" && h.last != "-" && h.last != "=":
			h.add(t.Text)
			h.opened = max(h.opened-1, 0)
		case t.Text == "{":
			word := b.container(h)
			switch {
			case h.opened > 0 || h.value || slices.Contains([]string{":", "|", "&", ",", "<", "="}, h.last) || h.last == ">" && b.arrowType(h):
				b.skip()
				h.add("{…}")
			case word != "" && depth < maxDepth:
				b.line(depth, h.text.String()+" {")
				h = &head{}
				b.declarations(depth+1, word)
				b.line(depth, "}")
			default:
				b.skip()
				end()
			}
		case t.Text == "}":
			end()
			if depth > 0 {
				return
			}
		case (t.Text == ";" || fields && t.Text == ",") && h.opened == 0:
			end()
		default:
			if t.Text == "=" && h.opened == 0 {
				h.value, h.over = true, true
			}
			h.add(t.Text)
		}
	}
	end()
}

// arrowType tells that the block behind an arrow is the body of a function that is
// a value, which is then part of the declaration. Otherwise an arrow belongs to
// Rust's result, and the block is the function's own.
func (b *braces) arrowType(h *head) bool { return b.language == minify.TypeScript && h.value }

// container is the word of a declaration whose block holds others.
func (b *braces) container(h *head) string {
	for _, word := range h.words {
		switch word {
		case "class", "interface", "enum":
			if b.language != minify.Rust || word == "enum" {
				return word
			}
		case "namespace", "module":
			if b.language == minify.TypeScript {
				return word
			}
		case "record":
			if b.language == minify.Java {
				return word
			}
		case "mod", "impl", "trait", "struct", "union":
			if b.language == minify.Rust {
				return word
			}
		case "fn", "function":
			return ""
		}
	}
	return ""
}

// endsLine tells that a declaration of a script ends with its line: it is whole,
// and what comes next does not go on with it.
func (b *braces) endsLine(h *head) bool {
	if b.language != minify.TypeScript || h.empty() || h.opened > 0 || strings.Contains("=+-*/%&|^!~?:,.<([{>@", h.last[len(h.last)-1:]) {
		return false
	}
	for _, t := range b.tokens[b.at:] {
		if t.Kind == minify.TokenCode {
			return !strings.Contains("=+*/%&|^?:,.{)]}", t.Text[:1]) || t.Text == "}"
		}
	}
	return true
}

// skip goes on to behind the end of a block.
func (b *braces) skip() {
	for depth := 1; depth > 0 && b.at < len(b.tokens); b.at++ {
		switch b.tokens[b.at].Text {
		case "{":
			depth++
		case "}":
			depth--
		}
	}
}

// attribute goes on to behind an attribute of Rust.
func (b *braces) attribute() {
	depth := 0
	for ; b.at < len(b.tokens); b.at++ {
		switch b.tokens[b.at].Text {
		case "[":
			depth++
		case "]":
			if depth--; depth <= 0 {
				b.at++
				return
			}
		}
	}
}

// write writes a declaration, and leaves out what is none: imports, and statements
// of scripts.
func (b *braces) write(depth int, h *head, within string) {
	if h.empty() || len(h.words) == 0 {
		return
	}
	switch h.words[0] {
	case "import", "use", "package", "return", "if", "for", "while", "switch", "try", "throw":
		return
	}
	if b.language == minify.TypeScript && within == "" && !slices.ContainsFunc(h.words, declares) {
		return
	}
	b.line(depth, h.text.String())
}

func declares(word string) bool {
	switch word {
	case "export", "function", "class", "interface", "type", "enum", "const", "let", "var", "declare", "abstract", "async":
		return true
	}
	return false
}
