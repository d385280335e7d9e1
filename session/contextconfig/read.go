package contextconfig

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"hexapla/layers/limits"
)

// Bounds of a document.
const (
	MaxBytes = 64 << 10
	maxDepth = 32
	// maxPlain is the most levels of indentation and brackets that are given to the
	// parser at all.
	maxPlain = 200
)

// Error says what is wrong with a document.
type Error struct {
	File         string // its name for people, without a folder
	Line, Column int    // from 1; 0 where the document as a whole is wrong
	Key          string // such as "context_config.per_llm[1].limit"; "" outside of keys
	Message      string
	Limit        int64 // the bound that was passed; 0 if there is none
}

// Error names file, line, column and key.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	b.WriteString(": ")
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	return b.String() + e.Message
}

// root is the only key that a document may have.
const root = "context_config"

// Read returns a configuration with what a document says put over it. The error is
// an *Error.
func Read(file string, data []byte, from limits.Config) (config limits.Config, err error) {
	r := &reader{file: file, config: copied(from), places: map[string]*token.Position{}}
	if len(data) > MaxBytes {
		return from, &Error{File: file, Message: fmt.Sprintf("over the limit of %d bytes", MaxBytes), Limit: MaxBytes}
	}
	if line := tooDeep(data); line > 0 {
		return from, &Error{File: file, Line: line, Column: 1, Message: fmt.Sprintf("nested deeper than %d levels", maxDepth), Limit: maxDepth}
	}
	defer func() {
		// The library is not ours, and the document may come from a stranger.
		if recover() != nil {
			config, err = from, &Error{File: file, Message: "cannot be read as YAML"}
		}
	}()
	parsed, err := parser.ParseBytes(data, 0)
	if err != nil {
		return from, r.syntax(err)
	}
	if len(parsed.Docs) > 1 {
		return from, r.at(parsed.Docs[1].Body, "", "only one document is read")
	}
	if len(parsed.Docs) == 0 || parsed.Docs[0].Body == nil {
		return from, nil
	}
	body := parsed.Docs[0].Body
	if _, comment := body.(*ast.CommentGroupNode); comment {
		return from, nil
	}
	if err := r.plain(body, "", 0); err != nil {
		return from, err
	}
	if err := r.document(body); err != nil {
		return from, err
	}
	if err := r.check(); err != nil {
		return from, err
	}
	return r.config, nil
}

// reader reads one document.
type reader struct {
	file   string
	config limits.Config
	places map[string]*token.Position // of keys, for what is checked afterwards
}

// tooDeep returns the line where brackets or indentation go too deep for the
// parser, 0 for none. It looks at bytes alone, so it may count brackets in strings.
func tooDeep(data []byte) int {
	line, open, indent, begun := 1, 0, 0, false
	for _, c := range data {
		switch {
		case c == '\n':
			line, indent, begun = line+1, 0, false
		case !begun && (c == ' ' || c == '-' || c == '?'):
			if indent++; indent > maxPlain {
				return line
			}
		default:
			begun = true
			switch c {
			case '[', '{':
				if open++; open > maxPlain {
					return line
				}
			case ']', '}':
				open = max(open-1, 0)
			}
		}
	}
	return 0
}

// syntax is an error of the parser.
func (r *reader) syntax(err error) error {
	out := &Error{File: r.file, Message: "is no YAML"}
	var place interface{ GetToken() *token.Token }
	if as(err, &place) && place.GetToken() != nil && place.GetToken().Position != nil {
		out.Line, out.Column = place.GetToken().Position.Line, place.GetToken().Position.Column
	}
	var message interface{ GetMessage() string }
	if as(err, &message) {
		// It may quote the document, which stays out of the log.
		text, _, _ := strings.Cut(message.GetMessage(), "\n")
		if !strings.ContainsAny(text, "\"'`") && len(text) < 120 {
			out.Message = text
		}
	}
	return out
}

func (r *reader) at(n ast.Node, key, format string, args ...any) *Error {
	e := &Error{File: r.file, Key: key, Message: fmt.Sprintf(format, args...)}
	if n != nil && n.GetToken() != nil && n.GetToken().Position != nil {
		e.Line, e.Column = n.GetToken().Position.Line, n.GetToken().Position.Column
	}
	return e
}

// plain refuses what a document of settings does not need, which is also what
// grows when it is followed.
func (r *reader) plain(n ast.Node, key string, depth int) error {
	if depth > maxDepth {
		e := r.at(n, "", "nested deeper than %d levels", maxDepth)
		e.Limit = maxDepth
		return e
	}
	switch n := n.(type) {
	case nil:
		return nil
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return r.at(n, key, "anchors and aliases are not read")
	case *ast.TagNode:
		return r.at(n, key, "tags are not read")
	case *ast.MappingNode:
		seen := map[string]bool{}
		for _, v := range n.Values {
			if err := r.pair(v, key, seen, depth); err != nil {
				return err
			}
		}
	case *ast.MappingValueNode:
		return r.pair(n, key, map[string]bool{}, depth)
	case *ast.SequenceNode:
		for i, v := range n.Values {
			if err := r.plain(v, fmt.Sprintf("%s[%d]", key, i), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *reader) pair(v *ast.MappingValueNode, key string, seen map[string]bool, depth int) error {
	switch v.Key.(type) {
	case *ast.StringNode:
	case *ast.MergeKeyNode:
		return r.at(v, key, "anchors and aliases are not read")
	default:
		return r.at(v, key, "keys must be plain words")
	}
	name := nameOf(v.Key)
	if seen[name] {
		return r.at(v, under(key, name), "stands there twice")
	}
	seen[name] = true
	return r.plain(v.Value, under(key, name), depth+1)
}

// nameOf is a key as it is written, cut where it is long: it may be anything.
func nameOf(k ast.MapKeyNode) string {
	name := strings.Trim(k.GetToken().Value, " ")
	if len(name) > 60 {
		name = strings.ToValidUTF8(name[:60], "") + "…"
	}
	return name
}

func under(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}
