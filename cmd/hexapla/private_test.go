//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hexapla/rpc"
	"hexapla/rpc/wire"
	"hexapla/session"
)

// workspaceOf is the id of a folder's workspace.
func workspaceOf(t *testing.T, dataDir, uri string) string {
	t.Helper()
	id, err := session.LookupWorkspace(dataDir, uri)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// open modes are those that let others in.
func openModes(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			found = append(found, fmt.Sprintf("%s %v", strings.TrimPrefix(path, dir), info.Mode()))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestY3_NobodyElse: whatever the umask is, and whatever rights folders had before,
// nobody else has rights to anything in the data folder after a start, the index
// and the logs of the daemon included.
func TestY3_NobodyElse(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for round, mode := range []string{"on", "off", "on"} {
		if round > 0 { // everything is open to all
			err := filepath.WalkDir(p.data, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.Type()&fs.ModeType&^fs.ModeDir != 0 {
					return err
				}
				if strings.Contains(path, "/blobs/") {
					return nil // below a folder that is narrowed
				}
				return os.Chmod(path, 0o755)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("sh", "-c", `umask 000; exec "$0" "$@"`, self, "serve", "--daemon", mode, "--data-dir", p.data)
		cmd.Env = append(os.Environ(), p.env...)
		c := startShell(t, cmd, p.env)
		opened := c.openAt("file:///rights")
		c.say(opened.Session, strings.Repeat("the rights of others ", 20))
		call[wire.ToolRecordResult](c, wire.MethodToolRecord, wire.ToolRecordParams{Session: opened.Session, Tool: "Bash", Content: strings.Repeat(fmt.Sprintf("line %d\n", round), 2000)})
		c.awaitIndex(opened.Session)
		c.stop()
		if mode == "on" {
			p.end()
		}
		if wide := openModes(t, p.data); len(wide) > 0 {
			t.Errorf("round %d: %v", round, wide)
		}
	}
}

// startShell starts a server through another program.
func startShell(t *testing.T, cmd *exec.Cmd, env []string) *child {
	t.Helper()
	c, _ := startCommandIn(t, cmd, env)
	return c
}

func startCommandIn(t *testing.T, cmd *exec.Cmd, env []string) (*child, *sharedBuffer) {
	t.Helper()
	errs := &sharedBuffer{}
	cmd.Env = append(append(os.Environ(), asProgram+"=1"), env...)
	cmd.Stderr = errs
	client, err := rpc.StartChild(t.Context(), cmd, rpc.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_, _ = client.Wait()
	})
	if _, err := client.Initialize(t.Context(), rpc.InitializeParams{ClientName: "test"}); err != nil {
		t.Fatalf("initialize: %v; %s", err, errs.String())
	}
	return &child{t, client}, errs
}

// TestY3_OtherUser: a data folder of another user is not used.
func TestY3_OtherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("giving a folder away needs root")
	}
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"serve"}, {"serve", "--daemon=off"}, {"daemon"}, {"search", "x"}} {
		o := hexapla(t, nil, append(args, "--data-dir", dir, "--workspace", "/x")[:len(args)+2]...)
		if o.code != 1 || !strings.Contains(o.errs, "belongs to another user") {
			t.Errorf("%v: %+v", args, o)
		}
	}
}

// planted are words that stand in parameters and must not come back in errors or
// logs.
const planted = "plantedsecretword"

// plant fills a type of the wire with planted words.
func plant(typ reflect.Type, session string, depth int) any {
	switch typ.Kind() {
	case reflect.Pointer:
		return plant(typ.Elem(), session, depth)
	case reflect.String:
		return planted
	case reflect.Slice:
		if typ == reflect.TypeFor[json.RawMessage]() {
			return planted
		}
		return []any{plant(typ.Elem(), session, depth+1)}
	case reflect.Map:
		return map[string]any{planted: plant(typ.Elem(), session, depth+1)}
	case reflect.Struct:
		fields := map[string]any{}
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if depth > 6 {
				continue
			}
			value := plant(f.Type, session, depth+1)
			if enum := f.Tag.Get("enum"); enum != "" && f.Type.Kind() == reflect.String {
				value, _, _ = strings.Cut(enum, ",")
			}
			if name == "session" {
				value = session
			}
			fields[name] = value
		}
		return fields
	case reflect.Bool:
		return true
	case reflect.Interface:
		return map[string]any{planted: planted}
	}
	return 1
}

