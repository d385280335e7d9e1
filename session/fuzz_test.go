package session_test

import (
	"testing"

	"hexapla/layers"
)

// FuzzParsePolicy: what is taken is a policy that can be used.
func FuzzParsePolicy(f *testing.F) {
	f.Add(`{"lowWaterPercent":40}`)
	f.Add(`{"unknown":1}`)
	f.Add(`[`)
	f.Fuzz(func(t *testing.T, text string) {
		policy, err := layers.ParsePolicy([]byte(text), layers.DefaultPolicy())
		if err == nil && policy.Check() != nil {
			t.Errorf("%s was taken: %v", text, policy.Check())
		}
	})
}
