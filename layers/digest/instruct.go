package digest

import (
	"strings"

	"hexapla/layers"
)

// AuthorOfResult tells what kind of hand a tool's output came from: by the tool's
// name and, where that says nothing, by the arguments of the call.
func AuthorOfResult(tool, input string) layers.Author {
	switch kindOfTool(tool, readObject(input)) {
	case kindWeb:
		return layers.AuthorWeb
	case kindRead:
		return layers.AuthorFile
	case kindShell:
		for _, word := range strings.FieldsFunc(input, func(r rune) bool { return !isLetter(byte(min(r, 127))) }) {
			switch word {
			case "curl", "wget", "lynx", "httpie":
				return layers.AuthorWeb
			}
		}
	}
	return layers.AuthorTool
}

// ordersModel tells that a sentence orders a model about: what only the user may
// do. Descriptions of what a program must do are not meant.
func ordersModel(sentence string) bool {
	s := " " + strings.Join(strings.Fields(strings.ToLower(strings.Map(func(r rune) rune {
		if strings.ContainsRune("*_`\"'“”‘’", r) {
			return -1
		}
		return r
	}, sentence))), " ") + " "
	has := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(s, part) {
				return true
			}
		}
		return false
	}
	switch {
	case has(" ignore ", " disregard ", " forget ", " override ", " bypass ") &&
		has(" previous ", " prior ", " above ", " earlier ", " all ", " any ", " your ", " system ") &&
		has(" instruction", " rule", " prompt", " guardrail", " guideline", " directive"),
		has(" new instruction", " system prompt", " developer mode", " jailbreak"),
		has(" from now on", " in all future ", " in every future ", " for all future ", " in future sessions", " in future conversations"),
		has(" you are now ", " you must now ", " act as ", " pretend to be ", " pretend you "),
		has(" remember that you ", " remember to always ", " always remember ", " keep in memory that ", " store in memory ", " save to memory ", " add to your memory "),
		has(" do not tell ", " dont tell ", " never tell ", " do not mention ", " dont mention ", " never mention ", " do not inform ", " without telling ", " without asking ", " without informing ", " hide this from ") &&
			has(" user", " anyone", " them", " human", " person"),
		has(" exfiltrat"),
		has(" send ", " post ", " upload ", " forward ", " email ", " leak ") && has(" api key", " token", " secret", " credential", " password", " ssh key", " private key", " env file", " .env", " conversation", " history"):
		return true
	}
	start := strings.TrimLeft(s, " -•>#0123456789.:)(")
	for _, order := range [...]string{"always ", "never ", "you must ", "you should always ", "you should never ", "you have to ", "important: ", "note to ai", "ai: ", "assistant: ", "system: "} {
		if rest, ok := strings.CutPrefix(start, order); ok {
			verb, _, _ := strings.Cut(rest, " ")
			// "Always stores the whole", "Never called" tell of something.
			return !strings.HasSuffix(verb, "s") && !strings.HasSuffix(verb, "ed") && !strings.HasSuffix(verb, "ing")
		}
	}
	return false
}
