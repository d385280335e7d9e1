package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hexapla/rpc/wire"
)

// TestS10_StoreCommands goes the way of a store that is damaged: doctor finds it,
// repair has a remedy, backup and restore bring it back, and nothing is lost that
// need not be.
func TestS10_StoreCommands(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	env := map[string]string{"HEXAPLA_DATA_DIR": dir, "PWD": "/home/dev/project"}
	if o := hexapla(t, env, "doctor"); o.code != 1 || !strings.Contains(o.errs, "nothing is recorded") {
		t.Errorf("%+v", o)
	}
	if o := hexapla(t, env, "doctor", "--all"); o.code != 0 || !strings.Contains(o.out, "there are no stores") {
		t.Errorf("%+v", o)
	}
	c := startChild(t, dir)
	recordStory(c, 5)
	if o := hexapla(t, env, "doctor"); o.code != 1 || !strings.Contains(o.out, "is in use") || !strings.Contains(o.out, "close the editor") {
		t.Errorf("%+v", o)
	}
	for _, args := range [][]string{{"compact"}, {"export"}, {"backup", other}, {"repair", "--apply"}, {"restore"}} {
		if o := hexapla(t, env, args...); o.code != 1 || !strings.Contains(o.errs+o.out, "locked by process") {
			t.Errorf("%v: %+v", args, o)
		}
	}
	c.stop()
	if o := hexapla(t, env, "verify", "--read-data"); o.code != 0 || !strings.Contains(o.out, "with their content") {
		t.Errorf("%+v", o)
	}
	if o := hexapla(t, env, "backup", other); o.code != 0 || !strings.Contains(o.out, "sequence") {
		t.Errorf("%+v", o)
	}
	if o := hexapla(t, env, "compact"); o.code != 0 || !strings.Contains(o.out, "KiB") {
		t.Errorf("%+v", o)
	}
	file := filepath.Join(t.TempDir(), "all.jsonl")
	if o := hexapla(t, env, "export", "--output", file); o.code != 0 {
		t.Errorf("%+v", o)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for line := range bytes.Lines(text) {
		var one exported
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatal(err)
		}
		kinds[one.Kind]++
	}
	if kinds["turn"] < 20 || kinds["conversation"] == 0 || kinds["blob"] == 0 || !bytes.Contains(text, []byte("please repair it (4)")) {
		t.Errorf("%v", kinds)
	}
	if o := hexapla(t, env, "export", "--output", file); o.code != 1 {
		t.Errorf("a file was written over: %+v", o)
	}
	store := filepath.Join(storeDir(t, dir), "store.db")
	data, err := os.ReadFile(store)
	if err != nil {
		t.Fatal(err)
	}
	clear(data[:8192])
	if err := os.WriteFile(store, data, 0o600); err != nil {
		t.Fatal(err)
	}
	var found []examined
	o := hexapla(t, env, "doctor", "--json")
	if err := json.Unmarshal([]byte(o.out), &found); err != nil || o.code != 2 || len(found) != 1 {
		t.Errorf("%v: %+v", err, o)
	}
	if o := hexapla(t, env, "repair", "--dry-run"); o.code != 0 || !strings.Contains(o.out, "would repair with salvage") {
		t.Errorf("%+v", o)
	}
	if o := hexapla(t, env, "repair", "--apply"); o.code != 0 || !strings.Contains(o.out, "repaired with salvage") || !strings.Contains(o.out, "quarantine/") {
		t.Errorf("%+v", o)
	}
	if o := hexapla(t, env, "doctor"); o.code != 1 || !strings.Contains(o.out, "1 damaged stores are kept") || strings.Contains(o.out, "damage  ") {
		t.Errorf("%+v", o)
	}
	c = startChild(t, dir)
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: testWorkspace}, Session: "s"})
	if _, pack := buildPack(c, 8000, 0, ""); !strings.Contains(pack.Text, "please repair it (4)") {
		t.Errorf("the pack is\n%s", pack.Text)
	}
	c.stop()
	if err := os.Truncate(store, 0); err != nil {
		t.Fatal(err)
	}
	if o := hexapla(t, env, "repair", "--dry-run"); o.code != 1 || !strings.Contains(o.out, "not repaired") {
		t.Errorf("%+v", o)
	}
	if o := hexapla(t, env, "restore", "--from", other); o.code != 0 || !strings.Contains(o.out, "restored at sequence") {
		t.Errorf("%+v", o)
	}
	if o := hexapla(t, env, "verify", "--read-data"); o.code != 1 || strings.Contains(o.out, "damage  ") {
		t.Errorf("%+v", o)
	}
	if o := hexapla(t, env, "forget", "c2", "--yes"); o.code != 0 || !strings.Contains(o.out, "forgotten: c2") {
		t.Errorf("%+v", o)
	}
	if o := hexapla(t, env, "forget", "c2"); o.code != exitUsage {
		t.Errorf("%+v", o)
	}
	if o := hexapla(t, env, "forget", "--everything", "--yes"); o.code != 0 {
		t.Errorf("%+v", o)
	}
	if files := filesWith(t, dir, "please repair it"); len(files) > 0 {
		t.Errorf("it is still in %v", files)
	}
}
