package main

import (
	"encoding/json"
	"strings"
	"testing"

	"hexapla/rpc/wire"
)

// TestPolicyOption: numbers of the policy can be set when the server is
// initialized; what cannot be is refused with its place.
func TestPolicyOption(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ policy, complaint string }{
		{`{"lowWater":3}`, "lowWater"},
		{`{"lowWaterPercent":0}`, "lowWaterPercent is 0, must be from 1 to 100"},
		{`{"resultCap":"x"}`, "resultCap"},
		{`{"summariesPercent":90}`, "shares"},
		{`7`, "policy"},
	} {
		server := startRaw(t)
		m := server.call(1, "initialize", json.RawMessage(`{"capabilities":{},"initializationOptions":{"policy":`+c.policy+`}}`))
		if m.Error == nil || !strings.Contains(m.Error.Message, c.complaint) {
			t.Errorf("%s: %+v", c.policy, m.Error)
		}
		// A client may try again.
		if m = server.call(2, "initialize", json.RawMessage(`{"capabilities":{}}`)); m.Error != nil {
			t.Errorf("after %s: %+v", c.policy, m.Error)
		}
	}
	settings := func(options string) string {
		server := startRaw(t)
		server.call(1, "initialize", json.RawMessage(`{"capabilities":{}`+options+`}`))
		server.notify("initialized", nil)
		server.call(2, wire.MethodSessionOpen, json.RawMessage(`{"workspace":{"uri":"file:///p"},"session":"s"}`))
		var built struct{ Pack struct{ Settings string } }
		if err := json.Unmarshal(server.call(3, wire.MethodPackBuild, json.RawMessage(`{"session":"s","budget":{"total":4000}}`)).Result, &built); err != nil {
			t.Fatal(err)
		}
		return built.Pack.Settings
	}
	plain := settings("")
	if same := settings(`,"initializationOptions":{"policy":{"lowWaterPercent":33}}`); same != plain || plain == "" {
		t.Errorf("the default's own number makes %q of %q", same, plain)
	}
	if other := settings(`,"initializationOptions":{"policy":{"lowWaterPercent":50}}`); other == plain {
		t.Error("another policy has the same digest")
	}
}
