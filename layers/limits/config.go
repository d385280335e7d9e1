package limits

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Strategy is a way to make a context smaller.
type Strategy string

// Strategies, in the order in which they are tried when nothing is set.
const (
	SummarizeOld     Strategy = "summarize_old"
	PrioritizeRecent Strategy = "prioritize_recent"
	ContentChunking  Strategy = "content_type_chunking"
	DiscardLowRel    Strategy = "discard_low_rel"
	Hybrid           Strategy = "hybrid"
)

// Strategies returns all strategies in that order. The caller owns the slice.
func Strategies() []Strategy {
	return []Strategy{SummarizeOld, PrioritizeRecent, ContentChunking, DiscardLowRel, Hybrid}
}

// RecoveryMode is what is done when no strategy helps.
type RecoveryMode string

// Modes of recovery.
const (
	FreshStart RecoveryMode = "fresh_start" // a handover summary alone, with what fits of priority 1
	Truncate   RecoveryMode = "truncate"    // the newest units that fit
	Fail       RecoveryMode = "error"       // nothing; the caller is told
)

// Placeholders.
const (
	PlaceholderBrief  = "brief"
	PlaceholderLinked = "linked"
)

// Details of progress.
const (
	DetailMinimal  = "minimal"
	DetailNormal   = "normal"
	DetailDetailed = "detailed"
)

// Config is everything that is set about limits. The numbers are seed 003's.
type Config struct {
	MinLimit         int     // tokens; no limit is below it
	DefaultLimit     int     // tokens of an agent or type that has none of its own
	WarningThreshold float64 // share of a limit at which breaking starts
	PerLLM           []LLMLimit
	PerAgent         []AgentLimit

	Chain            []Strategy // in the order in which they are tried
	MaxIterations    int        // rounds of the chain
	OldThreshold     float64    // share of the units, the oldest, that is old
	SummaryLength    int        // tokens of the summary of what is old
	RelThreshold     float64    // relevance from which on a unit stays
	RecentBias       float64    // share of the units, the newest, that stays
	PriorityBoost    float64    // factor of the relevance of priority 1
	Ratios           Ratios
	DiscardPercent   float64 // share of the units that may be discarded in one step
	Placeholder      string
	SummaryCoherence float64 // a summary that leaves less is taken back
	DiscardCoherence float64 // a discard that leaves less is taken back

	RecoveryMode RecoveryMode
	Retry        Retry
	RetryPerTool []ToolRetry
	Progress     Progress
}

// LLMLimit is the limit of a type of model.
type LLMLimit struct {
	Type          string
	Limit         int
	FollowDefault bool     // the default limit counts instead
	Models        []string // names of models that are of the type, beside one of its own name
}

// AgentLimit is the limit of an agent.
type AgentLimit struct {
	Agent    string
	Limit    int // 0 for the default
	Priority int // 1 has a fifth more
}

// Ratios are the shares of their tokens to which kinds of units are compressed; 1
// is verbatim.
type Ratios struct{ Code, Text, Plan, Log, Other float64 }

// Progress is how an editor shows phases.
type Progress struct {
	Show            bool
	Detail          string
	AutoHideSeconds int
	HighlightP1     bool
}

// Bounds of settings.
const (
	MaxLimit   = 10_000_000 // tokens
	LeastLimit = 100        // tokens
	maxRounds  = 10
)

// Default returns the configuration that is in force when nothing is set.
func Default() Config {
	return Config{
		MinLimit: 3500, DefaultLimit: 5000, WarningThreshold: 0.8,
		PerLLM: []LLMLimit{
			{Type: "local_14b", Limit: 3500, FollowDefault: true},
			{Type: "cloud_grok", Limit: 8000},
			{Type: "gpt4", Limit: 6000, FollowDefault: true},
		},
		Chain: Strategies(), MaxIterations: 3, OldThreshold: 0.6, SummaryLength: 300,
		RelThreshold: 0.5, RecentBias: 0.2, PriorityBoost: 1.5,
		Ratios:         Ratios{Code: 0.7, Text: 0.5, Plan: 1, Log: 0.4, Other: 0.6},
		DiscardPercent: 0.3, Placeholder: PlaceholderBrief, SummaryCoherence: 0.7, DiscardCoherence: 0.6,
		RecoveryMode: FreshStart,
		Retry:        Retry{MaxAttempts: 3, BaseSeconds: 5, MaxSeconds: 60},
		RetryPerTool: []ToolRetry{{Tool: "askQuestion", Retry: Retry{MaxAttempts: 4, BaseSeconds: 10, MaxSeconds: 60}}},
		Progress:     Progress{Show: true, Detail: DetailNormal, AutoHideSeconds: 3, HighlightP1: true},
	}
}

// Limit is the limit of an agent that uses a type of model.
type Limit struct {
	Tokens  int
	Warning int    // tokens at which breaking starts, and to which it goes
	Source  string // "default", "agent", "llm" or "floor": what decided
	Type    string // of the model; "" if none is set for it
	P1      bool   // a fifth was added
}

// Sources of a limit.
const (
	SourceDefault = "default"
	SourceAgent   = "agent"
	SourceLLM     = "llm"
	SourceFloor   = "floor"
)

