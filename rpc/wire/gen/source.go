package gen

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// source is what rpc/wire declares for the wire, in the order of its files.
type source struct {
	structs []structure
	sets    []set
}

// structure is a struct whose fields are members on the wire.
type structure struct {
	name   string
	doc    string
	embeds []string // structs whose members are its own
	fields []member
}

// member is one field of a structure.
type member struct {
	name     string // on the wire
	doc      string
	optional bool
	kind     shape
	values   []string // the strings it may hold; nil if any
}

// set is a named string type with a closed set of values.
type set struct {
	name   string
	doc    string
	values []string
}

// shape is the type of a member.
type shape struct {
	base  string   // "string", "integer", "decimal", "boolean", "any", "oneOf", "array", "map" or "ref"
	of    *shape   // element of an array or map
	name  string   // of what a ref refers to
	bases []string // of which a oneOf is one
}

const wireFolder = "rpc/wire"

// readSource reads the declarations of rpc/wire.
func readSource(root fs.FS) (*source, error) {
	names, err := fs.Glob(root, wireFolder+"/*.go")
	if err != nil {
		return nil, err
	}
	src := &source{}
	values := map[string][]string{} // of constants, by type
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path.Base(name), text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		for _, decl := range file.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range group.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					addValues(values, spec)
				case *ast.TypeSpec:
					if err := src.addType(spec, group.Doc); err != nil {
						return nil, fmt.Errorf("read %s: %w", name, err)
					}
				}
			}
		}
	}
	src.sets = slices.DeleteFunc(src.sets, func(s set) bool { return len(values[s.name]) == 0 })
	for i := range src.sets {
		src.sets[i].values = values[src.sets[i].name]
	}
	return src, src.check()
}

// addValues notes string constants that have a type.
func addValues(values map[string][]string, spec *ast.ValueSpec) {
	typ, ok := spec.Type.(*ast.Ident)
	if !ok {
		return
	}
	for _, v := range spec.Values {
		if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				values[typ.Name] = append(values[typ.Name], text)
			}
		}
	}
}

func (s *source) addType(spec *ast.TypeSpec, doc *ast.CommentGroup) error {
	if spec.Doc != nil {
		doc = spec.Doc
	}
	switch typ := spec.Type.(type) {
	case *ast.Ident:
		if typ.Name == "string" {
			s.sets = append(s.sets, set{name: spec.Name.Name, doc: plain(doc)})
		}
	case *ast.StructType:
		st := structure{name: spec.Name.Name, doc: plain(doc)}
		tagged := 0
		for _, f := range typ.Fields.List {
			if len(f.Names) == 0 {
				id, ok := f.Type.(*ast.Ident)
				if !ok {
					return fmt.Errorf("%s: embeds something that is not a struct of the package", st.name)
				}
				st.embeds = append(st.embeds, id.Name)
				continue
			}
			if f.Tag == nil {
				continue
			}
			m, err := memberOf(f)
			if err != nil {
				return fmt.Errorf("%s.%s: %w", st.name, f.Names[0].Name, err)
			}
			tagged++
			st.fields = append(st.fields, m)
		}
		if tagged > 0 || len(st.embeds) > 0 {
			s.structs = append(s.structs, st)
		}
	}
	return nil
}

// memberOf reads a field with its tags and its comment.
func memberOf(f *ast.Field) (member, error) {
	var m member
	text, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		return m, err
	}
	tag := reflect.StructTag(text)
	name, options, _ := strings.Cut(tag.Get("json"), ",")
	if name == "" {
		return m, fmt.Errorf("has no name on the wire")
	}
	m.name, m.optional = name, strings.Contains(options, "omitempty")
	if m.doc = plain(f.Doc); m.doc == "" {
		return m, fmt.Errorf("has no comment")
	}
	if m.kind, err = shapeOf(f.Type, tag.Get("form")); err != nil {
		return m, err
	}
	values, closed := tag.Lookup("enum")
	if closed {
		m.values = strings.Split(values, ",")
		if m.kind.base != "string" {
			return m, fmt.Errorf("enum is for strings")
		}
		return m, sameValues(m.doc, m.values)
	}
	return m, nil
}

