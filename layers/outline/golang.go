package outline

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"strings"
)

// goFile writes the declarations of a file of Go: functions without their bodies,
// types with their fields and methods, names of constants and variables. A file
// with mistakes has none, since the parser goes on by guessing.
func (w *writer) goFile(source string) bool {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", source, parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	w.line(0, "package "+file.Name.Name)
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			d.Body, d.Doc = nil, nil
			w.node(files, d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					w.node(files, &ast.GenDecl{Tok: token.TYPE, TokPos: s.Pos(), Specs: []ast.Spec{s}})
				case *ast.ValueSpec:
					var names []string
					for _, name := range s.Names {
						names = append(names, name.Name)
					}
					line := d.Tok.String() + " " + strings.Join(names, ", ")
					var typed bytes.Buffer
					if s.Type != nil && format.Node(&typed, files, s.Type) == nil {
						line += " " + typed.String()
					}
					w.line(0, line)
				}
			}
		}
	}
	return true
}

// node writes a node as gofmt would, line by line.
func (w *writer) node(files *token.FileSet, node any) {
	var b bytes.Buffer
	if format.Node(&b, files, node) != nil {
		return
	}
	for line := range strings.Lines(b.String()) {
		w.line(len(line)-len(strings.TrimLeft(line, "\t")), line)
	}
}
