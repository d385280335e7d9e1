package main

import (
	"encoding/json"
	"testing"

	"hexapla/internal/shareddata"
)

// TestEvalCounting: what earlier calls taught predicts later prompts better
// than the default factor does, on recorded sessions.
func TestEvalCounting(t *testing.T) {
	t.Parallel()
	o := hexapla(t, nil, "eval", "--data", shareddata.Dir(t), "--set", "counting", "--json")
	var got countingResult
	if err := json.Unmarshal([]byte(o.out), &got); err != nil || o.code != exitOK {
		t.Fatalf("exit %d, %v: %s%s", o.code, err, o.out, o.errs)
	}
	if got.Prompts < 1000 || got.Sessions < 20 || got.After.Mean <= 0 || got.After.Mean >= got.Before.Mean || got.After.P95 >= got.Before.P95 {
		t.Errorf("%+v", got)
	}
}
