package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hexapla/rpc/wire"
)

// decoder fills Go values from JSON text as shapes say.
type decoder struct {
	text    *jsontext.Decoder
	unknown int64
}

// broken turns an error of the text itself into a fault.
func broken(err error) *fault {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return &fault{message: "a member comes twice", kind: wire.KindDuplicateKey}
	}
	return misfit("not JSON")
}

func (d *decoder) value(s *shape, v reflect.Value) *fault {
	if s.raw {
		raw, err := d.text.ReadValue()
		if err != nil {
			return broken(err)
		}
		v = d.target(s, v)
		v.SetBytes(bytes.Clone(raw))
		return nil
	}
	switch kind := d.text.PeekKind(); s.kind {
	case reflect.Struct:
		if kind != '{' {
			return d.wrong(kind, "an object")
		}
		return d.object(s, d.target(s, v))
	case reflect.Slice:
		if kind != '[' {
			return d.wrong(kind, "an array")
		}
		return d.list(s, d.target(s, v))
	case reflect.Map:
		if kind != '{' {
			return d.wrong(kind, "an object")
		}
		return d.dictionary(s, d.target(s, v))
	case reflect.String:
		if kind != '"' {
			return d.wrong(kind, "a string")
		}
		token, err := d.text.ReadToken()
		if err != nil {
			return broken(err)
		}
		d.target(s, v).SetString(token.String())
	case reflect.Bool:
		if kind != 't' && kind != 'f' {
			return d.wrong(kind, "true or false")
		}
		token, err := d.text.ReadToken()
		if err != nil {
			return broken(err)
		}
		d.target(s, v).SetBool(token.Bool())
	case reflect.Int64, reflect.Float64:
		if kind != '0' {
			return d.wrong(kind, "a number")
		}
		return d.number(s, v)
	default:
		value, problem := d.anything()
		if problem == nil && value != nil {
			if found := reflect.ValueOf(value); found.Type().AssignableTo(v.Type()) {
				v.Set(found)
			} else {
				problem = misfit("cannot be given")
			}
		}
		return problem
	}
	return nil
}

// target returns where the value goes: behind a new pointer, if it is one.
func (d *decoder) target(s *shape, v reflect.Value) reflect.Value {
	if !s.pointer {
		return v
	}
	v.Set(reflect.New(v.Type().Elem()))
	return v.Elem()
}

// wrong tells what was wanted; text that is not JSON comes first.
func (d *decoder) wrong(have jsontext.Kind, want string) *fault {
	if have == 0 {
		_, err := d.text.ReadToken()
		return broken(err)
	}
	return misfit("must be " + want)
}

func (d *decoder) object(s *shape, v reflect.Value) *fault {
	if _, err := d.text.ReadToken(); err != nil {
		return broken(err)
	}
	var few [32]bool
	seen := few[:]
	if len(s.required) > len(few) {
		seen = make([]bool, len(s.required))
	}
	for d.text.PeekKind() != '}' {
		token, err := d.text.ReadToken()
		if err != nil {
			return broken(err)
		}
		name := token.String()
		at, ok := s.byName[name]
		if !ok {
			d.unknown++
			if err := d.text.SkipValue(); err != nil {
				return broken(err).inField(shorten(name))
			}
			continue
		}
		f := &s.fields[at]
		if d.text.PeekKind() == 'n' && !f.shape.raw && f.shape.kind != reflect.Interface {
			if _, err := d.text.ReadToken(); err != nil {
				return broken(err).inField(name)
			}
			if f.place >= 0 {
				return misfit("must not be null").inField(name)
			}
			continue
		}
		if problem := d.value(f.shape, v.FieldByIndex(f.index)); problem != nil {
			return problem.inField(name)
		}
		if f.place >= 0 {
			seen[f.place] = true
		}
	}
	if _, err := d.text.ReadToken(); err != nil {
		return broken(err)
	}
	return s.missing(seen)
}

