package digest

import (
	"fmt"
	"strings"

	"hexapla/layers"
)

// Flag is a claim that was not borne out, and where it was made.
type Flag struct {
	Path string // of the member, such as "llm.keyDecisions[2]"
	Claim
}

// maxFlags bounds the flags of one housekeeping.
const maxFlags = 100

// Verified is housekeeping without what nothing bears out.
type Verified struct {
	Housekeeping layers.Housekeeping
	Flags        []Flag
	// Confidence is the share of the summary's claims that are borne out (H21);
	// 1 where it claims nothing that can be checked. A test of letters: it says
	// nothing of a paraphrase in true names.
	Confidence float64
}

// Verify checks housekeeping against evidence. Of prose, sentences with a claim
// that fails are taken out; of lists, whole entries. What is left says nothing
// in a name, a number, a quotation, an id or about the user that is not in the
// evidence.
func Verify(h layers.Housekeeping, e *Evidence) Verified {
	v := verifier{evidence: e}
	out := Verified{Housekeeping: h}
	llm, user := &out.Housekeeping.LLM, &out.Housekeeping.User
	v.prose("llm.responseHeader.topic", &llm.ResponseHeader.Topic)
	v.prose("llm.responseHeader.summary", &llm.ResponseHeader.Summary)
	v.list("llm.responseHeader.keyEntities", &llm.ResponseHeader.KeyEntities)
	v.checked, v.failed = 0, 0
	v.prose("llm.contextSummary", &llm.ContextSummary)
	v.list("llm.keyDecisions", &llm.KeyDecisions)
	llm.CodeChanges = v.changes(llm.CodeChanges)
	v.list("llm.openQuestions", &llm.OpenQuestions)
	out.Confidence = 1
	if v.checked > 0 {
		out.Confidence = float64(v.checked-v.failed) / float64(v.checked)
	}
	if cc := llm.CurrentContext; cc != nil {
		kept := *cc
		const at = "llm.currentContext."
		v.prose(at+"overallNarrative", &kept.OverallNarrative)
		v.prose(at+"currentObjective", &kept.CurrentObjective)
		v.list(at+"keyAchievements", &kept.KeyAchievements)
		v.list(at+"activeEntities.files", &kept.ActiveEntities.Files)
		v.list(at+"activeEntities.functions", &kept.ActiveEntities.Functions)
		v.list(at+"activeEntities.concepts", &kept.ActiveEntities.Concepts)
		v.prose(at+"contextualState", &kept.ContextualState)
		v.list(at+"nextSteps", &kept.NextSteps)
		llm.CurrentContext = &kept
	}
	v.prose("user.queryHeader", &user.QueryHeader)
	v.prose("user.understoodIntent", &user.UnderstoodIntent)
	v.list("user.contextUsed", &user.ContextUsed)
	v.list("user.corrections", &user.Corrections)
	out.Flags = v.flags
	return out
}

// Confidence is the share of a summary's claims that are borne out.
func Confidence(s layers.Summary, e *Evidence) float64 {
	return Verify(layers.Housekeeping{LLM: layers.HousekeepingLLM{
		ContextSummary: s.Content, KeyDecisions: s.KeyDecisions, CodeChanges: s.CodeChanges, OpenQuestions: s.OpenQuestions,
	}}, e).Confidence
}

// Disarm takes the sentences and entries out of a trio that was made by rule
// which order a model about and are not the user's: what a tool printed or the
// model repeated is nothing to follow.
func Disarm(t Trio, e *Evidence) Trio {
	v := verifier{evidence: e, only: ClaimInstruction}
	v.prose("topic", &t.Header.Topic)
	v.prose("summary", &t.Header.Summary)
	v.list("keyEntities", &t.Header.KeyEntities)
	v.prose("content", &t.Summary.Content)
	v.list("keyDecisions", &t.Summary.KeyDecisions)
	v.list("openQuestions", &t.Summary.OpenQuestions)
	t.Summary.CodeChanges = v.changes(t.Summary.CodeChanges)
	return t
}

type verifier struct {
	only            string // the kind of claims that is looked at; "" for all
	evidence        *Evidence
	flags           []Flag
	checked, failed int
}

// holds checks the claims of a text.
func (v *verifier) holds(path, text string) bool {
	ok := true
	for _, claim := range ClaimsOf(text) {
		if v.only != "" && claim.Kind != v.only {
			continue
		}
		v.checked++
		if v.evidence.Holds(claim) {
			continue
		}
		v.failed++
		ok = false
		if len(v.flags) < maxFlags {
			v.flags = append(v.flags, Flag{Path: path, Claim: claim})
		}
	}
	return ok
}

// prose takes out the sentences that do not hold.
func (v *verifier) prose(path string, text *string) {
	if *text == "" || v.holds(path, *text) {
		return
	}
	var kept []string
	for _, s := range sentencesToKeep(*text) {
		quiet := verifier{evidence: v.evidence, only: v.only}
		if quiet.holds(path, s) {
			kept = append(kept, s)
		}
	}
	*text = strings.Join(kept, " ")
}

// list takes out the entries that do not hold.
func (v *verifier) list(path string, list *[]string) {
	var kept []string
	for i, entry := range *list {
		if v.holds(fmt.Sprintf("%s[%d]", path, i), entry) {
			kept = append(kept, entry)
		}
	}
	*list = kept
}

func (v *verifier) changes(list []layers.CodeChange) []layers.CodeChange {
	var kept []layers.CodeChange
	for i, change := range list {
		path := fmt.Sprintf("llm.codeChanges[%d]", i)
		files := strings.Join(change.Files, "\n")
		if v.holds(path+".files", files) && v.holds(path+".summary", change.Summary) {
			kept = append(kept, change)
		}
	}
	return kept
}
