package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// families are the rows of docs/reliability.md: the letter of each family and how
// many there are.
var families = []struct {
	letter string
	rows   int
}{{"F", 18}, {"P", 13}, {"V", 10}, {"S", 20}, {"X", 9}, {"C", 10}, {"R", 7}, {"E", 7}, {"Y", 16}, {"L", 10}}

// TestReliabilityRows: the table of docs/reliability.md has every row once, each
// names tests that exist or says why there is none, and no test that is named
// after a row stands for one that is not there.
func TestReliabilityRows(t *testing.T) {
	t.Parallel()
	tests := testNames(t)
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "reliability.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int{}
	line := regexp.MustCompile(`(?m)^\| ([A-Z]\d+(?:, [A-Z]\d+)*) \| ([^|]+) \| (.+) \|$`)
	for _, m := range line.FindAllStringSubmatch(string(text), -1) {
		named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(m[3], -1)
		for _, test := range named {
			if !tests[test[1]] {
				t.Errorf("%s: there is no %s", m[1], test[1])
			}
		}
		if len(named) == 0 && !strings.HasPrefix(m[3], "does not apply") {
			t.Errorf("%s: names no test and does not say why: %s", m[1], m[3])
		}
		for row := range strings.SplitSeq(m[1], ", ") {
			rows[row]++
			for test := range tests {
				if len(named) == 0 && strings.HasPrefix(test, "Test"+row+"_") {
					t.Errorf("%s: it says that it does not apply, and there is %s", row, test)
				}
			}
		}
	}
	known := map[string]bool{}
	for _, f := range families {
		for n := range f.rows {
			row := f.letter + strconv.Itoa(n+1)
			known[row] = true
			if rows[row] != 1 {
				t.Errorf("%s: %d lines", row, rows[row])
			}
		}
	}
	for row := range rows {
		if !known[row] {
			t.Errorf("%s is no row", row)
		}
	}
	named := regexp.MustCompile(`^Test([FPVSXCREYL]\d+)_`)
	for test := range tests {
		if m := named.FindStringSubmatch(test); m != nil && !known[m[1]] {
			t.Errorf("%s: there is no row %s", test, m[1])
		}
	}
}

// testNames are the test functions of the repository.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir(root(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				names[fn.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
