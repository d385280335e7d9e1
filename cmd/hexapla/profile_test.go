package main

import (
	"encoding/json"
	"strings"
	"testing"

	"hexapla/rpc/wire"
)

// TestH18_Settings: how profiles are chosen and their numbers can be set when the
// server is initialized; what cannot be is refused with its place and its limit.
func TestH18_Settings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		profiles, path string
		limit          int64
	}{
		{`{"debugging":{"resultCap":3}}`, "initializationOptions.profiles.debugging.resultCap", 50},
		{`{"codeIntensive":{"weights":{"edits":5000}}}`, "initializationOptions.profiles.codeIntensive.weights.edits", 1000},
		{`{"inARow":99}`, "initializationOptions.profiles.inARow", 10},
		{`{"mode":"lazy"}`, "initializationOptions.profiles", 0},
		{`{"debugging":{"resultcaps":3}}`, "initializationOptions.profiles", 0},
		{`7`, "initializationOptions.profiles", 0},
	} {
		server := startRaw(t)
		m := server.call(1, "initialize", json.RawMessage(`{"capabilities":{},"initializationOptions":{"profiles":`+c.profiles+`}}`))
		if m.Error == nil {
			t.Errorf("%s is taken", c.profiles)
			continue
		}
		var data wire.ErrorData
		if err := json.Unmarshal(m.Error.Data, &data); err != nil || data.Path != c.path || data.Limit != c.limit {
			t.Errorf("%s: %+v, %v", c.profiles, data, err)
		}
	}
}

// TestH18_ChosenProfileIsTold: with the mode auto, the pack that is the first to go
// by another profile says so and why, and an event does.
func TestH18_ChosenProfileIsTold(t *testing.T) {
	t.Parallel()
	server := startRaw(t)
	server.call(1, "initialize", json.RawMessage(`{"capabilities":{},"initializationOptions":{"profiles":{"mode":"auto","debugging":{"resultCap":777}}}}`))
	server.notify("initialized", json.RawMessage(`{}`))
	server.call(2, wire.MethodSessionOpen, json.RawMessage(`{"workspace":{"uri":"file:///p"},"session":"s"}`))
	id := 2
	build := func() (built wire.PackBuildResult) {
		id++
		if err := json.Unmarshal(server.call(id, wire.MethodPackBuild, json.RawMessage(`{"session":"s","budget":{"total":8000}}`)).Result, &built); err != nil {
			t.Fatal(err)
		}
		return built
	}
	first := build().Stability
	if first.Profile.Profile != "balanced" || first.Profile.Mode != "auto" || first.FoldExpectedInCalls != nil || first.HeadroomTokens == 0 {
		t.Errorf("at the beginning: %+v", first)
	}
	call := `{"role":"assistant","toolCalls":[{"id":"k","name":"Bash","input":{"command":"go test ./..."}}]},
		{"role":"tool","toolResults":[{"callId":"k","content":"--- FAIL: TestRead","isError":true}]}`
	for range 3 {
		id++
		turns := `{"role":"user","text":"Why does it fail?"}` + strings.Repeat(","+call, 6) + `,{"role":"assistant","text":"So."}`
		if m := server.call(id, wire.MethodConversationRecord, json.RawMessage(`{"session":"s","done":true,"turns":[`+turns+`]}`)); m.Error != nil {
			t.Fatal(m.Error)
		}
	}
	const reason = "12 of 12 calls of the last 2 conversations failed, 12 ran tests or checks"
	built := build()
	if p := built.Stability.Profile; p.Profile != "debugging" || p.Reason != reason || p.LaidOut != "balanced" {
		t.Errorf("the pack says %+v", p)
	}
	if s := built.Stability; s.FoldExpectedInCalls == nil || *s.FoldExpectedInCalls <= 0 {
		t.Errorf("no fold is expected: %+v", s)
	}
	var told wire.ProfileParams
	if err := json.Unmarshal(server.event(wire.EventProfile), &told); err != nil || told.Profile != "debugging" || told.Previous != "balanced" || told.Reason != reason {
		t.Errorf("the event says %+v, %v", told, err)
	}
	id++
	var got wire.ProfileGetResult
	if err := json.Unmarshal(server.call(id, wire.MethodProfileGet, json.RawMessage(`{"session":"s"}`)).Result, &got); err != nil {
		t.Fatal(err)
	}
	if got.Profile != "debugging" || got.Numbers.ResultCap != 777 || len(got.Scores) != 4 || got.Since == 0 {
		t.Errorf("profile/get says %+v", got)
	}
	id++
	var explained wire.PackExplainResult
	if err := json.Unmarshal(server.call(id, wire.MethodPackExplain, json.RawMessage(`{"session":"s","budget":{"total":8000}}`)).Result, &explained); err != nil {
		t.Fatal(err)
	}
	if explained.Profile != built.Stability.Profile {
		t.Errorf("pack/explain says %+v", explained.Profile)
	}
	// No request goes to the client: packs wait for no model.
	var replay wire.PackReplayResult
	id++
	params := json.RawMessage(`{"session":"s","checksum":"` + built.Checksum + `"}`)
	if err := json.Unmarshal(server.call(id, wire.MethodPackReplay, params).Result, &replay); err != nil || !replay.Match {
		t.Errorf("the pack cannot be built again: %v", err)
	}
}
