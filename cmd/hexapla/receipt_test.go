package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// TestReceiptAndUndo goes through the process: a conversation is archived and
// falls out at the next fold; the receipt says so, the undo gives the pack
// before, and the packs from then on show what was lost.
func TestReceiptAndUndo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := startChild(t, dir)
	recordStory(c, 3)
	before, _ := buildPack(c, 2600, 0, "")
	archived := call[wire.ContextRequestResult](c, wire.MethodContextRequest, wire.ContextRequestParams{Session: "s", Requests: wire.ContextRequests{ArchiveConversations: []string{"c2"}}})
	if !slices.Equal(archived.Archived, []string{"c2"}) {
		t.Fatalf("archived %v", archived.Archived)
	}
	if same, _ := buildPack(c, 2600, 0, ""); same.Loss != nil {
		t.Errorf("archiving moves nothing before the next fold, but the pack lost %+v", same.Loss)
	}
	remark := func(i int) {
		call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: "s", Turns: []wire.Turn{
			{Role: "assistant", Text: strings.Repeat(fmt.Sprintf("Remark %d has much to say of the reader. ", i), 60)},
		}})
	}
	var after wire.PackBuildResult
	for i := 0; after.Loss == nil; i++ {
		remark(i)
		after, _ = buildPack(c, 2600, 0, "")
	}
	c.stop() // the packs before are in the audit log
	c = startChild(t, dir)
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: testWorkspace}, Session: "s"})
	if again, _ := buildPack(c, 2600, 0, ""); again.Checksum != after.Checksum || again.Loss == nil || *again.Loss != *after.Loss {
		t.Errorf("after a restart the pack lost %+v, before %+v", again.Loss, after.Loss)
	}

	receipt := call[wire.PackReceiptResult](c, wire.MethodPackReceipt, wire.PackReceiptParams{Session: "s", Checksum: after.Checksum})
	if faults := outsideSets(reflect.ValueOf(receipt), "receipt"); len(faults) > 0 {
		t.Errorf("outside of the protocol's sets: %v", faults)
	}
	if receipt.From.Checksum != after.Loss.Previous || len(receipt.Losses) != after.Loss.Items {
		t.Errorf("the pack says %+v, the receipt %d losses against %s", after.Loss, len(receipt.Losses), receipt.From.Checksum)
	}
	if !slices.ContainsFunc(receipt.Losses, func(l wire.Loss) bool { return strings.HasPrefix(l.ID, "c2#") && l.Reason == "archive" }) {
		t.Errorf("no loss by the archive: %+v", receipt.Losses)
	}
	sum := 0
	for _, count := range receipt.Counts {
		sum += count.Survived + count.Dropped
	}
	var paged []wire.Fact
	for params := (wire.PackReceiptParams{Session: "s", Checksum: after.Checksum, Limit: 5}); ; {
		page := call[wire.PackReceiptResult](c, wire.MethodPackReceipt, params)
		paged = append(paged, page.Facts...)
		if params.Cursor = page.Cursor; params.Cursor == "" {
			break
		}
	}
	if sum != len(receipt.Facts) || !slices.Equal(paged, receipt.Facts) {
		t.Errorf("%d facts counted, %d listed, %d in pages", sum, len(receipt.Facts), len(paged))
	}
	whole := call[wire.PackReceiptResult](c, wire.MethodPackReceipt, wire.PackReceiptParams{Session: "s", Checksum: after.Checksum, Against: before.Checksum})
	if len(whole.Losses) == 0 || whole.From.Checksum != before.Checksum {
		t.Errorf("against the first pack: %+v", whole.From)
	}

	undo := wire.PackUndoParams{Session: "s", Checksum: after.Checksum, MaxTokens: 700, Key: "once"}
	undone := call[wire.PackUndoResult](c, wire.MethodPackUndo, undo)
	if !undone.Match || undone.Previous != after.Loss.Previous || undone.Rebuilt != undone.Previous {
		t.Errorf("the undo gives %s, the pack before was %s", undone.Rebuilt, after.Loss.Previous)
	}
	if !slices.Equal(undone.Unarchived, []string{"c2"}) || len(undone.Restored) == 0 || len(undone.Restored)+len(undone.NotRestored) != len(receipt.Losses) {
		t.Errorf("unarchived %v, %d restored, %d not, of %d", undone.Unarchived, len(undone.Restored), len(undone.NotRestored), len(receipt.Losses))
	}
	if again := call[wire.PackUndoResult](c, wire.MethodPackUndo, undo); !reflect.DeepEqual(again, undone) {
		t.Error("a second undo with the same key gives another answer")
	}
	next, packNext := buildPack(c, 6000, 0, "")
	for _, item := range undone.Restored {
		if !strings.Contains(packNext.Text, "### retrieved "+item.Handle+" ") {
			t.Errorf("%s was restored and is not in the next pack", item.ID)
		}
	}
	undo.Key = ""
	if second := call[wire.PackUndoResult](c, wire.MethodPackUndo, undo); len(second.Unarchived) > 0 || !slices.ContainsFunc(second.NotRestored, func(n wire.NotRestoredItem) bool { return n.Reason == "served" }) {
		t.Errorf("undone twice: unarchived %v, not restored %+v", second.Unarchived, second.NotRestored)
	}
	// From the next fold on the conversation may be shown again.
	if fold, _ := buildPack(c, 9000, 0, ""); next.Checksum != fold.Checksum {
		var pack wire.Pack
		if err := json.Unmarshal(fold.Pack, &pack); err != nil {
			t.Fatal(err)
		}
		for _, d := range pack.Dropped {
			if d.Reason == "archive" {
				t.Errorf("still archived: %+v", d)
			}
		}
	}
	for checksum, kind := range map[string]wire.Kind{strings.Repeat("0", 64): wire.KindNotFound, before.Checksum: wire.KindInvalidParams} {
		if err := c.Call(t.Context(), wire.MethodPackUndo, wire.PackUndoParams{Session: "s", Checksum: checksum}, nil); !rpc.IsKind(err, kind) {
			t.Errorf("undo of %s: %v, want %s", short(checksum), err, kind)
		}
	}
	c.stop()

	cli := func(args ...string) outcome {
		return hexapla(t, nil, append([]string{"receipt", "--data-dir", dir, "--workspace", "/home/dev/project", "--checksum", after.Checksum}, args...)...)
	}
	if o := cli(); o.code != 0 || !strings.Contains(o.out, "Dropped: not in the pack any more") {
		t.Errorf("receipt: exit %d, %s\n%s", o.code, o.errs, o.out)
	}
	if o := cli("--json"); o.code != 0 || !strings.Contains(o.out, `"losses"`) {
		t.Errorf("receipt --json: exit %d, %s", o.code, o.errs)
	}
	if o := cli("--undo", "--max-tokens", "300"); o.code != 0 || !strings.Contains(o.out, "built again, byte for byte") {
		t.Errorf("receipt --undo: exit %d, %s\n%s", o.code, o.errs, o.out)
	}
	if o := cli("--max-tokens", "300"); o.code != exitUsage {
		t.Errorf("receipt --max-tokens without --undo: exit %d", o.code)
	}
}

