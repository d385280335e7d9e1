package minilm

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Find looks for the model in caches of models and returns its folder; "" if none
// has it. A cache is one of the Hugging Face hub
// (models--sentence-transformers--all-MiniLM-L6-v2/snapshots/…, of which the one that
// sorts last is taken) or of sentence-transformers
// (sentence-transformers_all-MiniLM-L6-v2). Nothing is written.
func Find(caches []string) string {
	for _, cache := range caches {
		if cache == "" {
			continue
		}
		hub := filepath.Join(cache, "models--sentence-transformers--all-MiniLM-L6-v2", "snapshots")
		entries, err := os.ReadDir(hub)
		if err != nil {
			entries = nil
		}
		slices.Reverse(entries) // they come in the order of names
		for _, entry := range entries {
			if dir := filepath.Join(hub, entry.Name()); has(dir) {
				return dir
			}
		}
		if dir := filepath.Join(cache, "sentence-transformers_all-MiniLM-L6-v2"); has(dir) {
			return dir
		}
	}
	return ""
}

// has tells whether a folder has the files of a model.
func has(dir string) bool {
	there := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	return there("model.safetensors") && (there("vocab.txt") || there("tokenizer.json"))
}

// Reason says why a model could not be opened, without names of files.
func Reason(err error) string {
	var path *fs.PathError
	switch {
	case errors.Is(err, ErrFormat):
		return ErrFormat.Error()
	case errors.Is(err, fs.ErrNotExist):
		return "model.safetensors, or vocab.txt and tokenizer.json, are not there"
	case errors.As(err, &path):
		return path.Err.Error()
	}
	return err.Error()
}
