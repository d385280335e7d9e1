package answer

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hexapla/layers"
)

// Answer is a model's answer in its four parts (requirement H9).
type Answer struct {
	Content      string
	ToolUses     []layers.ToolCall
	Housekeeping *layers.Housekeeping
	Requests     *layers.ContextRequests
	// Calls are the calls of Hexapla's own tools, which are not among ToolUses.
	Calls    []OwnCall
	Problems []Problem
}

// OwnCall is a call of one of Hexapla's tools.
type OwnCall struct {
	ID       string
	Name     string // HousekeepingTool or ContextTool
	Problems []Problem
}

// Problem is something of an answer that could not be used. The message names
// members of the protocol, never what the model wrote.
type Problem struct {
	Part    string // PartHousekeeping, PartRequests, PartToolUses or PartContent
	Message string
}

// Parts of an answer.
const (
	PartContent      = "content"
	PartToolUses     = "toolUses"
	PartHousekeeping = "housekeeping"
	PartRequests     = "contextRequests"
)

// Limits of what is read of one answer. What is beyond them is reported.
const (
	maxProblems = 20       // listed singly
	maxItems    = 200      // elements of a list in housekeeping
	maxText     = 16 << 10 // bytes of one text in housekeeping; its caps are far below
	maxAsked    = 10000    // ids, topics and entries that are asked for, each
	maxName     = 256      // bytes of an id
	maxTopic    = 8 << 10  // bytes of a topic or query
	maxCalls    = 1000     // tool calls
)

// reader gathers what is read. What is said twice counts once: of texts and
// states the last, of lists that add up all that is different.
type reader struct {
	answer Answer
	more   int // problems beyond maxProblems
	asked  int // ids
}

func (r *reader) problem(part, message string) {
	if len(r.answer.Problems) == maxProblems {
		r.more++
		return
	}
	r.answer.Problems = append(r.answer.Problems, Problem{part, message})
}

// finish returns the answer.
func (r *reader) finish() Answer {
	if r.more > 0 {
		last := &r.answer.Problems[maxProblems-1]
		*last = Problem{last.Part, strconv.Itoa(r.more+1) + " more problems are not listed"}
	}
	return r.answer
}

// report turns what was lost of a JSON value into problems: of the part that
// the place begins with, or else of the one that is given.
func (r *reader) report(part string, v repaired) {
	of := func(place string) string {
		for _, known := range [...]string{PartContent, PartToolUses, PartHousekeeping, PartRequests} {
			if rest, ok := strings.CutPrefix(place, known); ok && (rest == "" || strings.IndexByte(".[:", rest[0]) >= 0) {
				return known
			}
		}
		return part
	}
	if v.cut != "" {
		r.problem(of(v.cut), "cut off at "+v.cut+"; what was complete is used")
	}
	for _, lost := range v.lost {
		r.problem(of(lost), lost)
	}
	if v.more > 0 {
		r.problem(part, strconv.Itoa(v.more)+" more places could not be read")
	}
}

func (r *reader) housekeeping() *layers.Housekeeping {
	if r.answer.Housekeeping == nil {
		r.answer.Housekeeping = &layers.Housekeeping{}
	}
	return r.answer.Housekeeping
}

// readHousekeeping reads {llm, user}. Models leave the two out and give their
// members directly, or put all of it into another "housekeeping"; that is read,
// too. It tells whether anything was known.
func (r *reader) readHousekeeping(value jsontext.Value) bool {
	found := false
	if value.Kind() != '{' {
		if value.Kind() != 'n' {
			r.misfit(PartHousekeeping, nameHousekeeping, "an object", value)
		}
		return false
	}
	eachMember(value, func(name string, value jsontext.Value) {
		switch name {
		case nameHousekeeping, nameLLM, nameUser:
			if value.Kind() != '{' {
				if value.Kind() != 'n' {
					r.misfit(PartHousekeeping, name, "an object", value)
				}
				return
			}
			if name == nameHousekeeping && r.nested(value) {
				found = true
				return
			}
			eachMember(value, func(name string, value jsontext.Value) {
				found = r.readSaid(name, value) || found
			})
		default:
			found = r.readSaid(name, value) || found
		}
	})
	return found
}

// nested reads a "housekeeping" inside "housekeeping".
func (r *reader) nested(value jsontext.Value) bool {
	found := false
	eachMember(value, func(name string, value jsontext.Value) {
		if (name == nameLLM || name == nameUser) && value.Kind() == '{' {
			eachMember(value, func(name string, value jsontext.Value) {
				found = r.readSaid(name, value) || found
			})
		}
	})
	return found
}

