package gen

import (
	"fmt"
	"io/fs"

	"hexapla/rpc/wire"
)

// Paths of the generated files from the repository's root.
const (
	ProtocolFile  = "protocol.md" // only between its marks
	SchemaFile    = "testdata/protocol/schema.json"
	VSCodeFile    = "editors/vscode/src/protocol.gen.ts"
	VSCodeSamples = "editors/vscode/src/protocol.examples.gen.ts"
	NeovimFile    = "editors/nvim/lua/hexapla/_meta/protocol.lua"
)

// Generate returns the generated files of the repository at root, by their
// slash-separated paths. Errors name the file that is at fault.
func Generate(root fs.FS) (map[string][]byte, error) {
	src, err := readSource(root)
	if err != nil {
		return nil, fmt.Errorf("generate: %w", err)
	}
	examples, err := ReadExamples(root)
	if err != nil {
		return nil, fmt.Errorf("generate: %w", err)
	}
	text, err := fs.ReadFile(root, ProtocolFile)
	if err != nil {
		return nil, fmt.Errorf("generate: %w", err)
	}
	methods := wire.Methods()
	doc := document{src: src, methods: methods, examples: examples}
	filled, err := doc.fill(string(text))
	if err != nil {
		return nil, fmt.Errorf("generate: %w", err)
	}
	definitions, err := schema(src, methods)
	if err != nil {
		return nil, fmt.Errorf("generate: %w", err)
	}
	return map[string][]byte{
		ProtocolFile:  []byte(filled),
		SchemaFile:    definitions,
		VSCodeFile:    typescript(src, methods),
		VSCodeSamples: typescriptExamples(examples, methods),
		NeovimFile:    lua(src, methods),
	}, nil
}
