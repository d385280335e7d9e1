package digest

import (
	"strings"

	"hexapla/layers"
)

// FileChange is what one tool call did to one file.
type FileChange struct {
	File    string `json:"file"`
	From    string `json:"from,omitempty"` // where a renamed file was
	Type    string `json:"type"`           // create, modify, delete, refactor or rename
	Summary string `json:"summary,omitempty"`
	// Lines with something in them that came and went. They mean nothing unless
	// Counted is set: many tools do not say what was there before.
	Added   int  `json:"added,omitempty"`
	Removed int  `json:"removed,omitempty"`
	Counted bool `json:"counted,omitempty"`
}

// capChange is the tokens of a change's summary.
const capChange = 24

// MadeCall is a tool call with what was said around it.
type MadeCall struct {
	Call  layers.ToolCall
	Said  string // the assistant's text in the turn that made the call
	Query string // what the user asked in the conversation
}

// FileChanges returns what a call changed, in the order in which the call names
// the files. A call that failed changed nothing. Without a result, which is nil
// where a client records none, the call is believed.
//
// Calls that edit, write, delete or patch files are understood, and of shell
// commands rm, mv, cp, touch, git rm, git mv, git checkout -- and git restore,
// sed -i, patches, and text that echo, printf, cat or tee write to a file. What
// programs do to files on their own account cannot be told.
func FileChanges(made MadeCall, result *layers.ToolResult, c layers.Counter) []FileChange {
	told := ""
	if result != nil {
		told = result.Compressed.Summary
		if failed, _ := failedBy(told); failed || result.IsError || strings.HasSuffix(told, "rejected by the user") {
			return nil
		}
	}
	k := understand(made.Call.Name, made.Call.Input, true)
	edits := k.edits
	if k.change != "" && len(edits) == 0 {
		files := k.files
		if len(files) == 0 && result != nil {
			files = head(result.Compressed.KeyFiles, 1) // SWE-agent edits the open file
		}
		change := k.change
		if k.kind == kindWrite && (k.created || strings.HasPrefix(told, "created ")) {
			change = "create"
		}
		for _, file := range files {
			if k.command == "" || !outside(file) {
				edits = append(edits, FileChange{File: file, Type: change})
			}
		}
		if len(edits) == 1 {
			edits[0].count(&k)
		}
	}
	if len(edits) == 0 {
		return nil
	}
	why := oneLiner(intent(made.Said), capChange, c)
	if why == "" {
		why = oneLiner(broughtIn(&k), capChange, c)
	}
	refactor := refactorCue(made.Query) || refactorCue(why)
	var out []FileChange
	for _, e := range edits {
		if e.Type == "modify" && refactor {
			e.Type = "refactor"
		}
		e.Summary = why
		out = append(out, e)
	}
	return out
}

// count tells the lines that came and went from the texts of an edit. It leaves
// them open where the call does not hold all that it replaces: one that writes
// over a file, replaces every occurrence, or leaves parts of the text out.
func (f *FileChange) count(k *call) {
	old, text := k.old, k.text
	if before, after, ok := searchReplace(text); ok && old == "" {
		old, text = before, after
	}
	whole := len(old) < maxFieldBytes && len(text) < maxFieldBytes && !k.everywhere && !strings.Contains(text, "... existing code ...")
	adds := f.Type == "create" || k.inserts
	if !whole || old == "" && !adds || old == "" && text == "" {
		return
	}
	now, before := Changes(old, text), Changes(text, old)
	f.Added, f.Removed, f.Counted = now.Lines-now.Same, before.Lines-before.Same, true
}

// searchReplace reads blocks of "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE".
func searchReplace(diff string) (old, text string, ok bool) {
	if !strings.Contains(diff, "<<<<<<< SEARCH") && !strings.Contains(diff, "------- SEARCH") {
		return "", "", false
	}
	var sides [3]strings.Builder // outside, old, new
	side := 0
	for line := range strings.Lines(diff) {
		switch t := strings.TrimSpace(line); {
		case strings.HasSuffix(t, " SEARCH"):
			side = 1
		case t == "=======" && side == 1:
			side = 2
		case strings.HasSuffix(t, " REPLACE"):
			side = 0
		case strings.HasPrefix(t, ":start_line:") || t == "-------":
		default:
			sides[side].WriteString(line)
		}
	}
	return sides[1].String(), sides[2].String(), true
}