// sameValues checks that a comment quotes every value of a closed set.
func sameValues(doc string, values []string) error {
	for _, v := range values {
		if !strings.Contains(doc, strconv.Quote(v)) {
			return fmt.Errorf("the comment does not name the value %q", v)
		}
	}
	return nil
}

func shapeOf(expr ast.Expr, form string) (shape, error) {
	switch e := expr.(type) {
	case *ast.StarExpr:
		return shapeOf(e.X, form)
	case *ast.Ident:
		switch e.Name {
		case "string":
			return shape{base: "string"}, nil
		case "bool":
			return shape{base: "boolean"}, nil
		case "int", "int64":
			return shape{base: "integer"}, nil
		case "float64":
			return shape{base: "decimal"}, nil
		case "any":
			return formOf(form)
		}
		return shape{base: "ref", name: e.Name}, nil
	case *ast.ArrayType:
		of, err := shapeOf(e.Elt, form)
		return shape{base: "array", of: &of}, err
	case *ast.MapType:
		of, err := shapeOf(e.Value, form)
		return shape{base: "map", of: &of}, err
	case *ast.SelectorExpr:
		if e.Sel.Name == "RawMessage" && form == "any" {
			return shape{base: "any"}, nil
		}
		if e.Sel.Name == "RawMessage" && form != "" {
			return shape{base: "ref", name: form}, nil
		}
	}
	return shape{}, fmt.Errorf("has a type that the wire does not know")
}

// formOf is the shape of a member of type any: of whatever type, or of one of
// those that its form tag lists, such as "integer|string".
func formOf(form string) (shape, error) {
	if form == "" || form == "any" {
		return shape{base: "any"}, nil
	}
	bases := strings.Split(form, "|")
	for _, base := range bases {
		switch base {
		case "string", "integer", "decimal", "boolean":
		default:
			return shape{}, fmt.Errorf("has the form %q, which the wire does not know", form)
		}
	}
	return shape{base: "oneOf", bases: bases}, nil
}

// plain is a comment as one paragraph per paragraph, without line ends in it.
func plain(doc *ast.CommentGroup) string {
	if doc == nil {
		return ""
	}
	var out []string
	for _, paragraph := range strings.Split(strings.TrimSpace(doc.Text()), "\n\n") {
		out = append(out, strings.Join(strings.Fields(paragraph), " "))
	}
	return strings.Join(out, "\n\n")
}

func (s *source) structure(name string) (structure, bool) {
	for _, st := range s.structs {
		if st.name == name {
			return st, true
		}
	}
	return structure{}, false
}

// set returns the closed set of that name.
func (s *source) set(name string) (set, bool) {
	for _, one := range s.sets {
		if one.name == name {
			return one, true
		}
	}
	return set{}, false
}

// members returns a structure's members with those of what it embeds.
func (s *source) members(st structure) []member {
	var out []member
	for _, name := range st.embeds {
		base, _ := s.structure(name)
		out = append(out, s.members(base)...)
	}
	return append(out, st.fields...)
}

// check makes sure that everything that is referred to exists.
func (s *source) check() error {
	for _, st := range s.structs {
		for _, name := range st.embeds {
			if _, ok := s.structure(name); !ok {
				return fmt.Errorf("%s embeds %s, which is not on the wire", st.name, name)
			}
		}
		for _, m := range st.fields {
			if ref := m.kind.refers(); ref != "" {
				_, isStruct := s.structure(ref)
				_, isSet := s.set(ref)
				if !isStruct && !isSet {
					return fmt.Errorf("%s.%s refers to %s, which is not on the wire", st.name, m.name, ref)
				}
			}
		}
	}
	return nil
}

// refers returns the name of the type that a shape is made of; "" if none.
func (k shape) refers() string {
	for k.of != nil {
		k = *k.of
	}
	return k.name
}

// used returns the sets that members refer to, in the order of the source.
func (s *source) used() []set {
	var out []set
	for _, one := range s.sets {
		for _, st := range s.structs {
			if slices.ContainsFunc(st.fields, func(m member) bool { return m.kind.refers() == one.name }) {
				out = append(out, one)
				break
			}
		}
	}
	return out
}
