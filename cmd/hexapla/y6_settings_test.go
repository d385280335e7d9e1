package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hexapla/rpc/wire"
)

// TestY6_SettingsOverTheWire: what initialize says of secrets holds, and what it
// says wrong is named by its path and limit, without its value.
func TestY6_SettingsOverTheWire(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		options, path string
		limit         int64
	}{
		{`{"secrets":{"rules":[{"id":"x","regex":"(","keywords":["abc"]}]}}`, "initializationOptions.secrets.rules[0].regex", 0},
		{`{"secrets":{"known":["hunter22","abc"]}}`, "initializationOptions.secrets.known[1]", 4096},
		{`{"secrets":{"hunter22":true}}`, "initializationOptions.secrets", 0},
	} {
		s := startRaw(t)
		reply := s.call(1, "initialize", json.RawMessage(`{"capabilities":{},"initializationOptions":`+c.options+`}`))
		if reply.Error == nil {
			t.Errorf("%s is taken", c.options)
			continue
		}
		var data wire.ErrorData
		if err := json.Unmarshal(reply.Error.Data, &data); err != nil || data.Kind != wire.KindInvalidParams || data.Path != c.path || data.Limit != c.limit {
			t.Errorf("%s: %s", c.options, reply.Error.Data)
		}
		if strings.Contains(reply.Error.Message+string(reply.Error.Data), "hunter22") {
			t.Errorf("the error repeats a value: %s", reply.Error.Message)
		}
	}
	s := startRaw(t)
	initialized := s.call(1, "initialize", json.RawMessage(`{"capabilities":{},"initializationOptions":{"secrets":{"known":["Project Bluebird"],"pii":{"mails":true}}}}`))
	if initialized.Error != nil {
		t.Fatal(initialized.Error)
	}
	s.notify("initialized", json.RawMessage("{}"))
	s.call(2, wire.MethodSessionOpen, json.RawMessage(`{"workspace":{"uri":"file:///w"},"session":"s","title":"Project Bluebird"}`))
	added := s.call(3, wire.MethodPinAdd, json.RawMessage(`{"session":"s","text":"Project Bluebird is led by jane@example.org"}`))
	var result wire.PinAddResult
	if err := json.Unmarshal(added.Result, &result); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(result.Pin.Text, "Bluebird") || strings.Contains(result.Pin.Text, "jane") || result.Scrubbed["known"] != 1 || result.Scrubbed["mail"] != 1 {
		t.Errorf("%s", added.Result)
	}
	if listed := s.call(4, wire.MethodSessionList, json.RawMessage(`{"session":"s"}`)); bytes.Contains(listed.Result, []byte("Bluebird")) {
		t.Errorf("%s", listed.Result)
	}
}

// TestY6_SecretsScan: the command tells where secrets stand, in files and in what
// was recorded, ends with 1 if there are any, and prints none.
func TestY6_SecretsScan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := plant("scan")
	file := filepath.Join(dir, "app.env")
	if err := os.WriteFile(file, []byte("A=1\nGH="+secret.token+"\nDB_PASSWORD="+secret.password+"\nMAIL=jane@example.org\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	clean := filepath.Join(dir, "clean.txt")
	if err := os.WriteFile(clean, []byte("nothing here\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	scan := func(in string, args ...string) (int, string) {
		var out bytes.Buffer
		code := run(context.Background(), append([]string{"secrets", "scan", "--data-dir", filepath.Join(dir, "data")}, args...), program{
			in: strings.NewReader(in), out: &out, errs: &out, getenv: os.Getenv, home: os.UserHomeDir,
			getwd: func() (string, error) { return "/work", nil }, self: os.Executable,
		})
		if strings.Contains(out.String(), secret.token) || strings.Contains(out.String(), secret.password) {
			t.Errorf("%v prints a secret: %s", args, out.String())
		}
		return code, out.String()
	}
	if code, out := scan("", file, clean); code != exitFailure || !strings.Contains(out, "app.env:2") || !strings.Contains(out, "app.env:3") || strings.Contains(out, "app.env:4") {
		t.Errorf("code %d: %s", code, out)
	}
	code, out := scan("", "--pii", "--json", file)
	var found scanned
	if err := json.Unmarshal([]byte(out), &found); err != nil || code != exitFailure || len(found.Findings) != 3 || found.Families["mail"] != 1 {
		t.Errorf("code %d, %v: %s", code, err, out)
	}
	if code, out := scan("", clean); code != exitOK || !strings.Contains(out, "nothing found") {
		t.Errorf("code %d: %s", code, out)
	}
	if code, out := scan("password=Tr0mbone42!\n", "-"); code != exitFailure || !strings.Contains(out, "password") {
		t.Errorf("code %d: %s", code, out)
	}
	env := map[string]string{"HEXAPLA_DATA_DIR": t.TempDir()}
	if o := hexapla(t, env, "secrets", "scan", "--workspace", testWorkspace); o.code != exitFailure || !strings.Contains(o.errs, "nothing is recorded") {
		t.Errorf("no memory: %+v", o)
	}
	c := startChild(t, env["HEXAPLA_DATA_DIR"])
	recordStory(c, 3)
	call[wire.PinAddResult](c, wire.MethodPinAdd, wire.PinAddParams{Session: "s", Text: secret.text()})
	c.stop()
	if o := hexapla(t, env, "secrets", "scan", "--workspace", testWorkspace); o.code != exitOK || !strings.Contains(o.out, "nothing found") {
		t.Errorf("%+v", o)
	}
	if code, _ := scan("", "--pii"); code != exitUsage {
		t.Errorf("--pii without files: %d", code)
	}
}

// TestY6_EveryWriteTells: the result of each method that takes texts into the store
// has a place to say what was replaced.
func TestY6_EveryWriteTells(t *testing.T) {
	t.Parallel()
	silent := []string{ // their texts are ids of what is there
		wire.MethodSessionClose, wire.MethodHousekeepingRollback, wire.MethodContextCancel, wire.MethodLearningReset,
		wire.MethodPinRemove, wire.MethodBudgetReport, wire.MethodPackUndo, wire.MethodConversationForget, wire.MethodWorkspaceErase, wire.MethodWorkspaceAdopt, wire.MethodProfileSet, wire.MethodSecretsRescrub,
	}
	for _, m := range wire.Methods() {
		if m.Class != wire.ClassWrite {
			continue
		}
		_, tells := m.Result.FieldByName("Scrubbed")
		quiet := false
		for _, name := range silent {
			quiet = quiet || name == m.Name
		}
		if tells == quiet {
			t.Errorf("%s: tells what was scrubbed: %t", m.Name, tells)
		}
	}
}
