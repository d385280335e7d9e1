//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hexapla/rpc/wire"
)

// treasure is what one workspace has and no other may see: needle is what can be
// asked for, hay what stands beside it wherever it does, and the rest are the names
// that the server gave.
type treasure struct {
	uri, needle, hay string
	conversations    []string
	blobs            []string
	checksums        []string
	cursors          []string
	pins             []string
}

// word makes a word that is in no text.
func word(random *rand.Rand) string {
	var b strings.Builder
	for range 5 {
		b.WriteByte("bdfgkmprtvz"[random.IntN(11)])
		b.WriteByte("aeiou"[random.IntN(5)])
	}
	return b.String()
}

// bury records a treasure through a session of the workspace.
func (w *window) bury(t *treasure) {
	w.t.Helper()
	ask := func(method string, params, result any) {
		w.t.Helper()
		if err := w.Call(w.ctx(), method, params, result); err != nil {
			w.t.Fatalf("%s: %v", method, err)
		}
	}
	say := t.needle + " belongs to " + t.hay
	for n := range 4 {
		var recorded wire.ConversationRecordResult
		ask(wire.MethodConversationRecord, map[string]any{"session": w.session, "done": true, "turns": []any{
			map[string]any{"role": "user", "text": fmt.Sprintf("Where is it (%d)? %s", n, say)},
			map[string]any{"role": "assistant", "text": "I look.", "toolCalls": []any{map[string]any{"id": "t", "name": "Write", "input": map[string]any{"file_path": t.needle + "/" + t.hay + ".go", "content": say}}}},
			map[string]any{"role": "tool", "toolResults": []any{map[string]any{"callId": "t", "content": strings.Repeat("--- FAIL: "+say+"\n", 200+n), "isError": n%2 == 0}}},
			map[string]any{"role": "assistant", "text": "Found: " + say},
		}}, &recorded)
		t.conversations = append(t.conversations, recorded.Conversation, recorded.Conversation+"#3")
		for _, r := range recorded.ToolResults {
			t.blobs = append(t.blobs, r.Blob.SHA256)
		}
	}
	for n := range 3 {
		if _, err := w.record(fmt.Sprintf("Something else, number %d.", n), ""); err != nil {
			w.t.Fatal(err)
		}
	}
	var pin wire.PinAddResult
	ask(wire.MethodPinAdd, wire.PinAddParams{Session: w.session, Text: say}, &pin)
	t.pins = append(t.pins, pin.Pin.ID)
	for _, total := range []int{2000, 6000} {
		var pack wire.PackBuildResult
		ask(wire.MethodPackBuild, wire.PackBuildParams{Session: w.session, Budget: wire.Budget{Total: total}}, &pack)
		if !strings.Contains(string(pack.Pack), t.hay) {
			w.t.Fatal("its own pack does not show it")
		}
		t.checksums = append(t.checksums, pack.Checksum)
	}
	var found wire.SearchQueryResult
	ask(wire.MethodSearchQuery, wire.SearchQueryParams{Session: w.session, Query: t.needle, Limit: 1}, &found)
	var got wire.ConversationGetResult
	ask(wire.MethodConversationGet, wire.ConversationGetParams{Session: w.session, Conversation: t.conversations[0], MaxTokens: 40}, &got)
	var changes wire.ChangeListResult
	ask(wire.MethodChangeList, wire.ChangeListParams{Session: w.session, Limit: 1}, &changes)
	t.cursors = append(t.cursors, found.Cursor, got.Cursor, changes.Cursor)
	if slices.Contains(t.cursors, "") || len(found.Hits) == 0 {
		w.t.Fatalf("no cursors: %q, %d hits", t.cursors, len(found.Hits))
	}
}

