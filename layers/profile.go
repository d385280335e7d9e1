package layers

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// ProfileName names a set of numbers of the packing policy (H18).
type ProfileName string

// Profiles. Balanced is the policy as it is set, without changes.
const (
	ProfileBalanced    ProfileName = "balanced"
	ProfileCode        ProfileName = "codeIntensive"
	ProfileDebugging   ProfileName = "debugging"
	ProfileExploration ProfileName = "exploration"
	ProfileMaintenance ProfileName = "maintenance"
	// ProfileAuto is no profile: it has one chosen from the recent turns.
	ProfileAuto ProfileName = "auto"
)

// DetectedProfiles are those that work can point to, in the order in which ties
// are decided.
var detectedProfiles = [...]ProfileName{ProfileCode, ProfileDebugging, ProfileExploration, ProfileMaintenance}

// Valid tells whether the name is that of a profile, or auto.
func (n ProfileName) Valid() bool {
	switch n {
	case ProfileBalanced, ProfileCode, ProfileDebugging, ProfileExploration, ProfileMaintenance, ProfileAuto:
		return true
	}
	return false
}

// Profile is the numbers of the policy that a profile has of its own, and what
// kinds of calls speak for it.
type Profile struct {
	// Active memory size and summary depth count when the window moves.
	ActiveMemory int `json:"activeMemory"`
	Summaries    int `json:"summaries"`
	// The retrieval threshold counts when a query opens a conversation.
	Retrieved              int `json:"retrieved"`
	RelatedCoveragePercent int `json:"relatedCoveragePercent"`
	// The level of compression. Caps count for what is recorded from then on,
	// the others at a fold.
	ResultCap       int `json:"resultCap"`
	ExcerptCap      int `json:"excerptCap"`
	CallCap         int `json:"callCap"`
	CallBriefCap    int `json:"callBriefCap"`
	LowWaterPercent int `json:"lowWaterPercent"`
	OpenErrors      int `json:"openErrors"`

	Weights Weights `json:"weights"`
}

// Weights are what the shares of kinds of calls count for a profile's score, in
// percent: its score is the sum of weight × share, from 0 to 100.
type Weights struct {
	Edits    int `json:"edits"`
	Tests    int `json:"tests"`
	Failed   int `json:"failed"`
	Reads    int `json:"reads"`
	Searches int `json:"searches"`
	Upkeep   int `json:"upkeep"`
	Commands int `json:"commands"`
}

// Profiles are the settings of profiles: their numbers, and how one is chosen.
type Profiles struct {
	// Mode is the profile of sessions for which none was set by hand;
	// ProfileAuto has one chosen for each.
	Mode ProfileName `json:"mode"`
	// Conversations is how many of the newest ones are looked at together, InARow
	// how often in a row they must point to the same profile, and LookBack how
	// many conversations back that is looked for.
	Conversations int `json:"conversations"`
	InARow        int `json:"inARow"`
	LookBack      int `json:"lookBack"`
	// LeastCalls is how many calls of tools they must have, and LeastScore the
	// score from which on a profile other than balanced is pointed to.
	LeastCalls int `json:"leastCalls"`
	LeastScore int `json:"leastScore"`

	CodeIntensive Profile `json:"codeIntensive"`
	Debugging     Profile `json:"debugging"`
	Exploration   Profile `json:"exploration"`
	Maintenance   Profile `json:"maintenance"`
}

// DefaultProfiles returns the profiles that are in force when nothing is set.
// docs/benchmarks.md has what each costs and holds.
func DefaultProfiles() Profiles {
	return Profiles{
		Mode: ProfileAuto, Conversations: 3, InARow: 2, LookBack: 8, LeastCalls: 6, LeastScore: 50,
		CodeIntensive: Profile{
			ActiveMemory: 5, Summaries: 5, Retrieved: 2, RelatedCoveragePercent: 40,
			ResultCap: 500, ExcerptCap: 300, CallCap: 450, CallBriefCap: 180, LowWaterPercent: 33, OpenErrors: 5,
			Weights: Weights{Edits: 250, Failed: -50, Searches: -50},
		},
		Debugging: Profile{
			ActiveMemory: 6, Summaries: 5, Retrieved: 4, RelatedCoveragePercent: 30,
			ResultCap: 550, ExcerptCap: 320, CallCap: 400, CallBriefCap: 160, LowWaterPercent: 33, OpenErrors: 10,
			Weights: Weights{Tests: 150, Failed: 400},
		},
		Exploration: Profile{
			ActiveMemory: 4, Summaries: 8, Retrieved: 5, RelatedCoveragePercent: 30,
			ResultCap: 450, ExcerptCap: 280, CallCap: 400, CallBriefCap: 160, LowWaterPercent: 33, OpenErrors: 5,
			Weights: Weights{Reads: 110, Searches: 130, Edits: -150},
		},
		Maintenance: Profile{
			ActiveMemory: 3, Summaries: 3, Retrieved: 2, RelatedCoveragePercent: 45,
			ResultCap: 400, ExcerptCap: 250, CallCap: 300, CallBriefCap: 120, LowWaterPercent: 33, OpenErrors: 5,
			Weights: Weights{Upkeep: 160, Commands: 80, Edits: -50, Failed: -50},
		},
	}
}

