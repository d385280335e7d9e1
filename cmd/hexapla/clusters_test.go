package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"hexapla/rpc/wire"
)

// TestH17_ClustersOfAFolder: the command shows what the server groups, and the
// server gives the same bytes for the same sequence after a restart.
func TestH17_ClustersOfAFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := map[string]string{"HEXAPLA_DATA_DIR": dir}
	args := []string{"clusters", "--workspace", testWorkspace}
	if o := hexapla(t, env, args...); o.code != exitFailure || !strings.Contains(o.errs, "nothing is recorded") {
		t.Errorf("no memory: %+v", o)
	}
	open := wire.SessionOpenParams{Workspace: wire.Workspace{URI: testWorkspace}, Session: "main"}
	c := startChild(t, dir)
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, open)
	for _, query := range []string{"Fix the crash of the lexer in scanner.go", "Explain the retry and its backoff in client.go", "The lexer in scanner.go fails on escapes", "What is the jitter of the retry in client.go?"} {
		call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{
			Session: "main", Done: true, Turns: []wire.Turn{{Role: "user", Text: query}, {Role: "assistant", Text: "That is done."}},
		})
	}
	list := func() string {
		b, err := json.Marshal(call[wire.ClusterListResult](c, wire.MethodClusterList, wire.ClusterListParams{Session: "main"}))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	before := list()
	c.stop()
	c = startChild(t, dir)
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, open)
	if after := list(); after != before {
		t.Errorf("after a restart: %s, before %s", after, before)
	}
	c.stop()
	o := hexapla(t, env, args...)
	for _, want := range []string{"4 conversations: 2 clusters, 0 alone", "scanner.go", "bug investigation; 2 conversations", "learning; 2 conversations", "Fix the crash of the lexer"} {
		if o.code != exitOK || !strings.Contains(o.out, want) {
			t.Errorf("%q is missing: %+v", want, o)
		}
	}
	for _, wrong := range [][]string{{"--limit", "0"}, {"--limit", "201"}, {"--members", "-1"}} {
		if o := hexapla(t, env, append(args, wrong...)...); o.code != exitUsage || !strings.Contains(o.errs, wrong[0]) {
			t.Errorf("%v: %+v", wrong, o)
		}
	}
}

func TestClustersTable(t *testing.T) {
	t.Parallel()
	member := func(id string, score float64, kind, topic string) wire.ClusterMember {
		return wire.ClusterMember{Conversation: id, Score: score, Kind: kind, Topic: topic}
	}
	var b bytes.Buffer
	writeClusters(&b, &wire.ClusterListResult{
		Total: 3, Single: 7, Conversations: 2000, Limited: true,
		Clusters: []wire.Cluster{
			{
				Label: "scanner.go, lexer, escape", Kind: "bugInvestigation", Tokens: 123_456, First: "2026-01-12T10:04:05Z", Last: "2026-02-03T00:00:00Z",
				Members: []wire.ClusterMember{member("c998", 1, "bugInvestigation", "Fix the lexer"), member("c1", 0.512345, "featureDevelopment", "Add escapes"), member("c2", 0.1, "learning", "Why?")},
			},
			{
				Label: "retry", Kind: "refactoring", Tokens: 5, First: "2026-01-12T10:04:05Z", Last: "2026-01-12T11:00:00Z",
				Members: []wire.ClusterMember{member("c3", 1, "refactoring", "Split the client"), member("c4", 1, "refactoring", "Move the retry")},
			},
		},
	}, 2)
	b.WriteString("\n")
	writeClusters(&b, &wire.ClusterListResult{Clusters: []wire.Cluster{}}, 5)
	golden(t, "clusters/table.txt", b.String())
}