// TestY14_NothingIsTold: no error, no log and no crash report has anything of what
// was sent, or a path, whichever method fails and however.
func TestY14_NothingIsTold(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	data := filepath.Join(base, "plantedpath")
	c, errs := startOn(t, data, "")
	opened := c.openAt("file:///" + planted)
	c.say(opened.Session, "The word is "+planted+".")
	failed, told := 0, 0
	try := func(method string, params any) {
		t.Helper()
		var raw json.RawMessage
		err := c.Call(t.Context(), method, params, &raw)
		if err == nil {
			return
		}
		failed++
		var remote *rpc.Error
		if !asRemote(err, &remote) {
			t.Fatalf("%s: %v", method, err)
		}
		data, _ := json.Marshal(remote.Data)
		if all := remote.Message + string(data); strings.Contains(all, planted) || strings.Contains(all, "plantedpath") || strings.Contains(all, base) {
			told++
			t.Errorf("%s tells: %s", method, all)
		}
		if remote.Kind() == wire.KindInternal {
			t.Errorf("%s: %v", method, remote)
		}
	}
	for _, m := range wire.Methods() {
		if m.Direction != wire.ClientToServer || m.Name == wire.MethodWorkspaceErase || m.Name == wire.MethodConversationForget {
			continue
		}
		whole := plant(m.Params, opened.Session, 0).(map[string]any)
		try(m.Name, whole)
		try(m.Name, plant(m.Params, planted, 0))
		for name := range whole { // one at fault at a time
			for _, bad := range []any{planted, []any{planted}, map[string]any{planted: planted}, -1, 1e300, true, nil} {
				params := map[string]any{"session": opened.Session, name: bad}
				try(m.Name, params)
				with := map[string]any{}
				for k, v := range whole {
					with[k] = v
				}
				with[name] = bad
				try(m.Name, with)
			}
		}
	}
	try("hexapla/"+planted, map[string]any{"a": planted})
	c.stop()
	// A store that is harmed has much to say.
	id := workspaceOf(t, data, "file:///"+planted)
	store := filepath.Join(data, "workspaces", id, "store.db")
	raw, err := os.ReadFile(store)
	if err != nil {
		t.Fatal(err)
	}
	for _, harm := range [][]byte{nil, raw[:len(raw)/2], bytes.Repeat([]byte(planted), len(raw)/len(planted))} {
		if err := os.WriteFile(store, harm, 0o600); err != nil {
			t.Fatal(err)
		}
		c2, more := startOn(t, data, "")
		c = c2
		try(wire.MethodSessionOpen, map[string]any{"workspace": map[string]any{"uri": "file:///" + planted}})
		c2.stop()
		if text := more.String(); strings.Contains(text, planted) || strings.Contains(text, base) {
			t.Errorf("a harmed store: %s", text)
		}
	}
	if text := errs.String(); strings.Contains(text, planted) || strings.Contains(text, base) {
		t.Errorf("standard error: %s", text)
	}
	if failed < 500 {
		t.Errorf("%d calls failed: the test does not provoke enough", failed)
	}
}

