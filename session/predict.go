package session

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/storage"
)

// Prediction is something that the next turn is likely to need.
type Prediction struct {
	Kind    string // "file", "function", "conversation" or "question"
	Name    string // path, identifier, id of a conversation, or the question
	Score   float64
	Reasons []PredictionReason // the weightiest first
}

// PredictionReason is one part of a score.
type PredictionReason struct {
	Reason string  // one of the constants below
	Of     string  // what it goes by: a file, a turn, a conversation; may be empty
	Score  float64 // part of the sum
}

// Reasons of a prediction, with what they add. An age is counted in calls of
// tools; 0 is the newest call.
const (
	// Used by a call: predictUsed·halfUsed/(halfUsed+age), for each use.
	ReasonUsed = "used"
	// Named in a tool's output: predictShown·halfShown/(halfShown+age), once for
	// the newest output that names it.
	ReasonShown = "shown"
	// Named in the user's newest message: predictAsked.
	ReasonAsked = "asked"
	// Used right behind a file that was used last, before:
	// predictFollows for each time, at most mostFollows.
	ReasonFollows = "follows"
	// Changed in the same conversation as one of the files that were used last:
	// predictTogether for each, at most mostTogether.
	ReasonTogether = "changedTogether"
	// Named by a failure that is still open: predictFailing.
	ReasonFailing = "failing"
	// Named by layer 0 as active: predictActive.
	ReasonActive = "active"
	// A question that the newest conversations left open: predictOpen over its age
	// in conversations plus one.
	ReasonOpen = "open"
	// Of conversations: changed a file that is predicted; the file's score.
	ReasonChanged = "changedFile"
)

// The weights were chosen by `hexapla eval --set prediction`; docs/benchmarks.md
// has the figures.
const (
	predictUsed     = 1.0
	halfUsed        = 3.0
	predictShown    = 0.6
	halfShown       = 2.0
	predictAsked    = 0.8
	predictFollows  = 0.3
	mostFollows     = 3
	predictTogether = 0.15
	mostTogether    = 3
	predictFailing  = 0.5
	predictActive   = 0.2
	predictOpen     = 1.0
)

// Bounds of what a prediction looks at.
const (
	defaultPredictions = 10
	maxPredictions     = 100
	predictTalks       = 20  // conversations of the session
	predictCalls       = 400 // newest calls
	lastFiles          = 3   // files that count as used last
	shownCalls         = 12  // newest outputs that are looked at
	maxReasons         = 6
)

// usage is what the calls of a conversation used, in order.
type usage struct {
	calls []callUse
	asked []string // files and identifiers in the newest user message
	turn  int      // of it
}

type callUse struct {
	turn  int
	files []string // that the call names
	shown []string // that its output names
	names []string // identifiers that its output names
}

// Predict returns what the session's next turn is likely to need: of each kind
// at most limit, files first, then functions, conversations and questions.
func (s *Session) Predict(limit int, asOf int64) (out []Prediction, seq int64, err error) {
	switch {
	case limit < 0 || limit > maxPredictions:
		return nil, 0, &InvalidError{Path: "limit", Message: "out of range", Limit: maxPredictions}
	case asOf < 0:
		return nil, 0, invalid("asOf", "must not be negative")
	case limit == 0:
		limit = defaultPredictions
	}
	ws := s.Workspace
	err = ws.view(asOf, func(v storage.View) error {
		seq = v.Seq()
		list := listOfSession(s.ID)
		n := v.ListLen(list)
		entries, err := v.List(list, max(0, n-predictTalks), n)
		if err != nil {
			return err
		}
		f := forecast{ws: ws, v: v, session: s.ID, entries: entries}
		if err := f.read(); err != nil {
			return err
		}
		files, err := f.files()
		if err != nil {
			return err
		}
		out = append(out, files[:min(len(files), limit)]...)
		functions := f.functions()
		out = append(out, functions[:min(len(functions), limit)]...)
		conversations, err := f.conversations(files)
		if err != nil {
			return err
		}
		out = append(out, conversations[:min(len(conversations), limit)]...)
		questions, err := f.questions()
		out = append(out, questions[:min(len(questions), limit)]...)
		return err
	})
	return out, seq, err
}

// forecast is one prediction on its way.
type forecast struct {
	ws      *Workspace
	v       storage.View
	session string
	entries []storage.ListEntry // of conversations, oldest first
	calls   []callUse           // oldest first
	asked   []string
	scores  map[string]*Prediction
	order   []*Prediction
}

func (f *forecast) read() error {
	for i, entry := range f.entries {
		u, err := f.ws.usageOf(f.v, entry.ID)
		if err != nil {
			return err
		}
		f.calls = append(f.calls, u.calls...)
		if i == len(f.entries)-1 {
			f.asked = u.asked
		}
	}
	f.calls = f.calls[max(0, len(f.calls)-predictCalls):]
	return nil
}

