package digest

import (
	"strings"

	"hexapla/layers"
)

// Activity is the kind of work that a conversation is (requirement H17). The
// names are on the wire.
type Activity string

// Kinds of work.
const (
	ActivityBug         Activity = "bugInvestigation"
	ActivityRefactoring Activity = "refactoring"
	ActivityFeature     Activity = "featureDevelopment"
	ActivityLearning    Activity = "learning"
)

// Activities lists the kinds of work; of kinds with as many points the first
// counts.
func Activities() []Activity {
	return []Activity{ActivityBug, ActivityRefactoring, ActivityFeature, ActivityLearning}
}

// Bounds of what is read of a query: how much is the request itself, and how much
// speaks of it.
const (
	requestBytes = 160
	requestRoom  = 800
)

// ActivityOf tells what kind of work a conversation is, by points:
//
//   - a word of a kind in the first 160 bytes of the query 3, as its first word
//     2 more, and in the first 800 bytes 1;
//   - an error in the query 2, a test or check that failed 1, and an outcome of
//     error 1, for the investigation of a bug;
//   - files changed after a query that asks to refactor, 2, for refactoring;
//   - a file created 1, any file changed 1, for a feature;
//   - no file changed 2, and a question 2, for learning; where a file was changed,
//     it is no learning.
//
// A conversation without any points is learning.
func ActivityOf(conv layers.Conversation, c layers.Counter) Activity {
	s := surveyOf(conv, c)
	query := strings.ToLower(cutAtRune(s.query, requestRoom))
	points := map[Activity]int{}
	words := wordsOf(query)
	for _, kind := range Activities() {
		near, any := false, false
		for i, w := range words {
			if !cueOf(kind, w.text) {
				continue
			}
			any = true
			near = near || w.at < requestBytes
			if i == 0 {
				points[kind] += 2
			}
		}
		if near {
			points[kind] += 3
		}
		if any {
			points[kind]++
		}
	}
	if len(EntitiesOf(query).Errors) > 0 {
		points[ActivityBug] += 2
	}
	if conv.Outcome == layers.OutcomeError {
		points[ActivityBug]++
	}
	for _, command := range s.commands() {
		if command.failed || command.wasFailed {
			points[ActivityBug]++
			break
		}
	}
	edits := s.edits()
	if len(edits) == 0 {
		points[ActivityLearning] += 2
		if question(query) {
			points[ActivityLearning] += 2
		}
	} else {
		points[ActivityLearning] = 0
		points[ActivityFeature]++
		if refactors(s) {
			points[ActivityRefactoring] += 2
		}
		for _, st := range edits {
			if st.call.change == "create" {
				points[ActivityFeature]++
				break
			}
		}
	}
	best, most := ActivityLearning, 0
	for _, kind := range Activities() {
		if points[kind] > most {
			best, most = kind, points[kind]
		}
	}
	return best
}

// cueOf tells whether a word is one by which one asks for a kind of work.
func cueOf(kind Activity, w string) bool {
	switch kind {
	case ActivityBug:
		return oneOf(w, "fix", "fixes", "fixing", "fixed", "bug", "bugs", "debug", "error", "errors", "fail", "fails", "failed", "failing", "failure", "failures", "crash", "crashes", "crashed",
			"broken", "breaks", "broke", "wrong", "panic", "panics", "regression", "flaky", "hang", "hangs", "deadlock", "leak", "leaks", "issue", "issues", "incorrect", "incorrectly", "investigate", "diagnose", "reproduce", "doesn't", "isn't", "won't", "unexpected", "unexpectedly", "problem")
	case ActivityRefactoring:
		return oneOf(w, "refactor", "refactors", "refactoring", "refactored", "rename", "renaming", "renamed", "cleanup", "clean", "simplify", "simplifying", "extract", "extracting", "restructure", "reorganize", "reorganise",
			"deduplicate", "dedupe", "duplicated", "duplication", "consolidate", "inline", "split", "move", "moving", "tidy", "modernize", "unused", "rework")
	case ActivityFeature:
		return oneOf(w, "add", "adds", "adding", "implement", "implementing", "implementation", "create", "creating", "build", "support", "introduce", "feature", "features", "new", "write", "enable", "integrate", "extend", "allow", "scaffold", "generate", "design")
	case ActivityLearning:
		return oneOf(w, "explain", "how", "what", "where", "which", "understand", "describe", "learn", "summarize", "summary", "show", "tell", "compare", "review", "difference", "document", "documentation", "research", "explore")
	}
	return false
}

// word is a word of a text and where it begins.
type word struct {
	text string
	at   int
}

// wordsOf splits a text in lower case into words, with their apostrophes.
func wordsOf(text string) []word {
	var out []word
	start := -1
	for i := 0; i <= len(text); i++ {
		in := i < len(text) && (isLower(text[i]) || isDigit(text[i]) || text[i] == '\'' || text[i] == '_' || text[i] >= 0x80)
		switch {
		case in && start < 0:
			start = i
		case !in && start >= 0:
			out = append(out, word{text[start:i], start})
			start = -1
		}
	}
	return out
}

// question tells whether a query in lower case asks for an answer, not for work.
func question(query string) bool {
	if end := strings.IndexAny(query, "?.\n"); end >= 0 && query[end] == '?' || strings.HasSuffix(strings.TrimSpace(query), "?") {
		return true
	}
	words := wordsOf(query)
	return len(words) > 0 && oneOf(words[0].text, "how", "what", "why", "where", "which", "who", "when", "is", "are", "does", "do", "did", "can", "should", "explain")
}