func TestReceiptTable(t *testing.T) {
	t.Parallel()
	pack := strings.Repeat("ab", 32)
	r := &wire.PackReceiptResult{
		From:   wire.PackMark{Checksum: pack, Match: true, Sequence: 4711, Used: 15_540, Total: 16_000},
		To:     wire.PackMark{Checksum: strings.Repeat("cd", 32), Match: true, Sequence: 4714, Used: 6_086, Total: 16_000},
		Counts: []wire.FactCount{{Kind: "instructions", Survived: 1, Dropped: 1}, {Kind: "errors"}, {Kind: "commands"}, {Kind: "paths", Dropped: 1}, {Kind: "identifiers", Survived: 6, Dropped: 10}, {Kind: "numbers"}},
		Facts: []wire.Fact{
			{Kind: "instructions", Text: "Never touch go.mod.", Handle: "c1#1"},
			{Kind: "instructions", Text: "Please look at the reader again, and this time at all of its callers as well, if you would.", Survived: true, Handle: "c2#1", In: "c2#1"},
			{Kind: "paths", Text: "/" + strings.Repeat("long/", 30) + "reader.go", Handle: pack},
		},
		Losses: []wire.Loss{{ID: "currentContext", Section: "currentContext", From: "full", To: "full", FromTokens: 80, ToTokens: 115, Reason: "renewed", Handle: pack}},
	}
	for i := range 16 {
		r.Facts = append(r.Facts, wire.Fact{Kind: "identifiers", Text: fmt.Sprintf("readLine%d", i), Survived: i >= 10, Handle: "c1#3/2", In: map[bool]string{true: "names"}[i >= 10]})
	}
	for i := range 12 {
		r.Losses = append(r.Losses, wire.Loss{ID: fmt.Sprintf("c1#%d", i+1), Section: "activeMemory", From: "full", To: "none", FromTokens: 900, Reason: "budget", Handle: fmt.Sprintf("c1#%d", i+1)})
	}
	for i := range 24 {
		r.Losses = append(r.Losses, wire.Loss{ID: fmt.Sprintf("c2#%d", i+1), Section: "activeMemory", From: []string{"full", "brief"}[i%2], To: "line", FromTokens: 300, ToTokens: 20, Reason: "budget", Handle: fmt.Sprintf("c2#%d", i+1)})
	}
	var b bytes.Buffer
	for _, all := range []bool{false, true} {
		writeReceipt(&b, "main", r, all)
		b.WriteString("\n")
	}
	writeReceipt(&b, "empty", &wire.PackReceiptResult{}, false)
	b.WriteString("\n")
	writeUndone(&b, r.To.Checksum, &wire.PackUndoResult{
		Previous: pack, Rebuilt: pack, Match: true, Unarchived: []string{"c7"},
		Restored:    []wire.RestoredItem{{ID: "c2#24", Handle: "c2#24", Detail: "full", Tokens: 300, Whole: true}, {ID: "c2#23", Handle: "c2#23", Detail: "full", Tokens: 250}},
		NotRestored: []wire.NotRestoredItem{{ID: "c1#1", Handle: "c1#1", Reason: "budget"}, {ID: "c1#2", Handle: "c1#2", Reason: "budget"}, {ID: "names", Handle: pack, Reason: "pack_only"}},
	})
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	golden(t, "receipt/table.txt", b.String())
}