// readSaid reads a member of llm or user; the names differ. It tells whether
// the member is known, null counts as absent.
func (r *reader) readSaid(name string, value jsontext.Value) bool {
	if value.Kind() == 'n' {
		return saidMember(name)
	}
	h := func() *layers.Housekeeping { return r.housekeeping() }
	switch name {
	case nameResponseHeader:
		if value.Kind() == '"' { // a header in one line
			r.text(name, value, &h().LLM.ResponseHeader.Summary)
			return true
		}
		r.inside(name, value, r.readHeader)
	case nameTopic, nameKeyEntities, nameOutcome, nameSummary:
		r.readHeader(name, value)
	case nameContextSummary:
		r.text(name, value, &h().LLM.ContextSummary)
	case nameKeyDecisions:
		r.add(name, value, &h().LLM.KeyDecisions)
	case nameCodeChanges:
		r.readChanges(value)
	case nameOpenQuestions:
		r.add(name, value, &h().LLM.OpenQuestions)
	case nameCurrentContext:
		if value.Kind() == '"' {
			r.text(name, value, &r.context().OverallNarrative)
			return true
		}
		r.inside(name, value, r.readContext)
	case nameQueryHeader:
		r.text(name, value, &h().User.QueryHeader)
	case nameUnderstoodIntent:
		r.text(name, value, &h().User.UnderstoodIntent)
	case nameContextUsed:
		r.add(name, value, &h().User.ContextUsed)
	case nameSatisfaction:
		r.choice(name, value, &h().User.Satisfaction, "positive", "negative", "neutral")
	case nameCorrections:
		r.add(name, value, &h().User.Corrections)
	default:
		return false
	}
	return true
}

// saidMember tells that a name is one of housekeeping's members.
func saidMember(name string) bool {
	switch name {
	case nameResponseHeader, nameTopic, nameKeyEntities, nameOutcome, nameSummary, nameContextSummary, nameKeyDecisions, nameCodeChanges,
		nameOpenQuestions, nameCurrentContext, nameQueryHeader, nameUnderstoodIntent, nameContextUsed, nameSatisfaction, nameCorrections:
		return true
	}
	return false
}

func (r *reader) readHeader(name string, value jsontext.Value) {
	header := &r.housekeeping().LLM.ResponseHeader
	switch name {
	case nameTopic:
		r.text(name, value, &header.Topic)
	case nameSummary:
		r.text(name, value, &header.Summary)
	case nameKeyEntities:
		r.add(name, value, &header.KeyEntities)
	case nameOutcome:
		outcome := string(header.Outcome)
		r.choice(name, value, &outcome, string(layers.OutcomeOngoing), string(layers.OutcomeCompleted), string(layers.OutcomeError))
		header.Outcome = layers.Outcome(outcome)
	}
}

func (r *reader) context() *layers.CurrentContext {
	llm := &r.housekeeping().LLM
	if llm.CurrentContext == nil {
		llm.CurrentContext = &layers.CurrentContext{}
	}
	return llm.CurrentContext
}

func (r *reader) readContext(name string, value jsontext.Value) {
	switch name {
	case nameNarrative:
		r.text(name, value, &r.context().OverallNarrative)
	case nameObjective:
		r.text(name, value, &r.context().CurrentObjective)
	case nameAchievements:
		r.replace(name, value, &r.context().KeyAchievements)
	case nameState:
		r.text(name, value, &r.context().ContextualState)
	case nameNextSteps:
		r.replace(name, value, &r.context().NextSteps)
	case nameActiveEntities:
		if value.Kind() == '[' { // all kinds in one list
			r.replace(name, value, &r.context().ActiveEntities.Concepts)
			return
		}
		r.inside(name, value, func(name string, value jsontext.Value) {
			entities := &r.context().ActiveEntities
			switch name {
			case nameFiles:
				r.replace(name, value, &entities.Files)
			case nameFunctions:
				r.replace(name, value, &entities.Functions)
			case nameConcepts:
				r.replace(name, value, &entities.Concepts)
			}
		})
	}
}

// readChanges adds the changes to files that are not there yet.
func (r *reader) readChanges(value jsontext.Value) {
	changes := &r.housekeeping().LLM.CodeChanges
	one := func(value jsontext.Value) {
		var change layers.CodeChange
		switch value.Kind() {
		case '{':
			eachMember(value, func(name string, value jsontext.Value) {
				switch name {
				case nameFiles:
					r.add(name, value, &change.Files)
				case nameChangeType, nameType:
					r.choice(nameChangeType, value, &change.ChangeType, "create", "modify", "delete", "refactor")
				case nameSummary:
					r.text(name, value, &change.Summary)
				case nameImpact:
					r.choice(name, value, &change.Impact, "low", "medium", "high")
				case nameRelated:
					r.add(name, value, &change.RelatedConversations)
				}
			})
		case '"':
			r.text(nameCodeChanges, value, &change.Summary)
		default:
			r.misfit(PartHousekeeping, nameCodeChanges, "a list of objects", value)
		}
		if len(change.Files) == 0 && change.Summary == "" {
			return
		}
		for i := range *changes {
			if sameChange((*changes)[i], change) {
				return
			}
		}
		*changes = append(*changes, change)
	}
	r.items(nameCodeChanges, value, func(value jsontext.Value) {
		if len(*changes) < maxItems {
			one(value)
		}
	})
}

func sameChange(a, b layers.CodeChange) bool {
	if a.ChangeType != b.ChangeType || a.Summary != b.Summary || a.Impact != b.Impact || len(a.Files) != len(b.Files) {
		return false
	}
	for i := range a.Files {
		if a.Files[i] != b.Files[i] {
			return false
		}
	}
	return true
}
