//go:build linux

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// startOn starts a server with options of initialize, if there are any, and keeps
// what it says on standard error.
func startOn(t *testing.T, dataDir, options string, args ...string) (*child, *sharedBuffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return startCommand(t, exec.Command(self, append([]string{"serve", "--data-dir", dataDir}, args...)...), options)
}

func startCommand(t *testing.T, cmd *exec.Cmd, options string) (*child, *sharedBuffer) {
	t.Helper()
	errs := &sharedBuffer{}
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stderr = errs
	client, err := rpc.StartChild(t.Context(), cmd, rpc.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_, _ = client.Wait()
	})
	info := rpc.InitializeParams{ClientName: "test"}
	if options != "" {
		info.Options = json.RawMessage(options)
	}
	if _, err := client.Initialize(t.Context(), info); err != nil {
		t.Fatalf("initialize: %v; %s", err, errs.String())
	}
	return &child{t, client}, errs
}

// say records one exchange.
func (c *child) say(session, text string) wire.ConversationRecordResult {
	c.t.Helper()
	return call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{
		Session: session, Done: true, Turns: []wire.Turn{{Role: "user", Text: text}, {Role: "assistant", Text: "Noted."}},
	})
}

// same opens each URI and expects one workspace of all.
func (c *child) same(uris ...string) string {
	c.t.Helper()
	first := c.openAt(uris[0]).Workspace
	for _, uri := range uris[1:] {
		if got := c.openAt(uri).Workspace; got != first {
			c.t.Errorf("%q is %s, %q is %s", uri, got, uris[0], first)
		}
	}
	return first
}

// TestL3_OneDrive: the forms that clients give one drive are one workspace, and
// paths below it keep their case.
func TestL3_OneDrive(t *testing.T) {
	t.Parallel()
	c, _ := startOn(t, t.TempDir(), "")
	defer c.stop()
	x := c.same("file:///c%3A/x", "file:///C:/x", `c:\x`, "C:/x", "file:///c:/x/", "file:///C%3a/./y/../x", "FILE:///c:/x", "file://localhost/c:/x")
	if upper := c.openAt("file:///c:/X").Workspace; upper == x {
		t.Error("X and x may be two folders")
	}
	if d := c.openAt("file:///d:/x").Workspace; d == x {
		t.Error("another drive")
	}
	c.same("file:///home/dev/my%20project", "file:///home/dev/my project", "/home/dev/my project", "file:///home/dev/%6Dy%20project/")
}

// TestL4_Shares: a share keeps the name of its machine.
func TestL4_Shares(t *testing.T) {
	t.Parallel()
	c, _ := startOn(t, t.TempDir(), "")
	defer c.stop()
	ids := map[string]string{}
	for _, uri := range []string{
		"file://server/share/x", "file://other/share/x", "file:///server/share/x", "file:///share/x", "file://wsl%24/Ubuntu/home/x", "file://wsl.localhost/Ubuntu/home/x",
		`\\?\C:\x`, "file:///c:/x", "file:///c:/NUL", "file:///c:/CON",
	} {
		id := c.openAt(uri).Workspace
		if other, ok := ids[id]; ok {
			t.Errorf("%q and %q are one", uri, other)
		}
		ids[id] = uri
	}
	c.same("file://SERVER/share/x", "file://server/share/x/")
}