// missing names the required fields that did not come; the path is the first.
func (s *shape) missing(seen []bool) *fault {
	var names []string
	for i, at := range s.required {
		if !seen[i] {
			names = append(names, s.fields[at].name)
		}
	}
	switch len(names) {
	case 0:
		return nil
	case 1:
		return misfit("is missing").inField(names[0])
	}
	return misfit("is missing, and so is " + strings.Join(names[1:], ", ")).inField(names[0])
}

func (d *decoder) list(s *shape, v reflect.Value) *fault {
	if _, err := d.text.ReadToken(); err != nil {
		return broken(err)
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for n := 0; d.text.PeekKind() != ']'; n++ {
		v.Grow(1)
		v.SetLen(n + 1)
		// Grow may hand out used memory; the element must begin empty.
		v.Index(n).SetZero()
		if problem := d.value(s.element, v.Index(n)); problem != nil {
			return problem.inField("[" + strconv.Itoa(n) + "]")
		}
	}
	if _, err := d.text.ReadToken(); err != nil {
		return broken(err)
	}
	return nil
}

func (d *decoder) dictionary(s *shape, v reflect.Value) *fault {
	if _, err := d.text.ReadToken(); err != nil {
		return broken(err)
	}
	v.Set(reflect.MakeMap(v.Type()))
	for d.text.PeekKind() != '}' {
		token, err := d.text.ReadToken()
		if err != nil {
			return broken(err)
		}
		name := token.String()
		element := reflect.New(v.Type().Elem()).Elem()
		if problem := d.value(s.element, element); problem != nil {
			return problem.inField(shorten(name))
		}
		v.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), element)
	}
	if _, err := d.text.ReadToken(); err != nil {
		return broken(err)
	}
	return nil
}

func (d *decoder) number(s *shape, v reflect.Value) *fault {
	raw, err := d.text.ReadValue()
	if err != nil {
		return broken(err)
	}
	if s.kind == reflect.Float64 {
		n, err := strconv.ParseFloat(string(raw), 64)
		if err != nil {
			return misfit("is out of range")
		}
		d.target(s, v).SetFloat(n)
		return nil
	}
	most := int64(1)<<min(53, s.bits-1) - 1
	n, err := strconv.ParseInt(string(raw), 10, s.bits)
	if errors.Is(err, strconv.ErrRange) {
		return beyond(most)
	}
	if err != nil {
		x, err := strconv.ParseFloat(string(raw), 64)
		switch {
		case errors.Is(err, strconv.ErrRange) || err == nil && math.Abs(x) > float64(most):
			return beyond(most)
		case err != nil || x != math.Trunc(x):
			return misfit("must be a whole number")
		}
		n = int64(x)
	}
	d.target(s, v).SetInt(n)
	return nil
}

// beyond is a whole number that no parameter can hold.
func beyond(most int64) *fault {
	problem := misfit("is out of range")
	problem.limit = most
	return problem
}

// anything reads a value without a form.
func (d *decoder) anything() (any, *fault) {
	switch d.text.PeekKind() {
	case '{':
		object := map[string]any{}
		problem := d.dictionary(&shape{element: &shape{kind: reflect.Interface}}, reflect.ValueOf(&object).Elem())
		return object, problem
	case '[':
		list := []any{}
		problem := d.list(&shape{element: &shape{kind: reflect.Interface}}, reflect.ValueOf(&list).Elem())
		return list, problem
	case '0':
		raw, err := d.text.ReadValue()
		if err != nil {
			return nil, broken(err)
		}
		n, err := strconv.ParseFloat(string(raw), 64)
		if err != nil || math.Abs(n) > 1<<53 && !bytes.ContainsAny(raw, ".eE") {
			return json.Number(raw), nil
		}
		return n, nil
	}
	token, err := d.text.ReadToken()
	if err != nil {
		return nil, broken(err)
	}
	switch token.Kind() {
	case '"':
		return token.String(), nil
	case 't', 'f':
		return token.Bool(), nil
	}
	return nil, nil
}
