package trace_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hexapla/session/trace"
)

// TestI5_Lines: spans are appended as lines, a full file is followed by another, and
// nothing is written through a link or out of the folder.
func TestI5_Lines(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "traces")
	span := trace.Span{
		ID: trace.ID{Trace: [16]byte{1}, Span: [8]byte{2}}, Parent: [8]byte{3}, Name: "a\n\"b\"", Start: 1, End: 1 << 60,
		Attributes: []trace.Attribute{{"text", "x"}, {"number", int64(5)}, {"share", 0.5}, {"yes", true}},
		Events:     []trace.Event{{Name: "e", Time: 7}}, Failed: "why",
	}
	for range 3 {
		if err := trace.Append(dir, "t.jsonl", "1", span); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "t.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	const want = `"traceId":"01000000000000000000000000000000","spanId":"0200000000000000","parentSpanId":"0300000000000000","name":"a\n\"b\"","kind":1,"startTimeUnixNano":"1","endTimeUnixNano":"1152921504606846976","attributes":[{"key":"text","value":{"stringValue":"x"}},{"key":"number","value":{"intValue":"5"}},{"key":"share","value":{"doubleValue":0.5}},{"key":"yes","value":{"boolValue":true}}],"events":[{"timeUnixNano":"7","name":"e"}],"status":{"code":2,"message":"why"}`
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if len(lines) != 3 || !strings.Contains(lines[2], want) || !json.Valid([]byte(lines[0])) {
		t.Errorf("%s\nwant %s", data, want)
	}
	if err := os.Truncate(filepath.Join(dir, "t.jsonl"), trace.MaxBytes); err != nil {
		t.Fatal(err)
	}
	if err := trace.Append(dir, "t.jsonl", "1", span); err != nil {
		t.Fatal(err)
	}
	now, err := os.Stat(filepath.Join(dir, "t.jsonl"))
	before, err2 := os.Stat(filepath.Join(dir, "t.jsonl.1"))
	if err != nil || err2 != nil || now.Size() != int64(len(lines[0])+1) || before.Size() != trace.MaxBytes {
		t.Errorf("%v %v", err, err2)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".", "..", "../x", "a/b", ".hidden", "link", strings.Repeat("a", 101), "ü"} {
		if err := trace.Append(dir, name, "1", span); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
	if info, err := os.Stat(outside); err != nil || info.Size() != 0 {
		t.Error("it was written through a link")
	}
}
