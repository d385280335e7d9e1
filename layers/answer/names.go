package answer

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// The members that are known, as the protocol writes them.
const (
	nameHousekeeping     = "housekeeping"
	nameRequests         = "contextRequests"
	nameContent          = "content"
	nameToolUses         = "toolUses"
	nameLLM              = "llm"
	nameUser             = "user"
	nameResponseHeader   = "responseHeader"
	nameTopic            = "topic"
	nameSummary          = "summary"
	nameKeyEntities      = "keyEntities"
	nameOutcome          = "outcome"
	nameContextSummary   = "contextSummary"
	nameKeyDecisions     = "keyDecisions"
	nameCodeChanges      = "codeChanges"
	nameFiles            = "files"
	nameChangeType       = "changeType"
	nameImpact           = "impact"
	nameRelated          = "relatedConversations"
	nameOpenQuestions    = "openQuestions"
	nameCurrentContext   = "currentContext"
	nameNarrative        = "overallNarrative"
	nameObjective        = "currentObjective"
	nameAchievements     = "keyAchievements"
	nameActiveEntities   = "activeEntities"
	nameFunctions        = "functions"
	nameConcepts         = "concepts"
	nameState            = "contextualState"
	nameNextSteps        = "nextSteps"
	nameQueryHeader      = "queryHeader"
	nameUnderstoodIntent = "understoodIntent"
	nameContextUsed      = "contextUsed"
	nameSatisfaction     = "satisfaction"
	nameCorrections      = "corrections"
	nameRetrieve         = "retrieveConversations"
	nameTopics           = "summarizeTopics"
	nameArchive          = "archiveConversations"
	nameIDs              = "conversationIds"
	nameFormat           = "format"
	namePriority         = "priority"
	nameQuery            = "query"
	nameLimit            = "limit"
	nameCursor           = "cursor"
	nameCallID           = "id"
	nameTool             = "name"
	nameInput            = "input"
	nameType             = "type"
	nameUnknown          = "?" // stands in a path for a name that is not known
)

// known returns a name as the protocol writes it, "?" for others. Case,
// underscores and hyphens do not count, and neither does a plural where models
// take the one for the other.
func known(name string) string {
	if len(name) > 64 {
		return nameUnknown
	}
	switch plain := plainName(name); plain {
	case "contextrequests", "contextrequest":
		return nameRequests
	case "tooluses", "tooluse", "toolcalls", "toolcall":
		return nameToolUses
	case "responseheader", "header":
		return nameResponseHeader
	case "contextsummary":
		return nameContextSummary
	case "keyentities", "entities":
		return nameKeyEntities
	case "keydecisions", "keydecision", "decisions":
		return nameKeyDecisions
	case "codechanges", "codechange", "changes":
		return nameCodeChanges
	case "files", "file", "path", "paths":
		return nameFiles
	case "changetype":
		return nameChangeType
	case "relatedconversations":
		return nameRelated
	case "openquestions", "openquestion":
		return nameOpenQuestions
	case "currentcontext", "currentcontextsummary":
		return nameCurrentContext
	case "overallnarrative", "narrative":
		return nameNarrative
	case "currentobjective", "objective":
		return nameObjective
	case "keyachievements", "achievements":
		return nameAchievements
	case "activeentities":
		return nameActiveEntities
	case "contextualstate":
		return nameState
	case "nextsteps", "nextstep":
		return nameNextSteps
	case "queryheader":
		return nameQueryHeader
	case "understoodintent":
		return nameUnderstoodIntent
	case "contextused", "usedcontext":
		return nameContextUsed
	case "retrieveconversations", "retrieveconversation":
		return nameRetrieve
	case "summarizetopics", "summarisetopics", "summarizetopic":
		return nameTopics
	case "archiveconversations", "archiveconversation":
		return nameArchive
	case "conversationids", "conversationid", "conversations", "conversation", "ids":
		return nameIDs
	case "detail":
		return nameFormat
	case "arguments", "args", "parameters":
		return nameInput
	case "callid", "tooluseid", "toolcallid":
		return nameCallID
	case "tool", "toolname":
		return nameTool
	case nameHousekeeping, nameContent, nameLLM, nameUser, nameTopic, nameSummary, nameOutcome, nameImpact, nameFunctions,
		nameConcepts, nameSatisfaction, nameCorrections, nameFormat, namePriority, nameQuery, nameLimit, nameCursor, nameCallID, nameTool, nameInput, nameType:
		return plain
	}
	return nameUnknown
}

// plainName is a name in lower case without what may stand between words.
func plainName(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return r
	}, name))
}

// knownQuoted is known of a name as a JSON string.
func knownQuoted(quoted []byte) string {
	if len(quoted) > 128 {
		return nameUnknown
	}
	name, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return nameUnknown
	}
	return known(string(name))
}

// eachMember calls f for the members of an object, in their order. Values are
// good until f returns.
func eachMember(object jsontext.Value, f func(name string, value jsontext.Value)) {
	eachField(object, func(name string, value jsontext.Value) { f(known(name), value) })
}

// eachField is eachMember with the names as they are written.
func eachField(object jsontext.Value, f func(name string, value jsontext.Value)) {
	each(object, func(d *jsontext.Decoder) error {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		value, err := d.ReadValue()
		if err == nil {
			f(name, value)
		}
		return err
	})
}

// eachItem calls f for the elements of an array, in their order.
func eachItem(array jsontext.Value, f func(value jsontext.Value)) {
	each(array, func(d *jsontext.Decoder) error {
		value, err := d.ReadValue()
		if err == nil {
			f(value)
		}
		return err
	})
}

func each(container jsontext.Value, read func(*jsontext.Decoder) error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(container), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := d.ReadToken(); err != nil {
		return
	}
	for {
		switch d.PeekKind() {
		case '}', ']', 0:
			return
		}
		if read(d) != nil {
			return
		}
	}
}