// TestL5_TwoPaths: links, linked parents and mounts of one folder are one
// workspace, in one window and in the next.
func TestL5_TwoPaths(t *testing.T) {
	t.Parallel()
	base, data := t.TempDir(), t.TempDir()
	project := filepath.Join(base, "real", "project")
	link, parent, mounted := filepath.Join(base, "link"), filepath.Join(base, "parent"), filepath.Join(base, "mounted")
	for _, err := range []error{
		os.MkdirAll(project, 0o700), os.Symlink(project, link), os.Symlink(filepath.Dir(project), parent), os.Mkdir(mounted, 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	uris := []string{fileURI(link), fileURI(project), fileURI(filepath.Join(parent, "project")), project + "/../project/"}
	if err := syscall.Mount(project, mounted, "", syscall.MS_BIND, ""); err != nil {
		t.Logf("without a mount, which needs more rights: %v", err)
	} else {
		t.Cleanup(func() {
			if err := syscall.Unmount(mounted, 0); err != nil {
				t.Error(err)
			}
		})
		uris = append(uris, fileURI(mounted))
	}
	c, _ := startOn(t, data, "")
	id := c.same(uris...)
	c.stop()
	c, _ = startOn(t, data, "")
	defer c.stop()
	for i := range uris {
		if again := c.openAt(uris[len(uris)-1-i]); again.Workspace != id || again.WorkspaceState != "known" {
			t.Errorf("%s: %+v", uris[len(uris)-1-i], again)
		}
	}
}

// TestL6_Spellings: names that the volume tells apart are two workspaces, and two
// that it takes for one folder are one.
func TestL6_Spellings(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	c, _ := startOn(t, t.TempDir(), "")
	defer c.stop()
	nfc, nfd := filepath.Join(base, "caf\u00e9"), filepath.Join(base, "cafe\u0301")
	lower, upper := filepath.Join(base, "case"), filepath.Join(base, "CASE")
	for _, pair := range [][2]string{{nfc, nfd}, {lower, upper}} {
		for _, dir := range pair {
			if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
				t.Fatal(err)
			}
		}
		one, err := os.Stat(pair[0])
		if err != nil {
			t.Fatal(err)
		}
		two, err := os.Stat(pair[1])
		if err != nil {
			t.Fatal(err)
		}
		if same := c.openAt(fileURI(pair[0])).Workspace == c.openAt(fileURI(pair[1])).Workspace; same != os.SameFile(one, two) {
			t.Errorf("%q, %q: one workspace %v, one folder %v", pair[0], pair[1], same, os.SameFile(one, two))
		}
	}
	// As on a volume that does not tell them apart: one folder, two spellings.
	other := filepath.Join(base, "na\u00efve")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, filepath.Join(base, "nai\u0308ve")); err != nil {
		t.Fatal(err)
	}
	c.same(fileURI(other), fileURI(filepath.Join(base, "nai\u0308ve")))
}

