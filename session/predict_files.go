package session

import (
	"slices"
	"strings"

	"hexapla/layers/digest"
)

// files predicts files.
func (f *forecast) files() ([]Prediction, error) {
	n := len(f.calls)
	for i := range f.calls {
		age := float64(n - 1 - i)
		for _, file := range f.calls[i].files {
			f.add("file", file, ReasonUsed, "", predictUsed*halfUsed/(halfUsed+age))
		}
	}
	seen := map[string]bool{}
	for i := n - 1; i >= max(0, n-shownCalls); i-- {
		for _, file := range f.calls[i].shown {
			if !seen[file] {
				seen[file] = true
				f.add("file", file, ReasonShown, "", predictShown*halfShown/(halfShown+float64(n-1-i)))
			}
		}
	}
	for _, name := range f.asked {
		if strings.ContainsAny(name, "./") {
			f.add("file", name, ReasonAsked, "", predictAsked)
		}
	}
	last := f.lastFiles()
	f.follows(last)
	for _, file := range last {
		if err := f.together(file); err != nil {
			return nil, err
		}
	}
	if err := f.failing(); err != nil {
		return nil, err
	}
	current, _, _, err := currentContext(f.v, f.session)
	if err != nil {
		return nil, err
	}
	for _, file := range current.ActiveEntities.Files {
		f.add("file", file, ReasonActive, "", predictActive)
	}
	return f.take("file"), nil
}

// lastFiles are the files that were used last, the newest first.
func (f *forecast) lastFiles() []string {
	var out []string
	for i := len(f.calls) - 1; i >= 0 && len(out) < lastFiles; i-- {
		for _, file := range f.calls[i].files {
			if len(out) < lastFiles && !slices.Contains(out, file) {
				out = append(out, file)
			}
		}
	}
	return out
}

// follows counts which files were used right behind those that were used last.
func (f *forecast) follows(last []string) {
	if len(last) == 0 {
		return
	}
	times := map[string]int{}
	before := "" // the file used before
	for i := range f.calls {
		for _, file := range f.calls[i].files {
			if before == last[0] && file != before && times[file] < mostFollows {
				times[file]++
				f.add("file", file, ReasonFollows, before, predictFollows)
			}
			before = file
		}
	}
}

// together adds the files that conversations changed that changed this one.
func (f *forecast) together(file string) error {
	const look = 10 // conversations
	times := map[string]int{}
	seen := map[string]bool{}
	var talks []string
	if err := eachChangeOf(f.v, file, func(c changeRecord) bool {
		if !seen[c.Conversation] && digest.SameFile(c.File, file) {
			seen[c.Conversation] = true
			talks = append(talks, c.Conversation)
		}
		return len(talks) < look
	}); err != nil {
		return err
	}
	for _, id := range talks {
		changes, err := changesOf(f.v, id)
		if err != nil {
			return err
		}
		told := map[string]bool{}
		for i := range changes {
			other := changes[i].record.File
			if told[other] || times[other] == mostTogether || digest.SameFile(other, file) || changes[i].record.Type == "delete" {
				continue
			}
			told[other] = true
			times[other]++
			f.add("file", other, ReasonTogether, file, predictTogether)
		}
	}
	return nil
}

// failing adds the files that open failures of the newest conversation name.
func (f *forecast) failing() error {
	if len(f.entries) == 0 {
		return nil
	}
	id := f.entries[len(f.entries)-1].ID
	tries, err := f.ws.triesOf(f.v, id)
	if err != nil {
		return err
	}
	for i, t := range tries {
		if !t.attempt.Failed || slices.ContainsFunc(tries[i+1:], func(later try) bool { return later.attempt.Resolves(t.attempt) }) {
			continue
		}
		body, _, _, err := latest[turnRecord](f.v, kindTurn, turnID(id, t.turn))
		if err != nil {
			return err
		}
		for k := range body.Results {
			c := &body.Results[k].Compressed
			if len(c.ErrorPatterns) == 0 {
				continue
			}
			for _, file := range c.KeyFiles[:min(len(c.KeyFiles), 5)] {
				f.add("file", file, ReasonFailing, t.id, predictFailing)
			}
		}
	}
	return nil
}
