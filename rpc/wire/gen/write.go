//go:build ignore

// Write writes the generated files. Run it by `go generate ./rpc/wire`.
package main

import (
	"flag"
	"log"
	"os"
	"path/filepath"

	"hexapla/rpc/wire/gen"
)

func main() {
	log.SetFlags(0)
	root := flag.String("root", ".", "the repository's root")
	flag.Parse()
	files, err := gen.Generate(os.DirFS(*root))
	if err != nil {
		log.Fatal(err)
	}
	for path, data := range files {
		full := filepath.Join(*root, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(full, data, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}