// TestL7_LifeOfAFolder: memory goes with a folder that is renamed, stays when it is
// gone, is not given to another folder of that name, and can be given by adopt,
// through the wire and by the command.
func TestL7_LifeOfAFolder(t *testing.T) {
	t.Parallel()
	base, data := t.TempDir(), t.TempDir()
	a, b := filepath.Join(base, "a"), filepath.Join(base, "b")
	if err := os.Mkdir(a, 0o700); err != nil {
		t.Fatal(err)
	}
	c, _ := startOn(t, data, "")
	first := c.openAt(fileURI(a))
	c.say(first.Session, "The heron stands in the reeds.")
	if first.WorkspaceState != "new" || first.Candidate != nil {
		t.Errorf("first: %+v", first)
	}
	if err := os.Rename(a, b); err != nil {
		t.Fatal(err)
	}
	moved := c.openAt(fileURI(b))
	if moved.Workspace != first.Workspace || moved.WorkspaceState != "moved" || moved.Conversations != 1 {
		t.Errorf("moved: %+v", moved)
	}
	if err := os.Remove(b); err != nil {
		t.Fatal(err)
	}
	c.stop()
	c, _ = startOn(t, data, "")
	gone := c.openAt(fileURI(b))
	if gone.Workspace != first.Workspace || gone.WorkspaceState != "gone" || gone.Conversations != 1 {
		t.Errorf("gone: %+v", gone)
	}
	c.say(gone.Session, "The folder is gone, and this is kept.")
	if err := os.Mkdir(b, 0o700); err != nil {
		t.Fatal(err)
	}
	replaced := c.openAt(fileURI(b))
	if replaced.Workspace == first.Workspace || replaced.WorkspaceState != "replaced" || replaced.Conversations != 0 ||
		replaced.Candidate == nil || replaced.Candidate.Workspace != first.Workspace || replaced.Candidate.URI != fileURI(b) {
		t.Fatalf("replaced: %+v", replaced)
	}
	for _, bad := range []string{"", "..", "../../../etc", strings.Repeat("a", 15), strings.ToUpper(first.Workspace) + "X"} {
		if err := c.Call(t.Context(), wire.MethodWorkspaceAdopt, wire.WorkspaceAdoptParams{Workspace: wire.Workspace{URI: fileURI(b)}, From: bad}, nil); !rpc.IsKind(err, wire.KindInvalidParams) {
			t.Errorf("adopt %q: %v", bad, err)
		}
	}
	adopted := call[wire.WorkspaceAdoptResult](c, wire.MethodWorkspaceAdopt, wire.WorkspaceAdoptParams{Workspace: wire.Workspace{URI: fileURI(b)}, From: first.Workspace})
	if adopted.Workspace != first.Workspace || adopted.Before != replaced.Workspace {
		t.Errorf("adopted: %+v", adopted)
	}
	again := c.openAt(fileURI(b))
	if again.Workspace != first.Workspace || again.WorkspaceState != "known" || again.Candidate != nil || again.Conversations != 2 {
		t.Errorf("again: %+v", again)
	}
	err := c.Call(t.Context(), wire.MethodWorkspaceAdopt, wire.WorkspaceAdoptParams{Workspace: wire.Workspace{URI: "file:///elsewhere"}, From: first.Workspace}, nil)
	if !rpc.IsKind(err, wire.KindInvalidParams) {
		t.Errorf("two folders with one memory: %v", err)
	}
	c.stop()
	// Another disk: nothing is the same but the folder's last name.
	far := filepath.Join(base, "far", "b")
	if err := os.MkdirAll(far, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(b); err != nil {
		t.Fatal(err)
	}
	list := hexapla(t, nil, "adopt", "--data-dir", data)
	if list.code != 0 || !regexp.MustCompile(first.Workspace+`  file://\S+/b +\d{4}-\d\d-\d\d +gone\n`).MatchString(list.out) {
		t.Errorf("list: %+v", list)
	}
	done := hexapla(t, nil, "adopt", first.Workspace, "--workspace", far, "--data-dir", data)
	if done.code != 0 || !strings.Contains(done.out, "has workspace "+first.Workspace+" now") {
		t.Errorf("adopt: %+v", done)
	}
	if found := hexapla(t, nil, "search", "heron reeds", "--workspace", far, "--data-dir", data); found.code != 0 || !strings.Contains(found.out, "heron") {
		t.Errorf("search: %+v", found)
	}
	if verified := hexapla(t, nil, "verify", "--workspace", far, "--data-dir", data); verified.code != 0 {
		t.Errorf("verify: %+v", verified)
	}
	if none := hexapla(t, nil, "adopt", "0123456789abcdef", "--workspace", far, "--data-dir", data); none.code != 1 || !strings.Contains(none.errs, "no workspace") {
		t.Errorf("unknown: %+v", none)
	}
}

// TestL8_NoFolder: what is no folder of this machine is an opaque name.
func TestL8_NoFolder(t *testing.T) {
	t.Parallel()
	c, _ := startOn(t, t.TempDir(), "")
	defer c.stop()
	ids := map[string]string{}
	for _, uri := range []string{
		"untitled:Untitled-1", "vscode-remote://ssh-remote%2Bbox/home/x", "vscode-remote://ssh-remote%2Bother/home/x", "vscode-vfs://github/a/b",
		"vscode-remote://wsl%2Bubuntu" + t.TempDir(), "x", ".", "..", "file:", "file://", "%", "file:///%zz", "\U0001F600", strings.Repeat("u", 4096),
	} {
		opened := c.openAt(uri)
		if other, ok := ids[opened.Workspace]; ok && !(strings.HasPrefix(uri, "file:") && strings.HasPrefix(other, "file:")) {
			t.Errorf("%q and %q are one", uri, other)
		}
		ids[opened.Workspace] = uri
		if again := c.openAt(uri); again.Workspace != opened.Workspace || again.WorkspaceState != "known" {
			t.Errorf("%q again: %+v", uri, again)
		}
	}
	for _, uri := range []string{"", strings.Repeat("u", 4097)} {
		if err := c.Call(t.Context(), wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: uri}}, nil); !rpc.IsKind(err, wire.KindInvalidParams) {
			t.Errorf("%d bytes: %v", len(uri), err)
		}
	}
}

