package session_test

import (
	"os"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// lawCases is an environment variable: for how many cases the laws hold that open
// stores and take long. There are no more than -rapid.checks.
const lawCases = "SESSION_LAW_CASES"

// counted returns the number in an environment variable, or a small one.
func counted(t *testing.T, name string, small int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return small
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q: must be a number", name, text)
	}
	return n
}

// holds has rapid check a property for so many cases. Once one fails, rapid looks
// for the smallest that does, for which there is no limit.
func holds(t *testing.T, cases int, property func(*rapid.T)) {
	t.Helper()
	failed := false
	rapid.Check(t, func(rt *rapid.T) {
		if !failed {
			if cases--; cases < 0 {
				return
			}
		}
		failed = true
		property(rt)
		failed = false
	})
}