// Limit returns the limit of an agent with a type of model, "" being none, and
// whether the agent's work has priority 1 whatever is set. Of two limits that are
// set the smaller counts. None is below the floor; priority 1 adds a fifth.
func (c *Config) Limit(agent, llm string, p1 bool) Limit {
	out := Limit{Tokens: c.DefaultLimit, Source: SourceDefault, P1: p1}
	for _, l := range c.PerLLM {
		if l.Type == llm {
			out.Type = llm
			if !l.FollowDefault {
				out.Tokens, out.Source = l.Limit, SourceLLM
			}
		}
	}
	for _, a := range c.PerAgent {
		if a.Agent != agent {
			continue
		}
		out.P1 = out.P1 || a.Priority == PriorityP1
		if a.Limit > 0 && (out.Source == SourceDefault || a.Limit < out.Tokens) {
			out.Tokens, out.Source = a.Limit, SourceAgent
		}
	}
	if out.Tokens < c.MinLimit {
		out.Tokens, out.Source = c.MinLimit, SourceFloor
	}
	if out.P1 {
		out.Tokens += out.Tokens / 5
	}
	out.Warning = int(float64(out.Tokens) * c.WarningThreshold)
	return out
}

// TypeOf returns the type that is set for a model: one of its name, or one that
// names it or the beginning of its name; "" if there is none.
func (c *Config) TypeOf(model string) string {
	if model == "" {
		return ""
	}
	best, length := "", 0
	for _, l := range c.PerLLM {
		if l.Type == model {
			return model
		}
		for _, name := range l.Models {
			if len(name) > length && strings.HasPrefix(strings.ToLower(model), strings.ToLower(name)) {
				best, length = l.Type, len(name)
			}
		}
	}
	return best
}

// HasType tells whether limits are set for a type of model.
func (c *Config) HasType(llm string) bool {
	return slices.ContainsFunc(c.PerLLM, func(l LLMLimit) bool { return l.Type == llm })
}

// HasAgent tells whether something is set for an agent.
func (c *Config) HasAgent(agent string) bool {
	return slices.ContainsFunc(c.PerAgent, func(a AgentLimit) bool { return a.Agent == agent })
}

// SettingError says that a setting is out of range.
type SettingError struct {
	Key     string // as in a settings file, such as "per_llm[1].limit"
	Message string
	Limit   int64 // the bound that was passed; 0 if there is none
}

// Error names the key and what is wrong.
func (e *SettingError) Error() string { return e.Key + ": " + e.Message }

// Check returns a *SettingError for the first setting that is out of range. Each
// key is checked alone but for the limits, which say which one decides.
func (c *Config) Check() error {
	type number struct {
		key       string
		value     float64
		low, high float64
	}
	whole := func(key string, value, low, high int) number {
		return number{key, float64(value), float64(low), float64(high)}
	}
	const b = "breaking_strategy."
	numbers := []number{
		whole("min_limit", c.MinLimit, LeastLimit, MaxLimit), whole("default_limit", c.DefaultLimit, LeastLimit, MaxLimit),
		{"warning_threshold", c.WarningThreshold, 0.1, 1},
		whole(b+"hybrid.max_iterations", c.MaxIterations, 1, maxRounds),
		{b + "summarize_old.old_threshold", c.OldThreshold, 0, 1}, whole(b+"summarize_old.summary_length", c.SummaryLength, 20, 10_000),
		{b + "summarize_old.min_coherence", c.SummaryCoherence, 0, 1},
		{b + "prioritize_recent.rel_threshold", c.RelThreshold, 0, 1}, {b + "prioritize_recent.recent_bias", c.RecentBias, 0, 1},
		{b + "prioritize_recent.priority_boost", c.PriorityBoost, 1, 10},
		{b + "content_type_chunking.compress_ratios.code", c.Ratios.Code, 0.01, 1}, {b + "content_type_chunking.compress_ratios.text", c.Ratios.Text, 0.01, 1},
		{b + "content_type_chunking.compress_ratios.plan_ref", c.Ratios.Plan, 0.01, 1}, {b + "content_type_chunking.compress_ratios.log", c.Ratios.Log, 0.01, 1},
		{b + "content_type_chunking.compress_ratios.other", c.Ratios.Other, 0.01, 1},
		{b + "discard_low_rel.discard_percent", c.DiscardPercent, 0, 1}, {b + "discard_low_rel.min_coherence", c.DiscardCoherence, 0, 1},
		whole("progress.auto_hide_seconds", c.Progress.AutoHideSeconds, 1, 10),
	}
	for i, l := range c.PerLLM {
		numbers = append(numbers, whole(fmt.Sprintf("per_llm[%d].limit", i), l.Limit, LeastLimit, MaxLimit))
	}
	for i, a := range c.PerAgent {
		if a.Limit != 0 {
			numbers = append(numbers, whole(fmt.Sprintf("per_agent[%d].limit", i), a.Limit, LeastLimit, MaxLimit))
		}
		numbers = append(numbers, whole(fmt.Sprintf("per_agent[%d].priority", i), a.Priority, PriorityNone, MaxPriority))
	}
	retries := append([]ToolRetry{{Retry: c.Retry}}, c.RetryPerTool...)
	for i, r := range retries {
		key := "retry_policies.default."
		if i > 0 {
			key = "retry_policies.per_tool." + r.Tool + "."
		}
		numbers = append(numbers, whole(key+"max_attempts", r.MaxAttempts, 1, 20),
			whole(key+"backoff_base_seconds", r.BaseSeconds, 0, 3600), whole(key+"max_delay_seconds", r.MaxSeconds, 0, 3600))
	}
	for _, n := range numbers {
		if !(n.value >= n.low && n.value <= n.high) { // also what is no number
			e := &SettingError{Key: n.key, Message: "must be " + decimal(n.low) + " to " + decimal(n.high), Limit: int64(n.high)}
			if n.value < n.low {
				e.Limit = int64(n.low)
			}
			return e
		}
	}
	return nil
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
