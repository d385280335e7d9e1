package session

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"

	"hexapla/layers"
	"hexapla/layers/answer"
	"hexapla/layers/digest"
	"hexapla/layers/excerpt"
	"hexapla/layers/history"
	"hexapla/layers/iceberg"
	"hexapla/layers/outline"
	"hexapla/layers/scrub"
)

// This file is the one place that opens files of a workspace's folder: those that
// messages refer to, for reading, through os.Root, so that no name and no link
// leads out of the folder. What is read is scrubbed as at the door and is stored
// nowhere.

// Bounds of files.
const (
	maxReferring      = 50        // messages, the newest, that are looked through for references
	maxFileReferences = 64        // files that are looked at
	maxShownFiles     = 20        // files
	maxFullFile       = 256 << 10 // bytes of a file that is shown in full
	maxFile           = 2 << 20   // bytes of a file that is read
	binaryProbe       = 8 << 10   // bytes that are looked through for a NUL
	excerptTokens     = 120       // of a file that has no outline
	excerptNames      = 25        // percent of those, for names in what is left out
)

// Reasons why a file is not shown, or not in full.
const (
	FileMissing    = "missing"
	FileOutside    = "outside"    // of the workspace's folder
	FileNotRegular = "notRegular" // a folder, a device, a pipe
	FileBinary     = "binary"
	FileTooLarge   = "tooLarge"
	FileDenied     = "denied" // it cannot be read
	FileNotAllowed = "notAllowed"
	FileTooMany    = "tooMany"
)

// detailOutline is the detail of a file of which only the outline is shown.
const detailOutline = "outline"

