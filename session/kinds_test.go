package session

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

// TestY10_EveryKindIsInTheTable: a kind of record that forgetting does not know
// would keep what it holds.
func TestY10_EveryKindIsInTheTable(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, row := range kindRows() {
		if known[row.kind] || row.of == nil {
			t.Errorf("%s is there twice, or of nothing", row.kind)
		}
		known[row.kind] = true
	}
	packages, err := parser.ParseDir(token.NewFileSet(), ".", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range packages["session"].Files {
		ast.Inspect(file, func(n ast.Node) bool {
			value, ok := n.(*ast.ValueSpec)
			if !ok || len(value.Values) != 1 || !strings.HasPrefix(value.Names[0].Name, "kind") {
				return true
			}
			if text, ok := value.Values[0].(*ast.BasicLit); ok && text.Kind == token.STRING {
				kind, err := strconv.Unquote(text.Value)
				if err != nil {
					t.Fatal(err)
				}
				found++
				if !known[kind] {
					t.Errorf("%s is not in kindRows", kind)
				}
			}
			return true
		})
	}
	if found != len(known) {
		t.Errorf("%d kinds in the sources, %d in the table", found, len(known))
	}
}
