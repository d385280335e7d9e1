package session_test

import (
	"sync"

	"hexapla/layers/scrub"
	"hexapla/layers/tokens"
	"hexapla/session"
)

// defaultRules and counts are what services of the same program have in common:
// compiling and building them takes longer than most tests.
var (
	defaultRules = sync.OnceValue(func() *scrub.Rules {
		rules, err := scrub.Compile(scrub.DefaultSettings())
		if err != nil {
			panic(err)
		}
		return rules
	})
	counts = tokens.NewRegistry()
)

// newService returns a service that has the default rules and the tables of
// tokens from here, where its options do not say otherwise.
func newService(opts session.Options) *session.Service {
	if opts.Secrets == nil {
		opts.Secrets = defaultRules()
	}
	if opts.Tokens == nil {
		opts.Tokens = counts
	}
	return session.New(opts)
}
