package main

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

const module = "hexapla"

// mayImport is the direction of imports: for each package of the repository,
// the packages of the repository that its non-test files may import. Anything
// else is an error. ARCHITECTURE.md shows the same as a picture.
var mayImport = map[string][]string{
	"layers":                      {"layers/canonical"},
	"layers/canonical":            {},
	"layers/tokens":               {"layers"},
	"layers/terms":                {"layers"},
	"layers/models":               {"layers"},
	"layers/digest":               {"layers"},
	"layers/rendering":            {"layers", "layers/canonical"},
	"layers/answer":               {"layers", "layers/canonical"},
	"layers/history":              {"layers", "layers/answer", "layers/canonical", "layers/digest", "layers/terms"},
	"layers/excerpt":              {"layers", "layers/digest", "layers/tokens"},
	"layers/limits":               {"layers", "layers/digest", "layers/excerpt", "layers/minify", "layers/terms"},
	"layers/minify":               {},
	"layers/outline":              {"layers/minify"},
	"layers/iceberg":              {},
	"layers/fence":                {},
	"layers/scrub":                {},
	"storage":                     {"layers", "internal/filelock"},
	"storage/storagetest":         {"layers", "storage"},
	"index":                       {"layers"},
	"index/vectorlog":             {},
	"retrieval":                   {"layers", "layers/terms", "index", "index/vectorlog", "retrieval/vectors", "storage"},
	"retrieval/minilm":            {},
	"retrieval/minilm/minilmtest": {},
	"retrieval/vectors":           {},
	"retrieval/vectors/build":     {"layers/terms", "retrieval/vectors"},
	"retrieval/nearness":          {"layers/terms", "retrieval/vectors"},
	"session/contextconfig":       {"layers/limits"},
	"session/registry":            {"internal/filelock"},
	"session/trace":               {},
	"session":                     {"session/contextconfig", "session/trace", "layers/iceberg", "layers/outline", "layers/excerpt", "layers/limits", "retrieval/nearness", "session/registry", "layers", "layers/answer", "layers/canonical", "layers/tokens", "layers/digest", "layers/fence", "layers/history", "layers/terms", "layers/models", "layers/scrub", "storage", "index", "index/vectorlog", "retrieval", "retrieval/minilm", "internal/billing"},
	"rpc":                         {"session/contextconfig", "layers/iceberg", "layers/limits", "rpc/wire", "session", "layers", "layers/answer", "layers/rendering", "layers/scrub", "retrieval", "storage"},
	"rpc/daemon":                  {"internal/filelock"},
	"rpc/wire":                    {},
	"rpc/wire/gen":                {"rpc/wire"},
	"cmd/hexapla":                 {"retrieval", "rpc", "rpc/daemon", "rpc/wire", "session", "storage", "layers", "layers/rendering", "layers/models", "layers/scrub", "layers/terms", "layers/tokens", "internal/transcript", "internal/billing", "internal/needs"},
	"internal/transcript":         {"layers"},
	"internal/billing":            {"layers", "layers/models"},
	"internal/needs":              {"layers", "layers/digest"},
	"internal/shareddata":         {},
	"internal/filelock":           {},
	"internal/broken":             {},
}

// onlyIn says which libraries one package alone may import, and why.
var onlyIn = []struct {
	library  string
	packages []string
	reason   string
}{
	{"go.etcd.io/bbolt", []string{"storage", "storage/storagetest"}, "the truth has one door"},
	{"github.com/blevesearch/", []string{"index"}, "the index is a projection that can be deleted"},
	{"go.lsp.dev/", []string{"rpc"}, "only the connection knows JSON-RPC"},
	{"github.com/pkoukk/", nil, "counting is our own; the library is the oracle of its tests and the source of its ranks"},
	{"github.com/zricethezav/", nil, "its rules are in layers/scrub/gitleaks.json; the library is what tests compare them with"},
	{"net/http", nil, "nothing leaves the machine"},
	{"net", []string{"rpc/daemon", "cmd/hexapla"}, "nothing leaves the machine: TestSockets"},
}

func loadPackages(t *testing.T) []*packages.Package {
	t.Helper()
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo,
		Dir:  root(t),
	}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// root is the repository's root.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

func TestImports(t *testing.T) {
	t.Parallel()
	for _, pkg := range loadPackages(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(pkg.PkgPath, module), "/")
		allowed, known := mayImport[name]
		if !known && !strings.HasPrefix(name, "rpc/wire/gen") && !strings.Contains(name, "/internal/") {
			t.Errorf("package %s is not in the table of imports: say what it may import", name)
			continue
		}
		for path := range pkg.Imports {
			if own, ok := strings.CutPrefix(path, module+"/"); ok {
				if known && !slices.Contains(allowed, own) {
					t.Errorf("%s must not import %s", name, own)
				}
				continue
			}
			for _, rule := range onlyIn {
				match := path == rule.library || strings.HasSuffix(rule.library, "/") && strings.HasPrefix(path, rule.library) ||
					strings.Contains(rule.library, ".") && strings.HasPrefix(path, rule.library+"/")
				if match && !slices.Contains(rule.packages, name) && !strings.Contains(name, "/internal/") {
					t.Errorf("%s must not import %s: %s", name, path, rule.reason)
				}
			}
		}
	}
}

