package layers

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// PolicyVersion names the packing policy. It changes whenever the same inputs
// would give other bytes than before.
const PolicyVersion = "deterministic-v1"

// Layout is the order in which a pack's sections are rendered.
type Layout string

// Layouts of a pack (design: cache-stable packs).
const (
	// LayoutStablePrefix puts what changes least first, so that a provider's
	// prompt cache finds the same bytes in front.
	LayoutStablePrefix Layout = "stable-prefix"
	// LayoutNarrativeFirst is the order of requirement H12's source: current
	// context, headers, recent conversations, summaries, retrieved.
	LayoutNarrativeFirst Layout = "narrative-first"
)

// Policy is every number that decides what a pack holds. It is part of the
// inputs of a pack: its digest is recorded with each.
type Policy struct {
	ActiveMemory int `json:"activeMemory"` // completed conversations in layer 1 after a step (H2: 1 to 10)
	WindowStep   int `json:"windowStep"`   // conversations demoted at once
	// WindowDeferrals is how often in a row the window is not moved because that
	// would cost more than it saves (design: net-cost gate).
	WindowDeferrals int `json:"windowDeferrals"`
	Summaries       int `json:"summaries"` // conversations in layer 3 (H4)
	Retrieved       int `json:"retrieved"` // relevant conversations shown with a new query
	// RelatedCoveragePercent is the share of a query's terms, by weight, from
	// which on an older conversation is relevant.
	RelatedCoveragePercent int `json:"relatedCoveragePercent"`

	// Shares of the context budget in percent (H10). The remainder is the
	// share of retrieved conversations.
	CurrentContextPercent int `json:"currentContextPercent"`
	ActiveMemoryPercent   int `json:"activeMemoryPercent"`
	HeadersPercent        int `json:"headersPercent"`
	SummariesPercent      int `json:"summariesPercent"`

	// LowWaterPercent is how much of the stream's room is filled right after a
	// fold. The lower, the rarer the folds and the less is in view.
	LowWaterPercent int `json:"lowWaterPercent"`
	// OpeningFoldPercent has a query that opens a conversation fold the stream
	// before it has to be, if so much of what a conversation adds would not fit;
	// 0 never does.
	OpeningFoldPercent int `json:"openingFoldPercent"`
	// How full the room may be after a fold when a piece is added in full, as
	// an excerpt, in brief; lines may fill it up.
	FullPercent    int `json:"fullPercent"`
	ExcerptPercent int `json:"excerptPercent"`
	BriefPercent   int `json:"briefPercent"`
	// The same for what the user and the model said, calls with their arguments
	// among it: in full, and in brief.
	SaidPercent      int `json:"saidPercent"`
	SaidBriefPercent int `json:"saidBriefPercent"`

	// CutNamesPercent is the share of a cap that goes to the names in what the
	// cap leaves out.
	CutNamesPercent int `json:"cutNamesPercent"`
	// NamesPercent is the share of what a fold fills that goes to the roster of
	// names that are no longer in view.
	NamesPercent int `json:"namesPercent"`

	// Fence marks headings and cleans what was recorded (layers/fence). Packs of
	// programs that did not are built again without.
	Fence bool `json:"fence"`
	// OpenErrors is how many open errors are never dropped; older ones may be.
	OpenErrors int `json:"openErrors"`
	// HintCap is the tokens of the line behind a failure that was met and
	// resolved before; 0 for none.
	HintCap    int `json:"hintCap"`
	FreshCap   int `json:"freshCap"`   // tokens of one tool output as long as it is the input
	ResultCap  int `json:"resultCap"`  // tokens of one tool output shown in full
	ExcerptCap int `json:"excerptCap"` // tokens of one tool output shown as an excerpt
	CallCap    int `json:"callCap"`    // tokens of one tool call's arguments shown in full
	// CallBriefCap is the tokens of one tool call's arguments in brief: the
	// lines that name something.
	CallBriefCap int `json:"callBriefCap"`
	// NamesCap bounds the tokens of the roster.
	NamesCap int `json:"namesCap"`
	// The same for packs that fill their budget, in which more is in view.
	FillNamesPercent int `json:"fillNamesPercent"`
	FillNamesCap     int `json:"fillNamesCap"`
	// NamesExact keeps the roster of names within its room to the token. Packs of
	// programs that did not could be a token or two over.
	NamesExact bool `json:"namesExact"`
	// FillPassages is how many turns that its query is about such a pack quotes at
	// most; packs of programs that did not know it quote none.
	FillPassages int `json:"fillPassages"`
	// FillPassagesPercent is the share of the context that such a pack keeps for
	// turns that its query is about, where no tool was called in the stream; besides,
	// they get what the stream leaves.
	FillPassagesPercent int `json:"fillPassagesPercent"`
	// NamesPathPercent is how much a path counts in the roster's ranking, any
	// other name being 100. Where a pack fills its budget, it is 100, too.
	NamesPathPercent int `json:"namesPathPercent"`
	DigestCap        int `json:"digestCap"` // tokens of the digest of folded turns
}

