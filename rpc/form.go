package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hexapla/rpc/wire"
)

// form is what the JSON of a Go type must look like.
type form struct{ root *shape }

// shape is one node of a form.
type shape struct {
	kind     reflect.Kind // Struct, Slice, Map, String, Bool, Int64, Float64 or Interface
	raw      bool         // keep the JSON as it is
	pointer  bool         // the Go value is a pointer to it
	bits     int          // of an integer
	fields   []shapeField
	byName   map[string]int
	required []int
	element  *shape // of a slice or map
}

type shapeField struct {
	name  string
	index []int
	shape *shape
	// place among the required fields, -1 for an optional one
	place int
}

// newForm describes a struct type of wire. Types that JSON cannot hold become
// raw values; nothing panics.
func newForm(t reflect.Type) form {
	return form{shapeOf(t, map[reflect.Type]*shape{})}
}

func shapeOf(t reflect.Type, known map[reflect.Type]*shape) *shape {
	if s := known[t]; s != nil {
		return s
	}
	s := &shape{}
	known[t] = s
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		s.raw = true
	case t.Kind() == reflect.Pointer:
		*s = *shapeOf(t.Elem(), known)
		s.pointer = true
	case t.Kind() == reflect.Slice:
		s.kind, s.element = reflect.Slice, shapeOf(t.Elem(), known)
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		s.kind, s.element = reflect.Map, shapeOf(t.Elem(), known)
	case t.Kind() == reflect.Struct:
		s.kind, s.byName = reflect.Struct, map[string]int{}
		s.addFields(t, nil, known)
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64:
		s.kind, s.bits = reflect.Int64, t.Bits()
	case t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64:
		s.kind = reflect.Float64
	default:
		s.kind = t.Kind() // String, Bool, Interface
	}
	return s
}

// addFields adds the fields of a struct; those of embedded structs count as
// its own.
func (s *shape) addFields(t reflect.Type, index []int, known map[reflect.Type]*shape) {
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(slices.Clone(index), i)
		tag, tagged := f.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		if f.Anonymous && !tagged && f.Type.Kind() == reflect.Struct {
			s.addFields(f.Type, at, known)
			continue
		}
		if !f.IsExported() || tag == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		field := shapeField{name: name, index: at, shape: shapeOf(f.Type, known), place: -1}
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			field.place = len(s.required)
			s.required = append(s.required, len(s.fields))
		}
		s.byName[name] = len(s.fields)
		s.fields = append(s.fields, field)
	}
}

// fault is a value that does not fit; its path grows from the inside out.
type fault struct {
	path    string
	message string
	kind    wire.Kind
	limit   int64 // that was passed; 0 for none
}

func (f *fault) Error() string { return f.path + ": " + f.message }

// inField puts the name of a field in front of the path.
func (f *fault) inField(name string) *fault {
	if f.path == "" || f.path[0] == '[' {
		f.path = name + f.path
	} else {
		f.path = name + "." + f.path
	}
	return f
}

func misfit(message string) *fault { return &fault{message: message, kind: wire.KindInvalidParams} }

// decode fills v from parameters.
func (f form) decode(ctx context.Context, raw json.RawMessage, v reflect.Value) error {
	if len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	d := decoder{text: jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowInvalidUTF8(true))}
	problem := d.value(f.root, v)
	if problem == nil {
		if _, err := d.text.ReadToken(); err != io.EOF {
			problem = misfit("there is more than one value")
		}
	}
	if fl := flightOf(ctx); fl != nil {
		fl.unknown.Add(d.unknown)
	}
	if problem == nil {
		return nil
	}
	out := NewError(problem.kind, problem.message)
	if out.Data.Path = problem.path; out.Data.Path == "" {
		out.Data.Path = "params"
	}
	out.Message = out.Data.Path + ": " + out.Message
	out.Data.Limit = problem.limit
	return out
}
