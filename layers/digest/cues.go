package digest

import "strings"

// decisionCue weighs the words by which an author says what was decided, found
// or done: 0 for none.
func decisionCue(s string) int {
	l := strings.ToLower(s)
	w := 0
	for _, cue := range [...]string{"root cause", "decided", "the issue was", "the problem was", "the bug was", "the fix ", "the fix:", "going with", "go with ", "instead of", "rather than", "chose ", "turns out", "the issue is", "the problem is", "the reason", "reverted", "fixed by"} {
		if strings.Contains(l, cue) {
			w += 3
			break
		}
	}
	for _, cue := range [...]string{"because", "fixed", "i'll use", "we'll use", "will use", "so that", " instead", "prefer", "no longer", "must ", "replaced", "switched", "moved ", "renamed", "should be ", "defaults to", "approach", "caused by", "this means", "only when", "never ", "always "} {
		if strings.Contains(l, cue) {
			w += 2
			break
		}
	}
	return w
}

// resultCue tells whether a sentence reports that something is done or how it
// came out.
func resultCue(s string) bool {
	l := strings.ToLower(s)
	for _, cue := range [...]string{"added ", "removed ", "updated ", "created ", "implemented", "refactored", "fixed", "renamed", "moved ", "extracted", "reverted", "merged", "pushed", "committed", "pass", "fail", "works", "replaced", "deleted", "changed ", "is now", "are now", "now uses", "now has", "successfully", "complete", "verified", "introduced", "resolved", "rebased"} {
		if strings.Contains(l, cue) {
			return true
		}
	}
	return false
}

// failureCue tells whether the author says that it did not work.
func failureCue(s string) bool {
	l := strings.ToLower(s)
	for _, cue := range [...]string{"unable to", "couldn't", "could not", "still fail", "did not work", "didn't work", "doesn't work", "does not work", "cannot proceed", "can't proceed", "was not able", "wasn't able", "gave up", "api error", "i'm stuck", "failed to "} {
		if strings.Contains(l, cue) {
			return true
		}
	}
	return false
}

// announcement is what an assistant says before it does something; it is no
// result and no decision.
func announcement(s string) bool {
	l := strings.ToLower(s)
	for _, p := range [...]string{"let me", "now let me", "i'll ", "now i'll", "i will", "let's ", "now i need", "i need to", "first, let me", "now i ", "next, ", "i'm going to", "good, ", "looking at", "now ", "ok, let", "okay, let", "great", "perfect", "excellent", "here's", "here is", "here are", "sure", "i see", "i can see", "i understand", "let me know", "good question", "you're right", "you're absolutely", "happy to", "feel free"} {
		if strings.HasPrefix(l, p) {
			return true
		}
	}
	return false
}

// leadIns are said before what matters. They are taken off as long as one fits.
func leadIns() []string {
	return []string{
		"hi", "hello", "hey", "hey claude", "please", "pls", "ok", "okay", "k", "great", "nice", "cool", "thanks", "thank you", "perfect", "awesome", "yes", "yep", "yeah", "no", "nope", "sure", "alright", "right", "hmm", "ah", "oh", "well", "so", "now", "and", "but", "also", "then", "next", "question", "actually", "good", "got it", "ugh", "btw", "taking a step back", "done", "excellent", "sorry", "i see", "honestly",
		"can you", "could you", "would you", "can we", "could we", "will you", "can you please", "could you please", "can you also", "can we also", "would you mind", "can i",
		"i'd like you to", "i would like you to", "i'd like us to", "i'd like to", "i would like to", "i want you to", "i want to", "i'd want to", "i need you to", "i need to", "i need", "we need to", "we should", "we want to", "you should", "you need to", "let's", "lets", "let us", "help me", "help me to", "i'd like", "i would like", "i want", "let me", "i'll", "i will", "i'm going to", "i've", "i have", "i", "we", "we have", "we've", "you're correct", "you're right", "you're absolutely right", "i think we should", "i think", "i guess", "i wonder if", "maybe", "first", "just", "quickly", "quick question", "one more thing", "another thing", "go ahead and", "go ahead", "do me a favor and", "kindly",
		"check", "this", "this is for", "next i'll", "next, i'll", "now i'll", "now let me", "next, let me", "first, let me", "now i need to", "take a look at", "have a look at", "look at", "take a look", "check this", "look into", "all done", "great question", "good question", "the task is to", "your task is to", "in summary", "summary", "to summarize", "let me summarize what was done", "successfully", "the fix", "fix", "found it", "found the issue",
		"the next problem is that", "the problem is that", "the next problem is", "i noticed that", "i noticed", "it seems that", "it seems", "it looks like", "looks like", "i see that", "getting back to", "i found that", "note that", "you're seeing",
	}
}