// Of returns a profile's numbers; false for balanced and auto, which have none of
// their own.
func (p *Profiles) Of(name ProfileName) (*Profile, bool) {
	switch name {
	case ProfileCode:
		return &p.CodeIntensive, true
	case ProfileDebugging:
		return &p.Debugging, true
	case ProfileExploration:
		return &p.Exploration, true
	case ProfileMaintenance:
		return &p.Maintenance, true
	}
	return nil, false
}

// Policy returns the policy that a profile makes of another.
func (p *Profiles) Policy(name ProfileName, policy Policy) Policy {
	if own, ok := p.Of(name); ok {
		return own.apply(policy)
	}
	return policy
}

func (p *Profile) apply(policy Policy) Policy {
	policy.ActiveMemory, policy.Summaries = p.ActiveMemory, p.Summaries
	policy.Retrieved, policy.RelatedCoveragePercent = p.Retrieved, p.RelatedCoveragePercent
	policy.ResultCap, policy.ExcerptCap, policy.CallCap, policy.CallBriefCap = p.ResultCap, p.ExcerptCap, p.CallCap, p.CallBriefCap
	policy.LowWaterPercent, policy.OpenErrors = p.LowWaterPercent, p.OpenErrors
	return policy
}

// LimitError says that a number of the settings is out of range.
type LimitError struct {
	Member string // such as "policy.resultCap"
	Value  int
	Least  int
	Most   int
}

// Error names the member and its range.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%s is %d, must be from %d to %d", e.Member, e.Value, e.Least, e.Most)
}

// Limit returns the end of the range that was passed.
func (e *LimitError) Limit() int {
	if e.Value < e.Least {
		return e.Least
	}
	return e.Most
}

// ParseProfiles reads profiles: JSON with the members to be changed from a
// default. A number out of range gives a *LimitError; an unknown member and a
// wrong type are errors that name the member.
func ParseProfiles(data []byte, from Profiles) (Profiles, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&from); err != nil {
		return from, fmt.Errorf("profiles: %w", err)
	}
	return from, from.Check()
}

// Check returns an error that names the first member that is out of range.
func (p Profiles) Check() error {
	if !p.Mode.Valid() {
		return fmt.Errorf("profiles.mode: must be %q or the name of a profile: %q, %q, %q, %q or %q", ProfileAuto,
			ProfileBalanced, ProfileCode, ProfileDebugging, ProfileExploration, ProfileMaintenance)
	}
	limits := []limit{
		{"conversations", p.Conversations, 1, 20}, {"inARow", p.InARow, 1, 10}, {"lookBack", p.LookBack, 1, 50},
		{"leastCalls", p.LeastCalls, 1, 1000}, {"leastScore", p.LeastScore, 1, 100},
	}
	if err := checkLimits("profiles.", limits); err != nil {
		return err
	}
	for _, name := range detectedProfiles {
		own, _ := p.Of(name)
		if err := own.check("profiles." + string(name) + "."); err != nil {
			return err
		}
	}
	return nil
}

func (p *Profile) check(path string) error {
	// The policy's own limits hold for what stands in its place.
	policy := p.apply(DefaultPolicy())
	if err := checkLimits(path, policy.limits()); err != nil {
		return err
	}
	const most = 1000
	w := p.Weights
	return checkLimits(path+"weights.", []limit{
		{"edits", w.Edits, -most, most}, {"tests", w.Tests, -most, most}, {"failed", w.Failed, -most, most}, {"reads", w.Reads, -most, most},
		{"searches", w.Searches, -most, most}, {"upkeep", w.Upkeep, -most, most}, {"commands", w.Commands, -most, most},
	})
}

// limit is the range of a number of the settings.
type limit struct {
	name        string
	value       int
	least, most int
}

func checkLimits(path string, limits []limit) error {
	for _, l := range limits {
		if l.value < l.least || l.value > l.most {
			return &LimitError{Member: path + l.name, Value: l.value, Least: l.least, Most: l.most}
		}
	}
	return nil
}
