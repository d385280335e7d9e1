package contextconfig

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

func as(err error, target any) bool { return errors.As(err, target) }

// field is a key and what is done with its value.
type field struct {
	name string
	read func(n ast.Node, key string) error
}

// object reads a mapping of known keys.
func (r *reader) object(n ast.Node, key string, fields ...field) error {
	return r.each(n, key, func(v *ast.MappingValueNode, name, at string) error {
		for _, f := range fields {
			if f.name == name {
				if tok := v.Value.GetToken(); tok != nil {
					r.places[at] = tok.Position
				}
				return f.read(v.Value, at)
			}
		}
		names := make([]string, len(fields))
		for i, f := range fields {
			names[i] = f.name
		}
		return r.at(v.Key, at, "is not known here; known are %s", strings.Join(names, ", "))
	})
}

// each visits the pairs of a mapping.
func (r *reader) each(n ast.Node, key string, visit func(v *ast.MappingValueNode, name, at string) error) error {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	case *ast.NullNode:
		return nil
	default:
		return r.at(n, key, "must be a mapping, is %s", typeOf(n))
	}
	for _, v := range values {
		name := nameOf(v.Key)
		if err := visit(v, name, under(key, name)); err != nil {
			return err
		}
	}
	return nil
}

// list reads a sequence.
func (r *reader) list(n ast.Node, key string, most int, item func(n ast.Node, key string) error) error {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		return r.at(n, key, "must be a list, is %s", typeOf(n))
	}
	if len(list.Values) > most {
		e := r.at(n, key, "has more than %d entries", most)
		e.Limit = int64(most)
		return e
	}
	for i, v := range list.Values {
		if err := item(v, fmt.Sprintf("%s[%d]", key, i)); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) whole(to *int) func(ast.Node, string) error {
	return func(n ast.Node, key string) error {
		number, ok := n.(*ast.IntegerNode)
		if !ok {
			return r.at(n, key, "must be a whole number, is %s", typeOf(n))
		}
		var value int64
		switch v := number.Value.(type) {
		case int64:
			value = v
		case uint64:
			if v > math.MaxInt32 {
				return r.at(n, key, "is too large")
			}
			value = int64(v)
		default:
			return r.at(n, key, "must be a whole number")
		}
		if value > math.MaxInt32 || value < math.MinInt32 {
			return r.at(n, key, "is out of range")
		}
		*to = int(value)
		return nil
	}
}

func (r *reader) number(to *float64) func(ast.Node, string) error {
	return func(n ast.Node, key string) error {
		switch v := n.(type) {
		case *ast.FloatNode:
			*to = v.Value
			return nil
		case *ast.IntegerNode:
			var value int
			if err := r.whole(&value)(n, key); err != nil {
				return err
			}
			*to = float64(value)
			return nil
		}
		return r.at(n, key, "must be a number, is %s", typeOf(n))
	}
}

func (r *reader) flag(to *bool) func(ast.Node, string) error {
	return func(n ast.Node, key string) error {
		v, ok := n.(*ast.BoolNode)
		if !ok {
			return r.at(n, key, "must be true or false, is %s", typeOf(n))
		}
		*to = v.Value
		return nil
	}
}

// word reads a text that is one of some.
func (r *reader) word(to *string, allowed ...string) func(ast.Node, string) error {
	return func(n ast.Node, key string) error {
		var value string
		if err := r.name(&value)(n, key); err != nil {
			return err
		}
		for _, a := range allowed {
			if a == value {
				*to = value
				return nil
			}
		}
		return r.at(n, key, "must be %s", strings.Join(allowed, ", "))
	}
}

// name reads a short text.
func (r *reader) name(to *string) func(ast.Node, string) error {
	const most = 200
	return func(n ast.Node, key string) error {
		v, ok := n.(*ast.StringNode)
		if !ok {
			return r.at(n, key, "must be a text, is %s", typeOf(n))
		}
		if v.Value == "" || len(v.Value) > most || strings.ContainsFunc(v.Value, func(c rune) bool { return c < ' ' || c == 0x7f }) {
			e := r.at(n, key, "must have 1 to %d bytes without control characters", most)
			e.Limit = most
			return e
		}
		*to = v.Value
		return nil
	}
}

func typeOf(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode, *ast.LiteralNode:
		return "a text"
	case *ast.IntegerNode:
		return "a whole number"
	case *ast.FloatNode:
		return "a number"
	case *ast.InfinityNode, *ast.NanNode:
		return "no finite number"
	case *ast.BoolNode:
		return "a flag"
	case *ast.NullNode:
		return "empty"
	}
	return "something else"
}