// usageOf reads what the calls of a conversation used.
func (ws *Workspace) usageOf(v storage.View, conversation string) (*usage, error) {
	edited, err := newestEdit(v)
	if err != nil {
		return nil, err
	}
	key := triesKey{conversation, v.ListLen(listOfTurns(conversation)), edited}
	if u, ok := ws.uses.get(key); ok {
		return u, nil
	}
	turns, _, err := turnsOf(v, conversation, maxTurnNumber)
	if err != nil {
		return nil, err
	}
	u := &usage{}
	at := map[string]int{} // call's id → index
	for i := range turns {
		turn := &turns[i]
		if turn.Role == layers.RoleUser {
			names := digest.NamesOf(turn.Text)
			u.asked = append(append([]string(nil), names.Paths...), names.Identifiers...)
			u.turn = turn.Number
		}
		for _, call := range turn.Calls {
			at[call.ID] = len(u.calls)
			u.calls = append(u.calls, callUse{turn: turn.Number, files: digest.CallFiles(call)})
		}
		for k := range turn.Results {
			if i, ok := at[turn.Results[k].CallID]; ok {
				u.calls[i].shown = turn.Results[k].Compressed.KeyFiles
				u.calls[i].names = turn.Results[k].Compressed.Entities
			}
		}
	}
	ws.uses.put(key, u)
	return u, nil
}

// add gives a name a reason. A file may be known under another form of its path;
// the longer one stands.
func (f *forecast) add(kind, name, reason, of string, score float64) {
	if f.scores == nil {
		f.scores = map[string]*Prediction{}
	}
	p := f.scores[kind+" "+name]
	if p == nil && kind == "file" {
		for _, known := range f.order {
			if known.Kind == kind && digest.SameFile(known.Name, name) {
				p = known
				if len(name) > len(p.Name) {
					p.Name = name
				}
				f.scores[kind+" "+name] = p
				break
			}
		}
	}
	if p == nil {
		p = &Prediction{Kind: kind, Name: name}
		f.scores[kind+" "+name] = p
		f.order = append(f.order, p)
	}
	p.Score += score
	for i := range p.Reasons {
		if r := &p.Reasons[i]; r.Reason == reason && r.Of == of {
			r.Score += score
			return
		}
	}
	p.Reasons = append(p.Reasons, PredictionReason{reason, of, score})
}

// take returns what was predicted of a kind, the likeliest first.
func (f *forecast) take(kind string) []Prediction {
	round := func(x float64) float64 { return math.Round(x*1e4) / 1e4 }
	var out []Prediction
	for _, p := range f.order {
		if p.Kind != kind {
			continue
		}
		p.Score = round(p.Score)
		for i := range p.Reasons {
			p.Reasons[i].Score = round(p.Reasons[i].Score)
		}
		slices.SortStableFunc(p.Reasons, func(a, b PredictionReason) int { return cmp.Compare(b.Score, a.Score) })
		p.Reasons = p.Reasons[:min(len(p.Reasons), maxReasons)]
		out = append(out, *p)
	}
	slices.SortStableFunc(out, func(a, b Prediction) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.Name, b.Name))
	})
	return out
}

// functions predicts identifiers: those that the user asked of and those that
// the newest outputs show.
func (f *forecast) functions() []Prediction {
	n := len(f.calls)
	seen := map[string]bool{}
	for i := n - 1; i >= max(0, n-shownCalls); i-- {
		for _, name := range f.calls[i].names {
			if !seen[name] {
				seen[name] = true
				f.add("function", name, ReasonShown, "", predictShown*halfShown/(halfShown+float64(n-1-i)))
			}
		}
	}
	for _, name := range f.asked {
		if !strings.ContainsAny(name, "./") {
			f.add("function", name, ReasonAsked, "", predictAsked)
		}
	}
	return f.take("function")
}

// conversations predicts conversations: those that changed predicted files last.
func (f *forecast) conversations(files []Prediction) ([]Prediction, error) {
	now := ""
	if n := len(f.entries); n > 0 {
		now = f.entries[n-1].ID
	}
	for _, file := range files[:min(len(files), defaultPredictions)] {
		told := 0
		if err := eachChangeOf(f.v, file.Name, func(c changeRecord) bool {
			if c.Conversation != now && digest.SameFile(c.File, file.Name) {
				f.add("conversation", c.Conversation, ReasonChanged, file.Name, file.Score)
				told++
			}
			return told == 0
		}); err != nil {
			return nil, err
		}
	}
	return f.take("conversation"), nil
}

// questions are those that the newest conversations left open.
func (f *forecast) questions() ([]Prediction, error) {
	n := len(f.entries)
	for i := n - 1; i >= max(0, n-3); i-- {
		trio, _, ok, err := latest[trioRecord](f.v, kindTrio, f.entries[i].ID)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		for _, q := range trio.Summary.OpenQuestions {
			f.add("question", q, ReasonOpen, f.entries[i].ID, predictOpen/float64(n-i))
		}
	}
	return f.take("question"), nil
}
