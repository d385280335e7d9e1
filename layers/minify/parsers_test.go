package minify_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/yuin/gopher-lua/parse"

	"hexapla/layers/minify"
)

// maxFiles is how many files of a language are tried; HEXAPLA_MINIFY_ALL tries
// all that are found.
const maxFiles = 150

// filesOf reads real files with an extension below a folder, spread evenly.
func filesOf(t *testing.T, dir, ext string) map[string]string {
	t.Helper()
	var names []string
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(name, ext) {
			names = append(names, name)
		}
		return nil
	})
	files := map[string]string{}
	for _, name := range spread(names) {
		if data, err := os.ReadFile(name); err == nil {
			files[name] = string(data)
		}
	}
	if len(files) == 0 {
		t.Skipf("no files %s on this machine", ext)
	}
	return files
}

func spread(names []string) []string {
	if os.Getenv("HEXAPLA_MINIFY_ALL") != "" || len(names) <= maxFiles {
		return names
	}
	var out []string
	for i := range maxFiles {
		out = append(out, names[i*len(names)/maxFiles])
	}
	return out
}

// pair is a file before and after.
type pair struct {
	Name   string `json:"name"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// minified minifies files; most of them must be taken.
func minified(t *testing.T, files map[string]string, language minify.Language) (pairs []pair) {
	t.Helper()
	before, after, refused := 0, 0, 0
	for name, source := range files {
		got, ok := minify.Code(source, language)
		if !ok {
			refused++
			continue
		}
		if again, ok := minify.Code(got, language); !ok || again != got {
			t.Errorf("%s: minified again it is another", name)
		}
		before, after = before+len(source), after+len(got)
		pairs = append(pairs, pair{name, source, got})
	}
	t.Logf("%s: %d files of %d bytes became %d bytes; %d were left as they are", language, len(pairs), before, after, refused)
	if refused*5 > len(files) {
		t.Errorf("%d of %d files are left as they are", refused, len(files))
	}
	return pairs
}

// TestB3_GoStillParses: over the standard library, go/parser takes what is left,
// and go/scanner sees the same tokens, semicolons that lines end in among them.
func TestB3_GoStillParses(t *testing.T) {
	t.Parallel()
	for _, p := range minified(t, filesOf(t, filepath.Join(runtime.GOROOT(), "src"), ".go"), minify.Go) {
		if _, err := parser.ParseFile(token.NewFileSet(), p.Name, p.Before, 0); err != nil {
			continue // of testdata
		}
		if _, err := parser.ParseFile(token.NewFileSet(), p.Name, p.After, 0); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		if goTokens(p.Before) != goTokens(p.After) {
			t.Errorf("%s: other tokens", p.Name)
		}
	}
}

func goTokens(source string) string {
	var s scanner.Scanner
	var b strings.Builder
	s.Init(token.NewFileSet().AddFile("", -1, len(source)), []byte(source), nil, 0)
	for {
		_, tok, text := s.Scan()
		if tok == token.EOF {
			return strings.TrimSuffix(b.String(), ";\x00")
		}
		if tok == token.SEMICOLON {
			text = ""
		}
		b.WriteString(tok.String() + text + "\x00")
	}
}

// TestB3_ScriptStillParses: over what JavaScript and TypeScript there is, esbuild
// makes the same program of both.
func TestB3_ScriptStillParses(t *testing.T) {
	t.Parallel()
	files := filesOf(t, "../../editors", ".ts")
	for _, ext := range []string{".js", ".mjs"} {
		for _, dir := range []string{"/usr/lib/node_modules", "/usr/local/lib/node_modules", "../../editors"} {
			var names []string
			_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() && strings.HasSuffix(name, ext) {
					names = append(names, name)
				}
				return nil
			})
			for _, name := range spread(names) {
				if data, err := os.ReadFile(name); err == nil {
					files[name] = string(data)
				}
			}
		}
	}
	program := func(source string) (string, bool) {
		r := api.Transform(source, api.TransformOptions{Loader: api.LoaderTS, MinifyWhitespace: true, LegalComments: api.LegalCommentsNone})
		return string(r.Code), len(r.Errors) == 0
	}
	for _, p := range minified(t, files, minify.TypeScript) {
		before, ok := program(p.Before)
		if after, still := program(p.After); ok && (!still || after != before) {
			t.Errorf("%s: another program", p.Name)
		}
	}
}

// TestB3_PythonStillParses: over its standard library, Python's own parser makes
// the same tree of both.
func TestB3_PythonStillParses(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("python3", "-c", "import os; print(os.path.dirname(os.__file__))").Output()
	if err != nil {
		t.Skip("no python3")
	}
	pairs := minified(t, filesOf(t, strings.TrimSpace(string(out)), ".py"), minify.Python)
	input, err := json.Marshal(pairs)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", "-W", "ignore", "-c", `
import ast, json, sys
for p in json.load(sys.stdin):
    try:
        before = ast.dump(ast.parse(p["before"]))
    except (SyntaxError, ValueError):
        continue
    try:
        if ast.dump(ast.parse(p["after"])) != before:
            print(p["name"], "another tree")
    except SyntaxError as e:
        print(p["name"], e)
`)
	cmd.Stdin = bytes.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// TestB3_LuaStillParses: over gopher-lua's tests, its parser makes the same tree of
// both.
func TestB3_LuaStillParses(t *testing.T) {
	t.Parallel()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/yuin/gopher-lua").Output()
	if err != nil {
		t.Skip(err)
	}
	tree := func(source string) (string, error) {
		chunk, err := parse.Parse(strings.NewReader(source), "x")
		if err != nil {
			return "", err
		}
		return parse.Dump(chunk), nil
	}
	for _, p := range minified(t, filesOf(t, strings.TrimSpace(string(dir)), ".lua"), minify.Lua) {
		before, err := tree(p.Before)
		if err != nil {
			continue
		}
		if after, err := tree(p.After); err != nil || after != before {
			t.Errorf("%s: another tree, %v", p.Name, err)
		}
	}
}

// TestB3_RustStillParses: rustfmt, which parses by the compiler's own parser, takes
// what is left.
func TestB3_RustStillParses(t *testing.T) {
	t.Parallel()
	if exec.Command("rustfmt", "--version").Run() != nil {
		t.Skip("no rustfmt")
	}
	files := filesOf(t, "testdata", ".rs")
	if out, err := exec.Command("rustc", "--print", "sysroot").Output(); err == nil {
		for _, dir := range []string{strings.TrimSpace(string(out)), os.Getenv("CARGO_HOME")} {
			var names []string
			_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
				if dir != "" && err == nil && !d.IsDir() && strings.HasSuffix(name, ".rs") {
					names = append(names, name)
				}
				return nil
			})
			for _, name := range spread(names) {
				if data, err := os.ReadFile(name); err == nil {
					files[name] = string(data)
				}
			}
		}
	}
	parses := func(source string) bool {
		cmd := exec.Command("rustfmt", "--edition", "2021", "--emit", "stdout")
		cmd.Stdin = strings.NewReader(source)
		return cmd.Run() == nil
	}
	for _, p := range minified(t, files, minify.Rust) {
		if !parses(p.Before) {
			t.Logf("%s does not parse as it is", p.Name)
		} else if !parses(p.After) {
			t.Errorf("%s does not parse", p.Name)
		}
	}
}

// TestB3_JavaStillParses: over the sources of a JDK, javac takes what is left as
// far as its parser goes.
func TestB3_JavaStillParses(t *testing.T) {
	t.Parallel()
	found, _ := filepath.Glob("/usr/lib/jvm/*/lib/src.zip")
	if len(found) == 0 || exec.Command("javac", "-version").Run() != nil {
		t.Skip("no JDK with sources")
	}
	var archive *zip.ReadCloser
	for _, name := range found {
		if opened, err := zip.OpenReader(name); err == nil {
			archive = opened
			break
		}
	}
	if archive == nil {
		t.Skip("no JDK with sources")
	}
	defer archive.Close()
	byName := map[string]*zip.File{}
	var names []string
	for _, f := range archive.File {
		if strings.HasPrefix(f.Name, "java.base/java/") && strings.HasSuffix(f.Name, ".java") {
			byName[f.Name] = f
			names = append(names, f.Name)
		}
	}
	files := map[string]string{}
	for _, name := range spread(names) {
		r, err := byName[name].Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(data)
	}
	dir := t.TempDir()
	args := []string{"-proc:none", "-XDshould-stop.ifNoError=PARSE", "-XDshould-stop.ifError=PARSE", "-d", dir}
	for _, p := range minified(t, files, minify.Java) {
		name := filepath.Join(dir, p.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(p.After), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, name)
	}
	if out, err := exec.Command("javac", args...).CombinedOutput(); err != nil {
		t.Errorf("%v: %.2000s", err, out)
	}
}
