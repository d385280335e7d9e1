package history

import (
	"hexapla/layers"
	"hexapla/layers/answer"
	"hexapla/layers/digest"
	"hexapla/layers/terms"
)

// What the parts of a score weigh; together 100 (requirement P1).
const (
	WeightRecency  = 40
	WeightSystem   = 30
	WeightUser     = 20
	WeightModel    = 10 // and results of tools
	WeightKeywords = 25
	WeightLength   = 5
)

// The keywords' part by what speaks for it; together WeightKeywords.
const (
	weightErrors     = 10 // an error pattern, or a result that failed
	weightTools      = 8  // calls of tools, or their results
	weightOperations = 7  // edits, tests, commands and version control among the calls
)

// Sizes.
const (
	// longMessage is how many tokens have the whole length part.
	longMessage = 1000
	// mediaTokens is what an image or another medium is counted as. Anthropic
	// gives about 1,600 for the largest image.
	mediaTokens = 1600
	// maxKeywordBytes is how much of a text is looked through for errors, of its
	// end, where they stand.
	maxKeywordBytes = 8 << 10
)

// Role is who a message counts as.
type Role string

// Roles of messages.
const (
	RoleSystem Role = "system"
	RoleUser   Role = "user"
	RoleModel  Role = "model"
	RoleTool   Role = "tool" // nothing but results
)

// Message is what pruning needs to know of one message. It depends on its bytes
// and on the counter alone, so it can be kept.
type Message struct {
	Role     Role
	Tokens   int
	Provider answer.Provider // "" where several have the shape

	keywords float64
	calls    []string // ids
	results  []string // ids, or names where the provider gives none
	leans    bool
}

// Read reads one message. The error is answer.ErrMessage.
func Read(message []byte, c layers.Counter) (Message, error) {
	l, provider, err := answer.ReadListed(message)
	if err != nil {
		return Message{}, err
	}
	m := Message{Role: roleOf(&l), Provider: provider, leans: l.Leans}
	m.Tokens = mediaTokens*l.Media + c.Count(l.Turn.Text) + c.Count(l.Thoughts) + c.Count(l.Rest)
	for _, call := range l.Turn.Calls {
		m.Tokens += c.Count(call.Line())
		m.calls = append(m.calls, key(call.ID, call.Name))
	}
	for _, r := range l.Turn.Results {
		m.Tokens += c.Count(r.Content)
		m.results = append(m.results, key(r.CallID, r.Tool))
	}
	m.keywords = keywords(&l.Turn)
	return m, nil
}

func roleOf(l *answer.Listed) Role {
	switch {
	case l.System:
		return RoleSystem
	case l.Turn.Role == layers.RoleAssistant:
		return RoleModel
	case l.Turn.Role == layers.RoleTool:
		return RoleTool
	}
	return RoleUser
}

// key is what a call and its result are known by. Gemini's have no ids.
func key(id, name string) string {
	if id != "" {
		return "#" + id
	}
	return name
}

// keywords is the part of a score that a message has for what it speaks of.
func keywords(t *layers.Turn) float64 {
	work := digest.Work([]layers.Turn{*t})
	failed := hasError(t.Text)
	for i := range t.Results {
		failed = failed || t.Results[i].IsError || hasError(t.Results[i].Content)
	}
	sum := 0.0
	if failed {
		sum += weightErrors
	}
	if len(t.Calls)+len(t.Results) > 0 {
		sum += weightTools
	}
	if work.Edits+work.Tests+work.Upkeep+work.Commands > 0 {
		sum += weightOperations
	}
	return sum
}

func hasError(text string) bool {
	if len(text) > maxKeywordBytes {
		text = text[len(text)-maxKeywordBytes:]
	}
	return len(digest.EntitiesOf(text).Errors) > 0
}

// Score is how much a message is worth, with its parts (requirement P1).
type Score struct {
	Total                           float64 // 0 to 100
	Recency, Role, Keywords, Length float64
}

// score is that of message i of n.
func (m *Message) score(i, n int) Score {
	s := Score{Recency: WeightRecency, Role: WeightModel, Keywords: m.keywords}
	if n > 1 {
		s.Recency = terms.Round(float64(WeightRecency*i) / float64(n-1))
	}
	switch m.Role {
	case RoleSystem:
		s.Role = WeightSystem
	case RoleUser:
		s.Role = WeightUser
	}
	s.Length = terms.Round(float64(WeightLength*min(m.Tokens, longMessage)) / longMessage)
	s.Total = terms.Round(s.Recency + s.Role + s.Keywords + s.Length)
	return s
}
