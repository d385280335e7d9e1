package gen_test

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"hexapla/rpc/wire"
	"hexapla/rpc/wire/gen"
)

// root is the repository's root as this package's tests see it.
const root = "../../.."

// TestGenerated: the committed files are what Generate gives.
func TestGenerated(t *testing.T) {
	t.Parallel()
	files, err := gen.Generate(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range files {
		got, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what rpc/wire says (%v); run:\n\tgo generate ./rpc/wire", path, err)
		}
	}
}

// TestGenerateIsDeterministic: the same files give the same bytes.
func TestGenerateIsDeterministic(t *testing.T) {
	t.Parallel()
	first, err := gen.Generate(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		again, err := gen.Generate(os.DirFS(root))
		if err != nil {
			t.Fatal(err)
		}
		if !maps.EqualFunc(first, again, bytes.Equal) {
			t.Fatal("two runs over the same files differ")
		}
	}
}

// TestEveryMethodDocumented: protocol.md has one chapter for each message of
// the table and none beside.
func TestEveryMethodDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, gen.ProtocolFile))
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "### hexapla/"); ok {
			got = append(got, "hexapla/"+name)
		}
	}
	for _, m := range wire.Methods() {
		want = append(want, m.Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("chapters of protocol.md:\n got %v\nwant %v", got, want)
	}
}

// TestEveryErrorHasARow: kinds of the source, of the table of kinds and of
// protocol.md are the same.
func TestEveryErrorHasARow(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, gen.ProtocolFile))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(root, "rpc/wire/errors.go"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[wire.Kind]int{}
	for _, row := range wire.Kinds() {
		rows[row.Kind]++
		if n := strings.Count(string(text), "\n| `"+string(row.Kind)+"` | "); n != 1 {
			t.Errorf("protocol.md has %d rows for %s, want 1", n, row.Kind)
		}
		if row.When == "" || row.Code == 0 {
			t.Errorf("the row of %s says too little", row.Kind)
		}
	}
	declared := strings.Count(string(source), " Kind = \"")
	if declared != len(rows) {
		t.Errorf("errors.go declares %d kinds, the table has %d", declared, len(rows))
	}
	for _, m := range wire.Methods() {
		for _, kind := range m.Errors {
			if rows[kind] != 1 {
				t.Errorf("%s may answer %s, which has no row", m.Name, kind)
			}
		}
	}
}

// TestProtocolLinks: links inside protocol.md lead to a heading, links to
// files lead to a file.
func TestProtocolLinks(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, gen.ProtocolFile))
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]bool{}
	fenced := false
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if heading := strings.TrimLeft(line, "#"); !fenced && heading != line {
			anchors[gen.Anchor(strings.TrimSpace(heading))] = true
		}
	}
	for _, part := range strings.Split(string(text), "](")[1:] {
		target, _, _ := strings.Cut(part, ")")
		switch {
		case strings.HasPrefix(target, "#"):
			if !anchors[target[1:]] {
				t.Errorf("protocol.md links to %s, which is no heading", target)
			}
		case !strings.Contains(target, "://"):
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(target))); err != nil {
				t.Errorf("protocol.md links to %s: %v", target, err)
			}
		}
	}
}

// TestGenerateRefuses: what cannot be right is an error that names its place.
func TestGenerateRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file, from, to, want string
	}{
		{"a field without a comment", "rpc/wire/basics.go", "\t// URI of the folder", "\t_ struct{}\n\n\tBare string `json:\"bare\"`\n\t// URI of the folder", "Workspace.Bare: has no comment"},
		{"an enum value that the comment does not name", "rpc/wire/basics.go", `enum:"low,medium,high"`, `enum:"low,medium,extreme"`, "CodeChange.Impact"},
		{"raw JSON without a form", "rpc/wire/pack.go", ` form:"Pack"`, "", "PackBuildResult.Pack"},
		{"a form that does not exist", "rpc/wire/pack.go", `form:"Pack"`, `form:"Parcel"`, "refers to Parcel"},
		{"a region without an end", "protocol.md", "<!-- end generated -->", "", "is shown"},
		{"an unknown region", "protocol.md", "generated: errors", "generated: faults", "is not known"},
		{"a chapter twice", "protocol.md", "generated: errors", "generated: methods", "the table of methods is shown 2 times"},
		{"a message that does not exist", "protocol.md", "message hexapla/blob/read", "message hexapla/blob/write", "no such message"},
		{"an example that is not listed", "testdata/protocol/examples/order.txt", "blob-read/part\n", "", "does not list"},
		{"an example twice", "testdata/protocol/examples/order.txt", "blob-read/part\n", "blob-read/part\nblob-read/part\n", "twice"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			files := snapshot(t)
			text := string(files[test.file].Data)
			if !strings.Contains(text, test.from) {
				t.Fatalf("%s does not contain %q", test.file, test.from)
			}
			files[test.file] = &fstest.MapFile{Data: []byte(strings.Replace(text, test.from, test.to, 1))}
			if _, err := gen.Generate(files); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want one with %q", err, test.want)
			}
		})
	}
}

// snapshot is a copy in memory of what Generate reads.
func snapshot(t *testing.T) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	repository := os.DirFS(root)
	for _, folder := range []string{"rpc/wire", gen.ExamplesFolder, gen.ProtocolFile} {
		err := fs.WalkDir(repository, folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := fs.ReadFile(repository, path)
			files[path] = &fstest.MapFile{Data: data}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}
