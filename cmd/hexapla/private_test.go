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

// plantedWord are words that stand in parameters and must not come back in errors or
// logs.
const plantedWord = "plantedsecretword"

// plantWords fills a type of the wire with plantedWord words.
func plantWords(typ reflect.Type, session string, depth int) any {
	switch typ.Kind() {
	case reflect.Pointer:
		return plantWords(typ.Elem(), session, depth)
	case reflect.String:
		return plantedWord
	case reflect.Slice:
		if typ == reflect.TypeFor[json.RawMessage]() {
			return plantedWord
		}
		return []any{plantWords(typ.Elem(), session, depth+1)}
	case reflect.Map:
		return map[string]any{plantedWord: plantWords(typ.Elem(), session, depth+1)}
	case reflect.Struct:
		fields := map[string]any{}
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if depth > 6 {
				continue
			}
			value := plantWords(f.Type, session, depth+1)
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
		return map[string]any{plantedWord: plantedWord}
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
	opened := c.openAt("file:///" + plantedWord)
	c.say(opened.Session, "The word is "+plantedWord+".")
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
		if all := remote.Message + string(data); strings.Contains(all, plantedWord) || strings.Contains(all, "plantedpath") || strings.Contains(all, base) {
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
		whole := plantWords(m.Params, opened.Session, 0).(map[string]any)
		try(m.Name, whole)
		try(m.Name, plantWords(m.Params, plantedWord, 0))
		for name := range whole { // one at fault at a time
			for _, bad := range []any{plantedWord, []any{plantedWord}, map[string]any{plantedWord: plantedWord}, -1, 1e300, true, nil} {
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
	try("hexapla/"+plantedWord, map[string]any{"a": plantedWord})
	c.stop()
	// A store that is harmed has much to say.
	id := workspaceOf(t, data, "file:///"+plantedWord)
	store := filepath.Join(data, "workspaces", id, "store.db")
	raw, err := os.ReadFile(store)
	if err != nil {
		t.Fatal(err)
	}
	for _, harm := range [][]byte{nil, raw[:len(raw)/2], bytes.Repeat([]byte(plantedWord), len(raw)/len(plantedWord))} {
		if err := os.WriteFile(store, harm, 0o600); err != nil {
			t.Fatal(err)
		}
		c2, more := startOn(t, data, "")
		c = c2
		try(wire.MethodSessionOpen, map[string]any{"workspace": map[string]any{"uri": "file:///" + plantedWord}})
		c2.stop()
		if text := more.String(); strings.Contains(text, plantedWord) || strings.Contains(text, base) {
			t.Errorf("a harmed store: %s", text)
		}
	}
	if text := errs.String(); strings.Contains(text, plantedWord) || strings.Contains(text, base) {
		t.Errorf("standard error: %s", text)
	}
	if failed < 500 {
		t.Errorf("%d calls failed: the test does not provoke enough", failed)
	}
}