// TestY15_NoSettingsInTheRepository: a workspace is looked at with stat and nothing
// in it is opened, so no file that is checked in can change what the server does.
func TestY15_NoSettingsInTheRepository(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal("this test needs strace: ", err)
	}
	base := t.TempDir()
	project, data, elsewhere := filepath.Join(base, "project"), filepath.Join(base, "data"), filepath.Join(base, "elsewhere")
	settings := fmt.Sprintf(`{"dataDir":%[1]q,"data-dir":%[1]q,"command":["touch",%[1]q],"redaction":false,"policy":{"summaries":1},"storage":{"maxBytes":1}}`, elsewhere)
	for _, name := range []string{".hexapla.json", "hexapla.json", ".hexapla/config.json", ".hexapla/hexapla.json", "hexapla.toml", ".env", ".vscode/settings.json", ".config/hexapla/config.json", "policy.json"} {
		path := filepath.Join(project, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(settings), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(base, "trace")
	cmd := exec.Command(strace, "-f", "-qq", "-s", "4096", "-o", trace, "-e", "trace=%file", self, "serve", "--data-dir", data)
	cmd.Dir = project
	c, _ := startCommandIn(t, cmd, nil)
	opened := c.openAt(fileURI(project))
	c.say(opened.Session, "Which settings are in force?")
	c.stop()
	raw, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for line := range strings.Lines(string(raw)) {
		if !strings.Contains(line, `"`+project) {
			continue
		}
		call := regexp.MustCompile(`^\d+ +(\w+)\(`).FindStringSubmatch(line)
		if call != nil && slices.Contains([]string{"statx", "stat", "newfstatat", "lstat", "getcwd", "readlink", "readlinkat"}, call[1]) && strings.Contains(line, `"`+project+`"`) {
			looked++
			continue
		}
		t.Errorf("it does more than look at the folder: %s", line)
	}
	if looked == 0 {
		t.Error("the trace does not show that the folder was looked at")
	}
	if _, err := os.Stat(elsewhere); !os.IsNotExist(err) {
		t.Errorf("the settings were obeyed: %v", err)
	}
}

// TestY16_DataFolderInARepository: it is refused, and if it is forced nothing of it
// gets into the repository. The same goes for folders that are synchronised (S17).
func TestY16_DataFolderInARepository(t *testing.T) {
	t.Parallel()
	for _, mark := range []string{".git", ".hg", ".jj", ".svn"} {
		repository := t.TempDir()
		if err := os.Mkdir(filepath.Join(repository, mark), 0o700); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(repository, link); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{filepath.Join(repository, "deep", "down"), filepath.Join(link, "data"), repository} {
			for _, args := range [][]string{{"serve"}, {"serve", "--daemon=off"}, {"daemon"}, {"search", "x"}, {"restore"}} {
				o := hexapla(t, map[string]string{"PWD": repository}, append(args, "--data-dir", dir)...)
				if o.code != 1 || !strings.Contains(o.errs, "lies in a repository") || !strings.Contains(o.errs, "--force-data-dir") {
					t.Errorf("%s: %v: %+v", mark, args, o)
				}
			}
		}
	}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal("this test needs git: ", err)
	}
	repository := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(git, append([]string{"-C", repository}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	run("init", "-q")
	c, _ := startOn(t, filepath.Join(repository, "data"), "", "--force-data-dir")
	c.say(c.openAt("file:///forced").Session, "something")
	c.stop()
	if status := run("status", "--porcelain", "--untracked-files=all"); status != "" {
		t.Errorf("git sees %s", status)
	}
}

// TestS17_UnfitFileSystems: a synchronised folder is refused unless it is forced,
// and network file systems are known by their numbers.
func TestS17_UnfitFileSystems(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	for _, name := range []string{"Dropbox/hexapla", "OneDrive/x/y", "OneDrive - Work/x", "Library/Mobile Documents/x", "Library/CloudStorage/x", "Nextcloud"} {
		dir := filepath.Join(base, name)
		o := hexapla(t, nil, "serve", "--daemon=off", "--data-dir", dir)
		if o.code != 1 || !strings.Contains(o.errs, "synchronises") {
			t.Errorf("%s: %+v", name, o)
		}
	}
	marked := filepath.Join(base, "shared")
	if err := os.MkdirAll(filepath.Join(marked, ".stfolder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if o := hexapla(t, nil, "daemon", "--data-dir", filepath.Join(marked, "data")); o.code != 1 || !strings.Contains(o.errs, "Syncthing") {
		t.Errorf("%+v", o)
	}
	c, _ := startOn(t, filepath.Join(base, "Dropbox", "hexapla"), "", "--force-data-dir")
	c.say(c.openAt("file:///forced").Session, "something")
	c.stop()
	for magic, kind := range map[int64]string{0x6969: "NFS", 0xFF534D42: "SMB", 0xFE534D42: "SMB", 0x517B: "SMB", 0x01021997: "9P", 0x00C36400: "Ceph", 0xEF53: "", 0x01021994: "", 0x9123683E: "", 0x65735546: ""} {
		if got := networkKind(magic); got != kind {
			t.Errorf("%x: %q, want %q", magic, got, kind)
		}
		if got := networkKind(int64(int32(uint32(magic)))); got != kind { // as 32-bit systems give it
			t.Errorf("%x with a sign: %q, want %q", magic, got, kind)
		}
	}
	if kind := networkOf(base); kind != "" {
		t.Errorf("the folder for temporary files lies on %s", kind)
	}
}

// TestR4_MemoryOfTheGroup: the limit of the control group is found in both layouts,
// the least of those above.
func TestR4_MemoryOfTheGroup(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, self string
		files      map[string]string
		want       int64
	}{
		{"none", "0::/\n", nil, 0},
		{"second version", "0::/user/app\n", map[string]string{"user/app/memory.max": "134217728\n", "user/memory.max": "max\n"}, 128 << 20},
		{"the one above is less", "0::/user/app\n", map[string]string{"user/app/memory.max": "268435456\n", "user/memory.max": "134217728\n"}, 128 << 20},
		{"in a container", "0::/\n", map[string]string{"memory.max": "134217728\n"}, 128 << 20},
		{"first version", "5:cpu:/a\n4:memory:/a\n", map[string]string{"memory/a/memory.limit_in_bytes": "134217728\n", "memory/memory.limit_in_bytes": "9223372036854771712\n"}, 128 << 20},
		{"first version, none", "4:memory:/\n", map[string]string{"memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
		{"nonsense", "4:memory\n:::\n\n0::/x\n", map[string]string{"x/memory.max": "-5\n"}, 0},
	} {
		mount := t.TempDir()
		for name, text := range row.files {
			path := filepath.Join(mount, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		self := filepath.Join(mount, "self")
		if err := os.WriteFile(self, []byte(row.self), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := memoryLimitUnder(mount, self); got != row.want {
			t.Errorf("%s: %d, want %d", row.name, got, row.want)
		}
	}
}

// TestR3_FewFiles: a process that may open few files refuses another workspace and
// serves those that it has; when one is let go of, there is room again.
func TestR3_FewFiles(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `ulimit -n 96; exec "$0" "$@"`, self, "serve", "--data-dir", t.TempDir())
	c, errs := startCommandIn(t, cmd, nil)
	var sessions []string
	for n := 0; ; n++ {
		var opened wire.SessionOpenResult
		err := c.Call(t.Context(), wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: fmt.Sprintf("file:///few/%d", n)}}, &opened)
		if rpc.IsKind(err, wire.KindResourceLimit) {
			break
		}
		if err != nil || n > 60 {
			t.Fatalf("workspace %d: %v; %s", n, err, errs.String())
		}
		sessions = append(sessions, opened.Session)
	}
	if len(sessions) < 2 {
		t.Errorf("%d workspaces fit", len(sessions))
	}
	for n, s := range sessions {
		c.say(s, fmt.Sprintf("still here %d", n))
		call[wire.ToolRecordResult](c, wire.MethodToolRecord, wire.ToolRecordParams{Session: s, Tool: "Bash", Content: strings.Repeat(fmt.Sprintf("line %d\n", n), 2000)})
		if found := call[wire.SearchQueryResult](c, wire.MethodSearchQuery, wire.SearchQueryParams{Session: s, Query: "still here"}); len(found.Hits) != 1 {
			t.Errorf("workspace %d: %+v", n, found)
		}
	}
	for n := range len(sessions) - 1 {
		call[wire.WorkspaceEraseResult](c, wire.MethodWorkspaceErase, wire.WorkspaceEraseParams{Workspace: wire.Workspace{URI: fmt.Sprintf("file:///few/%d", n)}, Confirm: true})
	}
	c.openAt("file:///few/again")
	c.stop()
}

// TestR5_Quota: a workspace that has used up what it may says so, with what to do,
// for writes that add; reading, exporting and forgetting go on, and after
// forgetting there is room again. A write that was taken keeps its answer.
func TestR5_Quota(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	c, _ := startOn(t, data, `{"storage":{"maxBytes":2097152}}`)
	opened := c.openAt("file:///quota")
	record := func(n int) error {
		return c.Call(t.Context(), wire.MethodConversationRecord, wire.ConversationRecordParams{
			Session: opened.Session, Key: fmt.Sprint("k", n), Done: true, Turns: []wire.Turn{
				{Role: "user", Text: fmt.Sprintf("Run it again, number %d.", n)},
				{Role: "assistant", Text: "I run it.", ToolCalls: []wire.ToolCall{{ID: "t", Name: "Bash", Input: map[string]any{"command": "go test"}}}},
				{Role: "tool", ToolResults: []wire.ToolResult{{CallID: "t", Content: strings.Repeat(fmt.Sprintf("line of %d\n", n), 10000)}}},
				{Role: "assistant", Text: "Done."},
			}}, nil)
	}
	n := 0
	for ; ; n++ {
		err := record(n)
		if rpc.IsKind(err, wire.KindQuota) {
			var remote *rpc.Error
			if asRemote(err, &remote); remote.Data.Committed != wire.CommittedNo || !strings.Contains(remote.Message, "storage.maxBytes") {
				t.Errorf("%+v", remote)
			}
			break
		}
		if err != nil || n > 200 {
			t.Fatalf("record %d: %v", n, err)
		}
	}
	if err := record(n - 1); err != nil { // it was taken
		t.Errorf("sent again: %v", err)
	}
	s := opened.Session
	for method, params := range map[string]any{
		wire.MethodPinAdd:     wire.PinAddParams{Session: s, Text: "no room"},
		wire.MethodToolRecord: wire.ToolRecordParams{Session: s, Tool: "Bash", Content: strings.Repeat("another\n", 3000)},
	} {
		if err := c.Call(t.Context(), method, params, nil); !rpc.IsKind(err, wire.KindQuota) {
			t.Errorf("%s: %v", method, err)
		}
	}
	call[wire.PackBuildResult](c, wire.MethodPackBuild, wire.PackBuildParams{Session: s, Budget: wire.Budget{Total: 4000}})
	if got := call[wire.ConversationGetResult](c, wire.MethodConversationGet, wire.ConversationGetParams{Session: s, Conversation: "c1"}); len(got.Turns) != 4 {
		t.Errorf("%d turns", len(got.Turns))
	}
	call[wire.SearchQueryResult](c, wire.MethodSearchQuery, wire.SearchQueryParams{Session: s, Query: "number 0"})
	c.openAt("file:///quota")
	c.say(c.openAt("file:///other").Session, "another workspace has room")
	for i := range 3 {
		call[wire.ConversationForgetResult](c, wire.MethodConversationForget, wire.ConversationForgetParams{Session: s, Conversation: fmt.Sprint("c", i+1)})
	}
	if err := record(n); err != nil {
		t.Errorf("after forgetting: %v", err)
	}
	c.stop()
	out := filepath.Join(t.TempDir(), "out.jsonl")
	if o := hexapla(t, nil, "export", "--workspace", "file:///quota", "--data-dir", data, "--output", out); o.code != 0 {
		t.Errorf("export: %+v", o)
	}
	for text, path := range map[string]string{
		`{"storage":{"maxBytes":5}}`: "initializationOptions.storage.maxBytes", `{"storage":{"maxBytes":-1}}`: "initializationOptions.storage.maxBytes",
		`{"storage":{"maxBytes":9000000000000000000}}`: "initializationOptions.storage.maxBytes", `{"storage":{"most":5}}`: "initializationOptions.storage", `{"storage":7}`: "initializationOptions.storage",
	} {
		server := startRaw(t)
		reply := server.call(1, "initialize", json.RawMessage(`{"initializationOptions":`+text+`}`))
		if reply.Error == nil || !strings.Contains(string(reply.Error.Data), `"`+path+`"`) {
			t.Errorf("%s: %+v", text, reply.Error)
		}
	}
}

