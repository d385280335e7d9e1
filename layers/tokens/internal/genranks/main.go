//go:build ignore

// Genranks writes the merge ranks of the two encodings as compact files, from
// the vocabularies that github.com/pkoukk/tiktoken-go-loader carries. It is run
// by go generate in layers/tokens and takes the output folder as its argument.
//
// A file is the tokens in the order of their ranks, 0 first, each as one length
// byte followed by the token's bytes.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	loader "github.com/pkoukk/tiktoken-go-loader"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: genranks <folder>")
		os.Exit(2)
	}
	for _, name := range []string{"o200k_base", "cl100k_base"} {
		if err := generate(name, filepath.Join(os.Args[1], name+".bin")); err != nil {
			fmt.Fprintf(os.Stderr, "genranks: %s: %v\n", name, err)
			os.Exit(1)
		}
	}
}

func generate(name, path string) error {
	ranks, err := loader.NewOfflineLoader().LoadTiktokenBpe(name + ".tiktoken")
	if err != nil {
		return err
	}
	tokens := make([]string, len(ranks))
	for token, rank := range ranks {
		if rank < 0 || rank >= len(tokens) || tokens[rank] != "" {
			return fmt.Errorf("rank %d is out of range or taken twice", rank)
		}
		if len(token) == 0 || len(token) > 255 {
			return fmt.Errorf("token of rank %d has %d bytes", rank, len(token))
		}
		tokens[rank] = token
	}
	var blob []byte
	for _, token := range tokens {
		blob = append(blob, byte(len(token)))
		blob = append(blob, token...)
	}
	if len(blob) == 0 {
		return errors.New("no tokens")
	}
	return os.WriteFile(path, blob, 0o644)
}