// broughtIn says what an edit defines or brings in, where nobody said what it
// is for.
func broughtIn(k *call) string {
	if names := definedIn(k.text, 40); len(names) > 0 && (k.old == "" || k.created) {
		return "defines " + strings.Join(head(names, 4), ", ")
	}
	if names := newNames(k.old, k.text); len(names) > 0 {
		return "brings in " + strings.Join(names, ", ")
	}
	if names := newNames(k.text, k.old); len(names) > 0 {
		return "takes out " + strings.Join(names, ", ")
	}
	return ""
}

// SameFile tells whether one path is the other, or its end.
func SameFile(a, b string) bool { return a != "" && b != "" && sameFile(a, b) }

// edited notes what a call does to one file, where it does not do the same to
// all of its files.
func (c *call) edited(change, file, from string) *FileChange {
	file, from = strings.TrimSpace(file), strings.TrimSpace(from)
	if file == "" || len(file) > 1024 || len(c.edits) >= maxChangedFiles {
		return nil
	}
	for i := range c.edits {
		if e := &c.edits[i]; e.File == file {
			if e.Type != "create" || change == "delete" {
				e.Type = change
			}
			return e
		}
	}
	c.edits = append(c.edits, FileChange{File: file, From: from, Type: change})
	return &c.edits[len(c.edits)-1]
}

// moved notes the files that mv, git mv and cp move or copy.
func (c *call) moved(words []string, change string) {
	var names []string
	for _, w := range words {
		if w = strings.Trim(w, `'"`); !strings.HasPrefix(w, "-") && w != "&" {
			names = append(names, w)
		}
	}
	if len(names) < 2 || len(names) > 2+maxChangedFiles {
		return
	}
	to := names[len(names)-1]
	for _, from := range names[:len(names)-1] {
		if strings.ContainsAny(from+to, "*$<>|{") || !isFile(from, 0, true) {
			continue
		}
		file := to
		if !isFile(to, 0, true) || strings.HasSuffix(to, "/") { // a folder
			file = strings.TrimSuffix(to, "/") + "/" + baseName(from)
		}
		if outside(file) {
			continue
		}
		if change == "rename" {
			c.edited(change, file, from)
		} else {
			c.edited(change, file, "")
		}
	}
}

// outside tells that a path is a place for what is thrown away.
func outside(file string) bool {
	return strings.HasPrefix(file, "/tmp/") || strings.HasPrefix(file, "/dev/") || strings.HasPrefix(file, "/var/tmp/") ||
		strings.HasPrefix(file, ".git/") || strings.Contains(file, "/.git/")
}

// written notes the file that echo, printf, cat or tee write to.
func (c *call) written(segment string) {
	head, tail, piped := cutPipe(segment)
	first := commandWords(head)[0]
	if piped && strings.HasPrefix(strings.TrimSpace(tail), "tee ") {
		words := strings.Fields(tail)
		for _, w := range words[1:] {
			w = strings.Trim(w, `'"`)
			if !strings.HasPrefix(w, "-") && isFile(w, 0, true) && !outside(w) && !strings.ContainsAny(w, "*$") {
				c.edited("modify", w, "")
			}
		}
		return
	}
	if !oneOf(first, "echo", "printf", "cat") {
		return
	}
	words := strings.Fields(cutAtRune(head, maxFieldBytes))
	for i, w := range words {
		file := ""
		switch {
		case (w == ">" || w == ">>") && i+1 < len(words):
			file = words[i+1]
		case strings.HasPrefix(w, ">") && !strings.HasPrefix(w, ">&"):
			file = strings.TrimLeft(w, ">")
		}
		if file = strings.Trim(file, `'"`); isFile(file, 0, true) && !outside(file) && !strings.ContainsAny(file, "*$") {
			c.edited("modify", file, "")
		}
	}
}
