// Package needs tells which names a tool call needs: the file paths and the
// identifiers in its arguments. Replays use it to measure how many of the names
// that the model used next were in the context that it was given.
//
// It works by rule on text alone and knows no language. It does not tell
// whether a name exists, or what it means.
package needs

import (
	"slices"
	"strings"

	"hexapla/layers"
	"hexapla/layers/digest"
)

// OfCall returns the names in the arguments of a tool call, which are JSON:
// those in its strings, not the names of its members. What is no JSON is taken
// as text.
func OfCall(arguments string) layers.Names {
	return digest.NamesOf(digest.Arguments(arguments))
}

// In counts the names that a text holds, letter by letter.
func In(names []string, text string) int {
	n := 0
	for _, name := range names {
		if strings.Contains(text, name) {
			n++
		}
	}
	return n
}

// Known returns the names that a text holds.
func Known(n layers.Names, text string) layers.Names {
	absent := func(name string) bool { return !strings.Contains(text, name) }
	return layers.Names{
		Paths:       slices.DeleteFunc(slices.Clone(n.Paths), absent),
		Identifiers: slices.DeleteFunc(slices.Clone(n.Identifiers), absent),
	}
}

// Files returns the files that a tool call reads, searches or changes.
func Files(call layers.ToolCall) []string { return digest.CallFiles(call) }

// HasFile tells whether a file is among others, which may be written as a longer
// or a shorter path.
func HasFile(files []string, file string) bool {
	return slices.ContainsFunc(files, func(f string) bool { return digest.SameFile(f, file) })
}
