package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"hexapla/rpc/wire"
)

// opened starts a server and opens the session "s" in it. next is the id to go
// on with.
func opened(t *testing.T) (server *rawServer, next int) {
	t.Helper()
	server = startRaw(t)
	server.call(1, "initialize", json.RawMessage(`{"capabilities":{}}`))
	server.notify("initialized", nil)
	if m := server.call(2, wire.MethodSessionOpen, json.RawMessage(`{"workspace":{"uri":"file:///projects/brewlog"},"session":"s"}`)); m.Error != nil {
		t.Fatalf("session/open: %+v", m.Error)
	}
	return server, 3
}

// TestProtocolLimits: what is beyond a row of protocol.md's table of limits is
// refused as the table says, with the place of the fault, and what is at the
// limit is not.
func TestProtocolLimits(t *testing.T) {
	t.Parallel()
	server, id := opened(t)
	text := func(n int) string { return `"` + strings.Repeat("a ", n/2) + strings.Repeat("b", n%2) + `"` }
	list := func(n int, item string) string {
		return "[" + strings.Repeat(item+",", n-1) + item + "]"
	}
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	tests := []struct {
		what, method, params string // params has %s
		at, beyond           string
		kind                 wire.Kind
		path                 string
	}{
		{"key", wire.MethodConversationRecord, `{"session":"s","turns":[{"role":"user","text":"x"}],"key":%s}`,
			text(256), text(257), wire.KindInvalidParams, "key"},
		{"text", wire.MethodToolRecord, `{"session":"s","tool":"x","content":%s}`,
			text(1 << 20), text(16<<20 + 1), wire.KindTooLarge, "content"},
		{"session id", wire.MethodSessionOpen, `{"workspace":{"uri":"file:///projects/brewlog"},"session":%s}`,
			`"` + strings.Repeat("a", 128) + `"`, `"` + strings.Repeat("a", 129) + `"`, wire.KindInvalidParams, "session"},
		{"uri", wire.MethodSessionList, `{"workspace":{"uri":%s}}`,
			`"` + strings.Repeat("a", 4096) + `"`, `"` + strings.Repeat("a", 4097) + `"`, wire.KindInvalidParams, "workspace.uri"},
		{"budget", wire.MethodPackBuild, `{"session":"s","budget":{"total":%s}}`,
			"100000000", "100000001", wire.KindInvalidParams, "budget.total"},
		{"no budget", wire.MethodPackBuild, `{"session":"s","budget":{"total":%s}}`,
			"4000", "0", wire.KindInvalidParams, "budget.total"},
		{"query", wire.MethodSearchQuery, `{"session":"s","query":%s}`,
			`"` + strings.Repeat("a", 8<<10) + `"`, `"` + strings.Repeat("a", 8<<10+1) + `"`, wire.KindQueryTooComplex, ""},
		{"hits", wire.MethodSearchQuery, `{"session":"s","query":"x","limit":%s}`, "100", "101", wire.KindInvalidParams, "limit"},
		{"references", wire.MethodReferenceLookup, `{"session":"s","name":"x","limit":%s}`, "200", "201", wire.KindInvalidParams, "limit"},
		{"changes", wire.MethodChangeList, `{"session":"s","limit":%s}`, "500", "501", wire.KindInvalidParams, "limit"},
		{"user", wire.MethodBudgetStatus, `{"session":"s","user":%s}`, text(256), text(257), wire.KindInvalidParams, "user"},
		{"tiers", wire.MethodTiersSnapshots, `{"session":"s","limit":%s}`, "200", "201", wire.KindInvalidParams, "limit"},
		{"tokens of tiers", wire.MethodTiersBuild, `{"session":"s","messages":[],"budget":%s}`, "100000000", "100000001", wire.KindInvalidParams, "budget"},
		{"errors of limits", wire.MethodLimitsErrors, `{"session":"s","limit":%s}`, "500", "501", wire.KindInvalidParams, "limit"},
		{"rewards", wire.MethodLimitsRewards, `{"session":"s","limit":%s}`, "10000", "10001", wire.KindInvalidParams, "limit"},
		{"units", wire.MethodLimitsBreak, `{"session":"s","units":%s}`, list(10_000, `{"type":"text","content":""}`), list(10_001, `{"type":"text","content":""}`), wire.KindInvalidParams, "units"},
		{"problems", wire.MethodProblemLookup, `{"session":"s","error":"x","limit":%s}`, "100", "101", wire.KindInvalidParams, "limit"},
		{"neighbors", wire.MethodEntityNeighbors, `{"session":"s","entity":"x","limit":%s}`, "200", "201", wire.KindInvalidParams, "limit"},
		{"steps", wire.MethodEntityNeighbors, `{"session":"s","entity":"x","depth":%s}`, "2", "3", wire.KindInvalidParams, "depth"},
		{"predictions", wire.MethodContextPredict, `{"session":"s","limit":%s}`, "100", "101", wire.KindInvalidParams, "limit"},
		{"audit entries", wire.MethodAuditQuery, `{"session":"s","limit":%s}`, "200", "201", wire.KindInvalidParams, "limit"},
		{"retrieve", wire.MethodContextRequest, `{"session":"s","requests":{"retrieveConversations":[{"priority":"recent","limit":%s}]}}`,
			"50", "51", wire.KindInvalidParams, "requests.retrieveConversations[0].limit"},
		{"blob length", wire.MethodBlobRead, `{"session":"s","sha256":"` + strings.Repeat("0", 64) + `","length":%s}`,
			"", "16777217", wire.KindInvalidParams, "length"},
		{"depth", wire.MethodToolRecord, `{"session":"s","tool":"x","content":"","input":%s}`,
			nested(254), nested(256), wire.KindTooDeep, ""},
		{"turns", wire.MethodConversationRecord, `{"session":"s","turns":%s}`,
			list(10_000, `{"role":"user"}`), list(10_001, `{"role":"user"}`), wire.KindInvalidParams, "turns"},
		{"tool calls", wire.MethodConversationRecord, `{"session":"s","turns":[{"role":"assistant","toolCalls":%s}]}`,
			list(1000, `{"id":"a","name":"x"}`), list(1001, `{"id":"a","name":"x"}`), wire.KindInvalidParams, "turns[0].toolCalls"},
		{"tool results", wire.MethodConversationRecord, `{"session":"s","turns":[{"role":"tool","toolResults":%s}]}`,
			list(1000, `{"callId":"a","content":""}`), list(1001, `{"callId":"a","content":""}`), wire.KindInvalidParams, "turns[0].toolResults"},
	}
	for _, test := range tests {
		if test.at != "" {
			id++
			if m := server.call(id, test.method, json.RawMessage(fmt.Sprintf(test.params, test.at))); m.Error != nil {
				t.Errorf("%s at the limit: %+v", test.what, m.Error)
			}
		}
		id++
		m := server.call(id, test.method, json.RawMessage(fmt.Sprintf(test.params, test.beyond)))
		if m.Error == nil {
			t.Errorf("%s beyond the limit is accepted", test.what)
			continue
		}
		var data wire.ErrorData
		if err := json.Unmarshal(m.Error.Data, &data); err != nil {
			t.Fatal(err)
		}
		if data.Kind != test.kind || data.Path != test.path {
			t.Errorf("%s beyond the limit: kind %s at %q, want %s at %q", test.what, data.Kind, data.Path, test.kind, test.path)
		}
	}
}