// probe is one try of a session to get at another workspace's treasure.
func probe(random *rand.Rand, session string, t *treasure) (method string, params map[string]any) {
	pick := func(of []string) string { return of[random.IntN(len(of))] }
	p := map[string]any{"session": session}
	with := func(method string, pairs ...any) (string, map[string]any) {
		for i := 0; i < len(pairs); i += 2 {
			p[pairs[i].(string)] = pairs[i+1]
		}
		return method, p
	}
	switch random.IntN(22) {
	case 0:
		return with(wire.MethodSearchQuery, "query", t.needle, "kind", pick([]string{"conversation", "turn", "output"}))
	case 1:
		return with(wire.MethodSearchQuery, "query", t.needle, "cursor", pick(t.cursors))
	case 2:
		return with(wire.MethodPackBuild, "budget", map[string]any{"total": 8000}, "input", map[string]any{"type": "user_query", "content": "Tell me of " + t.needle})
	case 3:
		return with(wire.MethodConversationGet, "conversation", pick(t.conversations), "cursor", pick(t.cursors))
	case 4:
		return with(wire.MethodConversationGet, "conversation", pick(t.conversations), "detail", pick([]string{"header", "summary", "full", "mixed"}), "query", t.needle)
	case 5:
		return with(wire.MethodBlobRead, "sha256", pick(t.blobs))
	case 6:
		return with(wire.MethodPackReplay, "checksum", pick(t.checksums))
	case 7:
		return with(wire.MethodPackReceipt, "checksum", pick(t.checksums))
	case 8:
		return with(wire.MethodPackDiff, "from", pick(t.checksums), "to", pick(t.checksums))
	case 9:
		return with(wire.MethodContextRequest, "requests", map[string]any{"retrieveConversations": []any{map[string]any{"conversationIds": []any{pick(t.conversations)}, "query": t.needle}}})
	case 10:
		return with(wire.MethodContextRequest, "requests", map[string]any{"retrieveConversations": []any{map[string]any{"query": t.needle, "limit": 50}}, "summarizeTopics": []any{t.needle}})
	case 11:
		return with(wire.MethodReferenceLookup, "name", t.needle, "prefix", true)
	case 12:
		return with(wire.MethodChangeList, "file", t.needle)
	case 13:
		return with(wire.MethodChangeList, "cursor", pick(t.cursors))
	case 14:
		return with(wire.MethodProblemLookup, "error", "--- FAIL: "+t.needle)
	case 15:
		return with(wire.MethodEntityNeighbors, "name", t.needle)
	case 16:
		return with(wire.MethodContextPredict)
	case 17:
		return with(wire.MethodPinList)
	case 18:
		return with(wire.MethodAuditQuery, "checksum", pick(t.checksums), "items", true)
	case 19:
		return with(wire.MethodPackUndo, "checksum", pick(t.checksums))
	case 20:
		return with(wire.MethodPackExplain, "budget", map[string]any{"total": 4000}, "input", map[string]any{"type": "user_query", "content": t.needle})
	}
	return with(wire.MethodClusterList)
}

// TestY5_Canaries: sessions of several clients in several workspaces of one daemon
// ask for what other workspaces have, by every name that it has. Nothing comes, in
// answers, errors or events.
func TestY5_Canaries(t *testing.T) {
	t.Parallel()
	const workspaces, windows, sessions = 4, 4, 10
	random := rand.New(rand.NewPCG(5, 5))
	p := newPost(t)
	var treasures []*treasure
	var open []*window
	for n := range windows {
		w := p.start()
		w.initialize()
		open = append(open, w)
		_ = n
	}
	type seat struct {
		window    *window
		session   string
		workspace int
	}
	var seats []seat
	for n := range sessions {
		w, at := open[n%windows], n%workspaces
		if n >= workspaces {
			at = random.IntN(workspaces)
		}
		if at == len(treasures) {
			treasures = append(treasures, &treasure{uri: fmt.Sprintf("file:///canary/%d", at), needle: word(random), hay: word(random)})
		}
		w.openSession(treasures[at].uri, fmt.Sprintf("s%d", n))
		seats = append(seats, seat{w, w.session, at})
		if n < workspaces {
			w.bury(treasures[at])
		}
	}
	answered := map[string]int{}
	for range rounds(t, "CANARY_OPERATIONS", 500) {
		from, victim := seats[random.IntN(len(seats))], random.IntN(workspaces)
		method, params := probe(random, from.session, treasures[victim])
		var raw json.RawMessage
		err := from.window.Call(from.window.ctx(), method, params, &raw)
		said := string(raw)
		if err == nil {
			answered[method]++
		} else {
			said = err.Error()
		}
		for other, tr := range treasures {
			if other != from.workspace && strings.Contains(said, tr.hay) {
				t.Fatalf("%s %v in workspace %d shows what %d has: %.300s", method, params, from.workspace, other, said)
			}
		}
	}
	if len(answered) < 14 {
		t.Errorf("hardly anything was answered: %v", answered)
	}
	for n, w := range open {
		mine := map[int]bool{}
		for _, s := range seats {
			if s.window == w {
				mine[s.workspace] = true
			}
		}
		w.mu.Lock()
		events := strings.Join(w.events, "\n")
		w.mu.Unlock()
		for other, tr := range treasures {
			if !mine[other] && strings.Contains(events, tr.hay) {
				t.Errorf("window %d was told of workspace %d", n, other)
			}
		}
		w.leave()
	}
	p.end()
	// The stores hold their own alone.
	for n, tr := range treasures {
		for other, victim := range treasures {
			files := filesWith(t, p.data+"/workspaces/"+workspaceOf(t, p.data, tr.uri), victim.hay)
			if (len(files) > 0) != (n == other) {
				t.Errorf("what workspace %d has is in %v of workspace %d", other, files, n)
			}
		}
	}
}