// withoutLeadIn strips greetings and polite beginnings from a sentence.
// soft strips only those that a comma, colon, dash or full stop sets apart.
func withoutLeadIn(s string, soft bool) string {
	list := leadIns()
	for range 6 {
		s = strings.TrimLeft(s, " ,.:;!-–—*✅🎉👍")
		best := 0
		for _, p := range list {
			if len(p) <= best || !hasPrefixFold(s, p) || len(s) == len(p) {
				continue
			}
			switch next := s[len(p)]; {
			case strings.IndexByte(",:!.;-", next) >= 0 && (len(s) > len(p)+1 && s[len(p)+1] == ' '):
				best = len(p)
			case next == ' ' && strings.HasPrefix(s[len(p):], " - "), next == ' ' && strings.HasPrefix(s[len(p):], " — "), next == ' ' && strings.HasPrefix(s[len(p):], " – "):
				best = len(p)
			case next == ':' && oneOf(p, "check", "fix", "the fix", "this"):
				best = len(p)
			case next == ' ' && !soft && !oneOf(p, "no", "good", "right", "question", "first", "done", "summary", "fix", "the fix", "well", "now", "great", "nice", "perfect", "cool", "check", "this", "check this", "next", "excellent", "in summary", "sorry", "i have", "we have", "i", "we", "look into", "k", "sure", "successfully"):
				best = len(p)
			case next == ' ' && oneOf(p, "successfully", "i've", "i", "we've", "all done", "i have") && pastVerb(s[len(p)+1:]):
				best = len(p)
			}
		}
		if best == 0 {
			break
		}
		rest := strings.TrimLeft(s[best:], " ,.:;!-–—")
		if len(strings.Fields(rest)) < 2 && !strings.Contains(rest, "`") {
			break
		}
		s = rest
	}
	return s
}

// pastVerb tells whether s begins with a verb in the past: "fixed the bug".
func pastVerb(s string) bool {
	w, _, _ := strings.Cut(strings.ToLower(s), " ")
	return strings.HasSuffix(w, "ed") || oneOf(w, "found", "made", "wrote", "built", "ran", "put", "set", "got", "split", "rewrote", "also", "successfully", "now")
}

// requestVerb is a verb by which one asks for work.
func requestVerb(w string) bool {
	switch w {
	case "add", "fix", "implement", "update", "refactor", "remove", "write", "create", "make", "check", "look", "explain", "show", "find", "move", "rename", "use", "change", "run", "test", "review", "investigate", "debug", "delete", "replace", "build", "improve", "simplify", "commit", "push", "merge", "rebase", "revert", "document", "generate", "convert", "extract", "split", "set", "enable", "disable", "support", "handle", "help", "try", "verify", "respond", "apply", "include", "keep", "put", "plan", "design", "analyze", "analyse", "compare", "list", "tell", "give", "describe", "summarize", "continue", "start", "stop", "deploy", "install", "upgrade", "migrate", "clean", "optimize", "ensure", "stash", "squash", "proceed", "resolve", "read", "search", "open", "print", "let":
		return true
	}
	return false
}

// capital makes the first letter of a plain word a capital.
func capital(s string) string {
	end := strings.IndexAny(s, " ,:")
	if end < 0 {
		end = len(s)
	}
	for i := 0; i < end; i++ {
		if !isLower(s[i]) && s[i] != '\'' {
			return s
		}
	}
	if end < 2 {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}

// weak tells whether a query says too little to be a topic by itself.
func weak(s string) bool {
	n := 0
	for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return strings.ContainsRune(" ,.!?:;-/()\"", r) }) {
		if !stopWord(w) && len(w) > 1 {
			n++
		}
	}
	return n < 2 && len(s) < 60
}
