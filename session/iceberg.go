package session

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"hexapla/layers"
	"hexapla/layers/history"
	"hexapla/layers/iceberg"
)

// This file is what is asked and answered of the four tiers; iceberg_build.go builds
// them.

// TiersRequest asks for an agent's messages in four tiers.
type TiersRequest struct {
	HistoryRequest        // Budget is what all tiers may take; 0 for Threshold percent of the limit
	Agent          string // whose memory items tier 2 has; the session's when empty
	User           string // whose month counts
	Strategy       Strategy
}

// Strategy decides what the tiers hold.
type Strategy struct {
	Percent *float64       // of the budget that is left; what budget/status says when nil
	Rules   iceberg.Rules  // the client's settings when nil
	Force   []iceberg.Tier // tiers that hold what they hold with all of the budget left
}

// maxPercent bounds a share.
const maxPercent = 100

// check tells what is wrong with parameters that can be wrong in themselves. What
// is found out later leaves the messages as they are.
func (r *TiersRequest) check() error {
	switch {
	case r.Budget < 0 || r.Budget > maxWindow:
		return &InvalidError{Path: "budget", Message: "must be between 1 and 100000000", Limit: maxWindow}
	case r.Limit < 0 || r.Limit > maxWindow:
		return &InvalidError{Path: "limit", Message: "must be between 1 and 100000000", Limit: maxWindow}
	case len(r.Agent) > maxAgentBytes:
		return &InvalidError{Path: "agent", Message: "too long", Limit: maxAgentBytes}
	case len(r.Key) > maxKey:
		return &InvalidError{Path: "key", Message: "too long", Limit: maxKey}
	}
	if err := checkUser(r.User); err != nil {
		return err
	}
	return r.Strategy.check("")
}

// check tells what is wrong with a strategy at a path of the parameters.
func (s *Strategy) check(path string) error {
	if p := s.Percent; p != nil && !(*p >= 0 && *p <= maxPercent) {
		return &InvalidError{Path: path + "budgetPercent", Message: "must be between 0 and 100", Limit: maxPercent}
	}
	if s.Rules != nil {
		if err := s.Rules.Check(); err != nil {
			return RuleProblem(path, err)
		}
	}
	for i, tier := range s.Force {
		if !slices.Contains(iceberg.All(), tier) {
			return &InvalidError{Path: fmt.Sprintf("%sforce[%d]", path, i), Message: "must be 1, 2, 3 or 4", Limit: int64(iceberg.History)}
		}
	}
	return nil
}

// RuleProblem is what is wrong with a table of rules, as an *InvalidError under a
// path.
func RuleProblem(path string, err error) error {
	bad, ok := err.(*iceberg.RuleError) //nolint:errorlint // Rules.Check returns no other
	if !ok {
		return err
	}
	return &InvalidError{Path: fmt.Sprintf("%srules[%d].%s", path, bad.Rule, bad.Member), Message: bad.Message, Limit: int64(bad.Limit)}
}

// Places that rules come from.
const (
	RulesDefault  = "default"
	RulesSettings = "settings"
	RulesRequest  = "request"
)

// Chosen is the strategy that was in force.
type Chosen struct {
	Range   string         `json:"range"` // of what is left, such as "40-60%"
	Rule    iceberg.Rule   `json:"rule"`
	Rules   string         `json:"rules"` // RulesDefault, RulesSettings or RulesRequest
	Forced  []iceberg.Tier `json:"forced,omitempty"`
	Percent float64        `json:"percent"`           // that was left
	Given   bool           `json:"given,omitempty"`   // Percent was given
	Binding *BudgetUse     `json:"binding,omitempty"` // whose share it is; nil where there is no limit, or it was given
}

// TierPart is something in a tier, or something that gave way.
type TierPart struct {
	ID     string // of an item, path of a file, index of a message
	Detail string // how it is shown; layers.FormNone where it is not
	Tokens int
	Reason string // why it is not shown, or not in full
}

// TierContent is what a tier holds.
type TierContent struct {
	Tier   iceberg.Tier
	Tokens int
	Items  int // that are shown
	Parts  []TierPart
}

// Kinds of warnings.
const (
	WarnNotBuilt     = "notBuilt"     // the messages are as they came
	WarnUnknownAgent = "unknownAgent" // tier 2 is empty
	WarnUnknownModel = "unknownModel" // window, tokenizer and prices are the default's
	WarnNoFolder     = "noFolder"     // the workspace's folder cannot be read
	WarnExceeded     = "exceeded"     // nothing is left of the budget
	WarnProblems     = "problems"     // a provider would refuse messages as they came; those are left out
)

// TierWarning is something that a client should know of a build.
type TierWarning struct {
	Kind     string
	Path     string // the parameter, if there is one
	Message  string
	Smallest int // for a budget that is too small: the smallest that works, in tokens
}

// TiersReply is an agent's messages in four tiers.
type TiersReply struct {
	Built    bool // false if Messages are as they came
	Messages []json.RawMessage
	// Context is the message with layer 0, memory items and files; nil if there is
	// none. It stands in Messages at ContextAt.
	Context      json.RawMessage
	ContextAt    int
	Kept         []int // indices
	Removed      []RemovedMessage
	Tiers        []TierContent // all four
	Chosen       Chosen
	Original     int // tokens of the messages and system as they came
	Tokens       int // of Messages and system
	SystemTokens int
	Budget       int // tokens that all tiers might take
	Estimate     bool
	Warnings     []TierWarning
	Checksum     string // SHA-256 of Messages and system
	Sequence     int64
	outcome      history.Outcome
	list         *historyList
}

// Reduction is by how much the messages became smaller, in percent with one
// decimal; negative where they grew.
func (r *TiersReply) Reduction() float64 { return reduction(r.Original, r.Tokens) }

func reduction(before, after int) float64 {
	if before == 0 {
		return 0
	}
	return math.Round(float64(before-after)/float64(before)*1000) / 10
}

// tierOf is one of the reply's tiers.
func (r *TiersReply) tierOf(t iceberg.Tier) *TierContent { return &r.Tiers[t-iceberg.Always] }

// put adds a part to a tier.
func (t *TierContent) put(part TierPart) {
	t.Parts = append(t.Parts, part)
	if part.Detail != layers.FormNone {
		t.Items++
		t.Tokens += part.Tokens
	}
}