// references are the files that messages refer to, the newest first: those that the
// user or the model names, and those that calls are about.
func (b *tierBuild) references(of history.Outcome) (names []string) {
	seen := map[string]bool{}
	add := func(list []string) {
		for _, name := range list {
			marked := strings.HasPrefix(name, "@/") || strings.HasPrefix(name, "@.") // and found without the mark
			if !marked && !seen[name] && len(names) < maxFileReferences {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	for n, i := range slices.Backward(of.Kept) {
		if len(of.Kept)-n > maxReferring && b.list.Messages[i].Role != history.RoleUser {
			continue
		}
		l, _, err := answer.ReadListed(b.req.Messages[i])
		if err != nil || l.System {
			continue
		}
		add(mentioned(l.Turn.Text))
		add(digest.EntitiesOf(l.Turn.Text).Files)
		for _, call := range l.Turn.Calls {
			add(digest.CallFiles(call))
		}
		if len(names) >= maxFileReferences {
			break
		}
	}
	return names
}

// mentioned are names that a text marks with an at sign, as clients let users refer
// to files.
func mentioned(text string) (names []string) {
	for _, word := range strings.Fields(text) {
		if name, ok := strings.CutPrefix(word, "@"); ok {
			if name = strings.TrimRight(strings.TrimLeft(name, "\"'`(["), "\"'`.,;:!?)]"); strings.ContainsAny(name, "./") {
				names = append(names, name)
			}
		}
	}
	return names
}

// files is tier 3: the files that the messages refer to that stay.
func (b *tierBuild) files(ctx context.Context, stays history.Outcome, mode iceberg.FileMode) {
	names := b.references(stays)
	if len(names) == 0 {
		return
	}
	folder := b.s.root()
	root, err := os.OpenRoot(folder)
	if folder == "" || err != nil {
		b.reply.warn(WarnNoFolder, "", "the workspace's folder cannot be read, so no file is shown")
		return
	}
	defer root.Close()
	tier := b.reply.tierOf(iceberg.Files)
	shown := map[string]bool{}
	for _, name := range names {
		if ctx.Err() != nil {
			return
		}
		inside, ok := insideOf(folder, name)
		switch {
		case !ok:
			tier.put(TierPart{ID: name, Detail: layers.FormNone, Reason: FileOutside})
			continue
		case shown[inside]:
			continue
		case len(shown) >= maxShownFiles:
			tier.put(TierPart{ID: inside, Detail: layers.FormNone, Reason: FileTooMany})
			continue
		}
		part, form := b.file(root, inside, mode)
		if part.Detail != layers.FormNone {
			shown[inside] = true
			b.room -= form.Tokens
			b.fileForms = append(b.fileForms, form)
		}
		tier.put(part)
	}
}

// root is the path of the folder that the session was opened for.
func (s *Session) root() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.folder
}

// insideOf is the path of a file below a folder, with slashes; false where it leads
// out, or into what version control keeps.
func insideOf(folder, name string) (string, bool) {
	name = strings.ReplaceAll(strings.TrimPrefix(name, "file://"), `\`, "/")
	if strings.ContainsRune(name, 0) || strings.HasPrefix(name, "~") {
		return "", false
	}
	base := strings.TrimSuffix(filepath.ToSlash(folder), "/")
	if rest, ok := strings.CutPrefix(path.Clean(name), base+"/"); ok {
		name = rest
	}
	name = path.Clean(name)
	first, _, _ := strings.Cut(name, "/")
	if !filepath.IsLocal(filepath.FromSlash(name)) || name == "." || first == ".git" {
		return "", false
	}
	return name, true
}

// file shows a file, in full or its outline, as far as there is room.
func (b *tierBuild) file(root *os.Root, name string, mode iceberg.FileMode) (TierPart, layers.Form) {
	none := func(reason string, tokens int) (TierPart, layers.Form) {
		return TierPart{ID: name, Detail: layers.FormNone, Tokens: tokens, Reason: reason}, layers.Form{}
	}
	if naming := b.p.ws.naming; naming.byPath && !naming.path(name) {
		return none(FileNotAllowed, 0)
	}
	data, reason := readInside(root, name)
	if reason != "" {
		return none(reason, 0)
	}
	part := TierPart{ID: name}
	var form layers.Form
	if mode == iceberg.FilesFull && len(data) <= maxFullFile {
		form = b.fileForm(name, data, layers.FormFull)
	}
	switch {
	case mode == iceberg.FilesOutline:
		part.Reason = reasonRule
	case form.Detail == "":
		part.Reason = FileTooLarge
	case form.Tokens > b.room:
		part.Reason = layers.DropBudget
	}
	if part.Reason != "" {
		form = b.fileForm(name, data, detailOutline)
	}
	if form.Tokens > b.room {
		return none(layers.DropBudget, form.Tokens)
	}
	part.Detail, part.Tokens = form.Detail, form.Tokens
	return part, form
}

// readInside reads a file below a folder, or says why not.
func readInside(root *os.Root, name string) (data []byte, reason string) {
	info, err := root.Stat(name)
	if err == nil && !info.Mode().IsRegular() { // before it is opened, which does something to a device
		return nil, FileNotRegular
	}
	var f *os.File
	if err == nil {
		f, err = root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	}
	if err != nil {
		return nil, unreadable(err)
	}
	defer f.Close()
	info, err = f.Stat()
	switch {
	case err != nil:
		return nil, unreadable(err)
	case !info.Mode().IsRegular(): // another one took its place
		return nil, FileNotRegular
	case info.Size() > maxFile:
		return nil, FileTooLarge
	}
	data, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, unreadable(err)
	case len(data) > maxFile:
		return nil, FileTooLarge
	case bytes.IndexByte(data[:min(len(data), binaryProbe)], 0) >= 0, !mostlyText(data):
		return nil, FileBinary
	}
	return data, ""
}

func unreadable(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return FileMissing
	case errors.Is(err, fs.ErrPermission):
		return FileDenied
	}
	var at *fs.PathError
	if errors.As(err, &at) && strings.Contains(at.Err.Error(), "escapes") {
		return FileOutside
	}
	return FileDenied
}

// mostlyText tells that at most one byte in a hundred is no UTF-8.
func mostlyText(data []byte) bool {
	bad := 0
	for rest := data[:min(len(data), binaryProbe)]; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 {
			bad++
		}
		rest = rest[size:]
	}
	return bad*100 <= min(len(data), binaryProbe)
}

// fileKey is what the form of a file follows from.
type fileKey struct {
	sum           [sha256.Size]byte
	name, counter string
	detail        string
	rules         *scrub.Rules
}

// maxFileCache bounds the bytes of files that a workspace keeps.
const maxFileCache = 8 << 20

// fileCache keeps forms of files. The zero value is ready.
type fileCache struct {
	mu    sync.Mutex
	forms map[fileKey]layers.Form
	bytes int
}

func (c *fileCache) get(key fileKey) (layers.Form, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	form, ok := c.forms[key]
	return form, ok
}

// put keeps a form. A full cache is emptied.
func (c *fileCache) put(key fileKey, form layers.Form) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bytes += len(form.Text); c.forms == nil || c.bytes > maxFileCache {
		c.forms, c.bytes = map[fileKey]layers.Form{}, len(form.Text)
	}
	c.forms[key] = form
}

// fileForm is a file as it stands in the context message. Forms are kept, since
// files are referred to again and again and change seldom.
func (b *tierBuild) fileForm(name string, data []byte, detail string) layers.Form {
	ws := b.p.ws
	key := fileKey{sha256.Sum256(data), name, b.list.counter.Name(), detail, b.s.service.rules()}
	if form, ok := ws.fileForms.get(key); ok {
		return form
	}
	scrubber := b.s.service.scrubberFor(ws)
	text, _ := scrubber.Scrub(asText(string(data)))
	heading := "# File: " + oneLine(name)
	if detail == detailOutline {
		heading = "# Outline of file: " + oneLine(name)
		short, ok := outline.Of(name, text)
		if !ok {
			short = excerpt.Cut(text, excerptTokens, excerptNames, b.list.counter)
		}
		text = short
	}
	heading, _ = scrubber.Scrub(heading)
	form := b.p.form(detail, block(ws.fence.Heading(ws.fence.Clean(heading)+" (tool)"), ws.fence.Clean(text)))
	ws.fileForms.put(key, form)
	return form
}
