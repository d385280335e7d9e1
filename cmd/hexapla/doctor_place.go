package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"hexapla/storage"
)

// dataFolder stands for a store's id where something is about where all of them
// lie.
const dataFolder = "data folder"

// examinePlace says what is wrong with where a data folder lies, none if nothing
// is or there is no such folder. Most of it has a writing process refuse the
// folder; who forced that, or put it there later, is told here.
func examinePlace(dir string) (found []storage.Finding) {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var all []string
	if why := ownedByUs(dir); why != "" {
		all = append(all, why)
	}
	all = append(all, troubles(dir)...)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		for at := filepath.Dir(real); ; at = filepath.Dir(at) {
			if why := replaceable(at); why != "" {
				all = append(all, "lies below "+at+", which "+why+": they could put another folder in its place")
			}
			if at == filepath.Dir(at) {
				break
			}
		}
	}
	for i, text := range all {
		if !slices.Contains(all[:i], text) { // a link and what it leads to may lie in one folder
			found = append(found, storage.Finding{
				Check: "place", Level: storage.LevelWarning, Text: "it " + text,
				Next: "stop the daemon, move the folder and name it with --data-dir",
			})
		}
	}
	return found
}