// TestProtocolClosedSets: the values of a closed set in parameters, as rpc/wire
// tags them, are what the server takes; others are refused with their place.
func TestProtocolClosedSets(t *testing.T) {
	t.Parallel()
	server, id := opened(t)
	server.call(id, wire.MethodConversationRecord, json.RawMessage(`{"session":"s","turns":[{"role":"user","text":"Where is the kettle?"}],"done":true}`))
	tests := []struct {
		owner  reflect.Type
		field  string
		method string
		params string // has %q
		path   string
	}{
		{reflect.TypeFor[wire.Turn](), "Kind", wire.MethodConversationRecord,
			`{"session":"s","turns":[{"role":"user","text":"x"},{"role":"user","kind":%q,"text":"x"}]}`, "turns[1].kind"},
		{reflect.TypeFor[wire.ResponseIngestParams](), "Provider", wire.MethodResponseIngest, `{"session":"s","text":"x","provider":%q}`, "provider"},
		{reflect.TypeFor[wire.ConversationRecordParams](), "Outcome", wire.MethodConversationRecord,
			`{"session":"s","turns":[{"role":"user","text":"x"}],"done":true,"outcome":%q}`, "outcome"},
		{reflect.TypeFor[wire.ConversationGetParams](), "Detail", wire.MethodConversationGet,
			`{"session":"s","conversation":"c1","detail":%q}`, "detail"},
		{reflect.TypeFor[wire.ResponseHeader](), "Outcome", wire.MethodHousekeepingApply,
			`{"session":"s","conversation":"c1","housekeeping":{"llm":{"responseHeader":{"outcome":%q}},"user":{}}}`, "housekeeping.llm.responseHeader.outcome"},
		{reflect.TypeFor[wire.RetrieveConversations](), "Format", wire.MethodContextRequest,
			`{"session":"s","requests":{"retrieveConversations":[{"conversationIds":["c1"],"format":%q}]}}`, "requests.retrieveConversations[0].format"},
		{reflect.TypeFor[wire.RetrieveConversations](), "Priority", wire.MethodContextRequest,
			`{"session":"s","requests":{"retrieveConversations":[{"priority":%q}]}}`, "requests.retrieveConversations[0].priority"},
		{reflect.TypeFor[wire.SearchQueryParams](), "Kind", wire.MethodSearchQuery, `{"session":"s","query":"kettle","kind":%q}`, "kind"},
		{reflect.TypeFor[wire.ReferenceLookupParams](), "Kind", wire.MethodReferenceLookup, `{"session":"s","name":"kettle","kind":%q}`, "kind"},
		{reflect.TypeFor[wire.EntityNeighborsParams](), "Kind", wire.MethodEntityNeighbors, `{"session":"s","entity":"kettle","kind":%q}`, "kind"},
		{reflect.TypeFor[wire.UserInput](), "Type", wire.MethodPackBuild,
			`{"session":"s","budget":{"total":4000},"input":{"type":%q,"content":"x"}}`, "input.type"},
		{reflect.TypeFor[wire.PackBuildParams](), "Layout", wire.MethodPackBuild, `{"session":"s","budget":{"total":4000},"layout":%q}`, "layout"},
		{reflect.TypeFor[wire.AuditQueryParams](), "EpochReason", wire.MethodAuditQuery, `{"session":"s","epochReason":%q}`, "epochReason"},
		{reflect.TypeFor[wire.InstructionsGetParams](), "Provider", wire.MethodInstructionsGet, `{"provider":%q}`, "provider"},
	}
	for _, test := range tests {
		field, ok := test.owner.FieldByName(test.field)
		if !ok {
			t.Fatalf("%s has no field %s", test.owner, test.field)
		}
		for _, value := range append(strings.Split(field.Tag.Get("enum"), ","), "something-else") {
			id++
			m := server.call(id, test.method, json.RawMessage(fmt.Sprintf(test.params, value)))
			if known := value != "something-else"; known && m.Error != nil {
				t.Errorf("%s.%s %q: %+v", test.owner.Name(), test.field, value, m.Error)
			} else if !known {
				var data wire.ErrorData
				if m.Error == nil || json.Unmarshal(m.Error.Data, &data) != nil || data.Kind != wire.KindInvalidParams || data.Path != test.path {
					t.Errorf("%s.%s %q: error %+v, want invalid_params at %s", test.owner.Name(), test.field, value, m.Error, test.path)
				}
			}
		}
	}
}