// TestL9_ManyRoots: the folders of a window are a workspace each, in any order.
func TestL9_ManyRoots(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	ids := map[string]string{}
	for _, roots := range [][]string{{"file:///w/a", "file:///w/b", "file:///w"}, {"file:///w", "file:///w/b", "file:///w/a"}} {
		c, _ := startOn(t, data, "")
		for _, uri := range roots {
			id := c.openAt(uri).Workspace
			if known, ok := ids[uri]; ok && known != id {
				t.Errorf("%s was %s, is %s", uri, known, id)
			}
			ids[uri] = id
		}
		c.stop()
	}
	if ids["file:///w/a"] == ids["file:///w/b"] || ids["file:///w"] == ids["file:///w/a"] {
		t.Errorf("%v", ids)
	}
}

// TestY1_NamesAreNoPaths: whatever a URI holds, the store is in a folder that is
// named by 16 hex digits, and nothing is made elsewhere.
func TestY1_NamesAreNoPaths(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	data := filepath.Join(base, "a", "b", "c", "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	c, _ := startOn(t, data, "")
	ids := map[string]string{}
	for _, uri := range []string{
		"file:///ws/../../etc", "file:///ws/%2e%2e/%2e%2e/etc/x", "file:///ws", "file:///ws-evil", "file:///ws%2f..%2f..%2fy", "../../../../up", "..%2f..%2fup", `..\..\up`,
		"file:///" + strings.Repeat("../", 50) + "tmp/rows-up", "/", "//", "a/b", "workspaces/../../up", "file:///ws%0a", "vscode-remote://../../up", "\u202e", "~", "$HOME", "-rf", "file:///ws\x00", "file:///ws%00/x",
	} {
		opened := c.openAt(uri)
		c.say(opened.Session, "x")
		if !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(opened.Workspace) {
			t.Errorf("%q: id %q", uri, opened.Workspace)
		}
		if other, ok := ids[opened.Workspace]; ok && !(uri == "//" || other == "/") {
			t.Errorf("%q and %q are one", uri, other)
		}
		ids[opened.Workspace] = uri
	}
	for _, bad := range []string{"../x", "a/../b", "..", "s\x00", "a/b"} {
		if err := c.Call(t.Context(), wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: "file:///ws"}, Session: bad}, nil); bad != ".." && !rpc.IsKind(err, wire.KindInvalidParams) {
			t.Errorf("session %q: %v", bad, err)
		}
	}
	for _, sha := range []string{"../../../workspaces.json", "..", strings.Repeat("../", 21) + "x", "AB", strings.Repeat("g", 64)} {
		session := c.openAt("file:///ws").Session
		if err := c.Call(t.Context(), wire.MethodBlobRead, wire.BlobReadParams{Session: session, SHA256: sha}, nil); !rpc.IsKind(err, wire.KindNotFound) && !rpc.IsKind(err, wire.KindInvalidParams) {
			t.Errorf("blob %q: %v", sha, err)
		}
	}
	c.stop()
	entries, err := os.ReadDir(filepath.Join(data, "workspaces"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() || !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(e.Name()) {
			t.Errorf("in the folder of stores: %s", e.Name())
		}
	}
	for dir := filepath.Dir(data); len(dir) >= len(base); dir = filepath.Dir(dir) {
		if found, err := os.ReadDir(dir); err != nil || len(found) != 1 {
			t.Errorf("in %s: %v, %v", dir, found, err)
		}
	}
}