// DefaultPolicy returns the policy that is in force when nothing is set.
//
// The shares are requirement H10's. The water marks and caps were chosen by
// replaying recorded coding sessions; docs/benchmarks.md has the figures.
func DefaultPolicy() Policy {
	return Policy{
		ActiveMemory: 5, WindowStep: 5, WindowDeferrals: 3, Summaries: 5, Retrieved: 3, RelatedCoveragePercent: 35,
		CurrentContextPercent: 15, ActiveMemoryPercent: 25, HeadersPercent: 10, SummariesPercent: 35,
		LowWaterPercent: 33, OpeningFoldPercent: 50, FullPercent: 25, ExcerptPercent: 35, BriefPercent: 60, SaidPercent: 97, SaidBriefPercent: 99,
		Fence: true, OpenErrors: 5, HintCap: 60, FreshCap: 0, ResultCap: 500, ExcerptCap: 300, CallCap: 400, CallBriefCap: 160, NamesCap: 3000, FillNamesPercent: 40, FillNamesCap: 1600, NamesExact: true, FillPassages: 1000, FillPassagesPercent: 50, DigestCap: 240, NamesPercent: 50, CutNamesPercent: 50, NamesPathPercent: 150,
	}
}

// Shares splits a context budget of c tokens (H10). Rounding goes to
// retrieved, so that the shares add up to c.
func (p Policy) Shares(c int) (current, active, headers, summaries, retrieved int) {
	current = c * p.CurrentContextPercent / 100
	active = c * p.ActiveMemoryPercent / 100
	headers = c * p.HeadersPercent / 100
	summaries = c * p.SummariesPercent / 100
	return current, active, headers, summaries, c - current - active - headers - summaries
}

// ParsePolicy reads a policy: JSON with the members to be changed from a
// default. An unknown member, a wrong type and a number out of range are errors
// that name the member.
func ParsePolicy(data []byte, from Policy) (Policy, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&from); err != nil {
		return from, fmt.Errorf("policy: %w", err)
	}
	return from, from.Check()
}

// Check returns an error that names the first number that is out of range: a
// *LimitError, if it is one number.
func (p Policy) Check() error {
	if err := checkLimits("policy.", p.limits()); err != nil {
		return err
	}
	if sum := p.CurrentContextPercent + p.ActiveMemoryPercent + p.HeadersPercent + p.SummariesPercent; sum > 100 {
		return fmt.Errorf("policy: the four shares are %d percent, must be at most 100", sum)
	}
	return nil
}

// limits are the ranges of the numbers.
func (p *Policy) limits() []limit {
	return []limit{
		{"activeMemory", p.ActiveMemory, 1, MaxActiveMemory}, {"windowStep", p.WindowStep, 1, 10}, {"windowDeferrals", p.WindowDeferrals, 0, 20},
		{"summaries", p.Summaries, 0, 100}, {"retrieved", p.Retrieved, 0, 50}, {"relatedCoveragePercent", p.RelatedCoveragePercent, 0, 100},
		{"currentContextPercent", p.CurrentContextPercent, 0, 100}, {"activeMemoryPercent", p.ActiveMemoryPercent, 0, 100},
		{"headersPercent", p.HeadersPercent, 0, 100}, {"summariesPercent", p.SummariesPercent, 0, 100},
		{"lowWaterPercent", p.LowWaterPercent, 1, 100}, {"fullPercent", p.FullPercent, 0, 100}, {"openingFoldPercent", p.OpeningFoldPercent, 0, 1000},
		{"excerptPercent", p.ExcerptPercent, 0, 100}, {"briefPercent", p.BriefPercent, 0, 100},
		{"saidPercent", p.SaidPercent, 0, 100}, {"saidBriefPercent", p.SaidBriefPercent, 0, 100},
		{"namesPercent", p.NamesPercent, 0, 90}, {"cutNamesPercent", p.CutNamesPercent, 0, 90}, {"openErrors", p.OpenErrors, 0, 50}, {"hintCap", p.HintCap, 0, 60}, {"freshCap", p.FreshCap, 0, 1 << 20}, {"resultCap", p.ResultCap, 50, 1 << 20},
		{"excerptCap", p.ExcerptCap, 20, 1 << 20}, {"callCap", p.CallCap, 20, 1 << 20}, {"callBriefCap", p.CallBriefCap, 10, 1 << 20}, {"fillNamesPercent", p.FillNamesPercent, 0, 90}, {"fillNamesCap", p.FillNamesCap, 0, 1 << 20}, {"fillPassages", p.FillPassages, 0, 1000}, {"fillPassagesPercent", p.FillPassagesPercent, 0, 90},
		{"namesPathPercent", p.NamesPathPercent, 0, 1000},
		{"namesCap", p.NamesCap, 0, 1 << 20}, {"digestCap", p.DigestCap, 0, 4000},
	}
}