// TestSockets: of package net only Unix sockets are used.
func TestSockets(t *testing.T) {
	t.Parallel()
	allowed := []string{"Conn", "UnixConn", "UnixListener", "UnixAddr", "ListenUnix", "Dialer", "ErrClosed"}
	for _, pkg := range loadPackages(t) {
		for _, file := range pkg.Syntax {
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					x, ok := n.X.(*ast.Ident)
					if !ok {
						return true
					}
					if of, ok := pkg.TypesInfo.Uses[x].(*types.PkgName); ok && of.Imported().Path() == "net" && !slices.Contains(allowed, n.Sel.Name) {
						t.Errorf("%s: net.%s", pkg.Fset.Position(n.Pos()), n.Sel.Name)
					}
				case *ast.BasicLit:
					if pkg.PkgPath == module+"/rpc/daemon" && (strings.HasPrefix(n.Value, `"tcp`) || strings.HasPrefix(n.Value, `"udp`)) {
						t.Errorf("%s: %s", pkg.Fset.Position(n.Pos()), n.Value)
					}
				}
				return true
			})
		}
	}
}

// TestLayersArePure: packages under layers do no I/O, read no clock and range
// over no map.
func TestLayersArePure(t *testing.T) {
	t.Parallel()
	forbidden := []string{"os", "io/fs", "net", "net/http", "os/exec", "path/filepath", "math/rand", "math/rand/v2", "crypto/rand"}
	for _, pkg := range loadPackages(t) {
		name := strings.TrimPrefix(pkg.PkgPath, module+"/")
		if name != "layers" && !strings.HasPrefix(name, "layers/") || strings.Contains(name, "/internal/") {
			continue
		}
		for path := range pkg.Imports {
			if slices.Contains(forbidden, path) {
				t.Errorf("%s imports %s", name, path)
			}
		}
		for _, file := range pkg.Syntax {
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.RangeStmt:
					if tv, ok := pkg.TypesInfo.Types[n.X]; ok {
						if _, isMap := tv.Type.Underlying().(*types.Map); isMap {
							t.Errorf("%s: ranges over a map", pkg.Fset.Position(n.Pos()))
						}
					}
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "Sleep", "After"}, n.Sel.Name) {
						t.Errorf("%s: reads the clock", pkg.Fset.Position(n.Pos()))
					}
				}
				return true
			})
		}
	}
}

// TestBelowCmd: nothing below cmd ends the process, reads the environment or
// the working directory, or keeps state in a package.
func TestBelowCmd(t *testing.T) {
	t.Parallel()
	for _, pkg := range loadPackages(t) {
		name := strings.TrimPrefix(pkg.PkgPath, module+"/")
		if strings.HasPrefix(name, "cmd/") || strings.Contains(name, "/internal/") || strings.HasPrefix(name, "rpc/wire/gen") ||
			name == "retrieval/vectors/build" || name == "internal/shareddata" || name == "storage/storagetest" || name == "retrieval/minilm/minilmtest" {
			continue
		}
		for _, file := range pkg.Syntax {
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "os" && slices.Contains([]string{"Exit", "Getenv", "LookupEnv", "Environ", "Getwd", "Chdir", "Args"}, n.Sel.Name) {
						t.Errorf("%s: os.%s", pkg.Fset.Position(n.Pos()), n.Sel.Name)
					}
				case *ast.FuncDecl:
					if n.Recv == nil && n.Name.Name == "init" {
						t.Errorf("%s: func init", pkg.Fset.Position(n.Pos()))
					}
				}
				return true
			})
		}
	}
}

// TestArchitectureMap: every package is named in ARCHITECTURE.md, and every
// folder that it names exists.
func TestArchitectureMap(t *testing.T) {
	t.Parallel()
	dir := root(t)
	text, err := os.ReadFile(filepath.Join(dir, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, line := range strings.Split(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, "| `"); ok {
			folder, _, _ := strings.Cut(rest, "`")
			folder = strings.TrimSuffix(folder, "/")
			named[folder] = true
			if _, err := os.Stat(filepath.Join(dir, folder)); err != nil {
				t.Errorf("ARCHITECTURE.md names %s: %v", folder, err)
			}
		}
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if base := d.Name(); base == "testdata" || base == "node_modules" || base == "internal" && path != filepath.Join(dir, "internal") || strings.HasPrefix(base, ".") && path != dir {
			return filepath.SkipDir
		}
		if pkg, err := build.ImportDir(path, 0); err == nil {
			rel, _ := filepath.Rel(dir, path)
			if !named[filepath.ToSlash(rel)] {
				t.Errorf("ARCHITECTURE.md does not name package %s (%s)", rel, pkg.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestPackageComments: every package says what it is.
func TestPackageComments(t *testing.T) {
	t.Parallel()
	dir := root(t)
	for name := range mayImport {
		pkgs, err := parser.ParseDir(token.NewFileSet(), filepath.Join(dir, name), func(fi fs.FileInfo) bool {
			return !strings.HasSuffix(fi.Name(), "_test.go")
		}, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Error(err)
			continue
		}
		found := false
		for _, pkg := range pkgs {
			for _, file := range pkg.Files {
				found = found || file.Doc != nil
			}
		}
		if !found {
			t.Errorf("package %s has no comment", name)
		}
	}
}
