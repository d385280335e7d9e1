package layers

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"hexapla/layers/canonical"
)

// Budget is the tokens of one model call (H10).
type Budget struct {
	Total    int // the most tokens that the whole prompt may have
	Reserved int // what the client adds itself
}

// BudgetError says that what must be in a pack does not fit.
type BudgetError struct {
	Total    int // as asked
	Smallest int // the smallest total that works, all else being equal
	Needs    NeverDropped
}

// NeverDropped is what the smallest pack is made of, in counted tokens.
type NeverDropped struct {
	Reserved int // as asked
	System   int // the system branch
	Pins     int
	Request  int // the user's newest message, verbatim
	Errors   int // open errors
	Rest     int // the newest input in its shortest form, a short layer 0, one roll-up of the timeline
}

// Error names both totals and what takes the room.
func (e *BudgetError) Error() string {
	text := fmt.Sprintf("build pack: a total of %d tokens cannot hold what must be in the pack; the smallest that works is %d", e.Total, e.Smallest)
	var parts []string
	for _, part := range []struct {
		name   string
		tokens int
	}{{"reserved", e.Needs.Reserved}, {"system", e.Needs.System}, {"pins", e.Needs.Pins}, {"request", e.Needs.Request}, {"open errors", e.Needs.Errors}, {"other", e.Needs.Rest}} {
		if part.tokens > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", part.name, part.tokens))
		}
	}
	return text + " (" + strings.Join(parts, ", ") + ")"
}

// Item is one thing in a section.
type Item struct {
	ID     string
	Form   Form
	Reason string // why it has less detail than it could; "" if it does not
	From   Form   // the form it would have had

	// What follows is for renderings and no part of the canonical form.

	User   bool        // said by the user
	Answer bool        // said by the assistant
	Calls  []ToolCall  // that it makes, if it shows all of them whole
	Result *CallResult // whose output it is, if it shows it in full
}

// Section is a run of items of one layer.
type Section struct {
	Name      string
	Layer     int // 0 to 5; -1 for system and input
	Allowance int // tokens it might have used
	Tokens    int
	Items     []Item
	Text      string
}

// Drop says that a thing is out of the pack, or in it with less detail.
type Drop struct {
	ID     string // one thing, or a range such as "c12#2..c12#40"
	From   string
	To     string
	Reason string
	Saved  int // tokens
}

// Reasons for a drop.
const (
	DropWindow  = "window"  // layer 1 or 3 has moved on
	DropBudget  = "budget"  // no room
	DropCap     = "cap"     // over the cap of its kind
	DropRollup  = "rollup"  // told together with others
	DropArchive = "archive" // the model let it go
)

// Pack is the assembled context of one model call (H12).
type Pack struct {
	Seed        string
	Layout      Layout
	Sequence    int64
	Session     string
	Encoding    string
	Estimate    bool
	Budget      Budget
	Quotas      Quotas
	System      int // tokens by branch
	Context     int
	Input       int
	FullHistory int64
	Sections    []Section
	Branches    Branches
	Text        string
	StableBytes int // at the beginning of Text; as they are until the next fold or a change of the pins
	Epoch       int64
	EpochReason string
	Dropped     []Drop
	Settings    string
	// Candidates is everything that could have been shown, if Input.Explain was
	// set. It is no part of the canonical bytes.
	Candidates  []Candidate
	Calibration *Calibration // nil where the budget was in counted tokens
	// Gate is the newest decision about a fold. It is no part of the canonical
	// form.
	Gate Gate
	// Headroom is how near the next fold is, LaidOut the profile by which the last
	// one was made. They are no part of the canonical form.
	Headroom Headroom
	LaidOut  ProfileName
	// Breakpoints are in order of their bytes, at most MaxBreakpoints. They are
	// no part of the canonical form.
	Breakpoints []Breakpoint
}

// Calibration is how a budget in the provider's tokens became one in counted
// tokens: an input of the pack.
type Calibration struct {
	Factor, Band      float64 // as in tokens.Fit
	Overhead, Samples int
	Limit, Reserved   int // of the budget, in the provider's tokens
}

func (c *Calibration) appendCanonical(b []byte) []byte {
	b = append(b, `,"calibration":{"band":`...)
	b = canonical.AppendFloat(b, c.Band)
	b = append(b, `,"factor":`...)
	b = canonical.AppendFloat(b, c.Factor)
	b = append(b, `,"limit":`...)
	b = canonical.AppendInt(b, int64(c.Limit))
	b = append(b, `,"overhead":`...)
	b = canonical.AppendInt(b, int64(c.Overhead))
	b = append(b, `,"reserved":`...)
	b = canonical.AppendInt(b, int64(c.Reserved))
	b = append(b, `,"samples":`...)
	b = canonical.AppendInt(b, int64(c.Samples))
	return append(b, '}')
}

// Quotas are limits of a pack.
type Quotas struct {
	Summaries int // tokens
	Fulls     int // full conversations served by request
}

// Branches are the three parts of the outgoing message (H8). Text is their
// concatenation: system, context, input.
type Branches struct {
	System  string
	Context string
	Input   string
}

// Used is the tokens of the whole text.
func (p *Pack) Used() int { return p.System + p.Context + p.Input }

// Checksum returns the SHA-256 of the pack's canonical bytes, in hex.
func Checksum(canonicalBytes []byte) string {
	sum := sha256.Sum256(canonicalBytes)
	return hex.EncodeToString(sum[:])
}

// Digester computes the checksums of many packs in the same memory. The zero
// value is ready; it is for one goroutine.
type Digester struct {
	canonical []byte
	texts     escapedTexts
}

// Checksum returns what Checksum returns for a pack's canonical bytes.
func (d *Digester) Checksum(p *Pack) string {
	d.canonical = p.appendCanonical(d.canonical[:0], &d.texts)
	return Checksum(d.canonical)
}

// AppendCanonical appends the pack as canonical JSON (RFC 8785): members in
// order of their names, no white space. The form is wire.Pack.
func (p *Pack) AppendCanonical(b []byte) []byte {
	return p.appendCanonical(b, new(escapedTexts))
}

// appendCanonical uses the memory of texts.
func (p *Pack) appendCanonical(b []byte, texts *escapedTexts) []byte {
	texts.fill(p)
	b = slices.Grow(b, 3*len(texts.text)+100*len(p.Dropped)+4096)
	b = append(b, `{"branches":{"contextPrompt":`...)
	b = texts.append(b, texts.system, texts.context)
	b = append(b, `,"systemPrompt":`...)
	b = texts.append(b, 0, texts.system)
	b = append(b, `,"userInput":`...)
	b = texts.append(b, texts.context, len(texts.ends))
	b = append(b, '}')
	if p.Calibration != nil {
		b = p.Calibration.appendCanonical(b)
	}
	b = append(b, `,"dropOrder":["nonRequestedFulls","summaries","headers"],"dropped":[`...)
	for i, d := range p.Dropped {
		b = appendComma(b, i)
		b = append(b, `{"from":`...)
		b = canonical.AppendString(b, d.From)
		b = append(b, `,"id":`...)
		b = canonical.AppendString(b, d.ID)
		b = append(b, `,"reason":`...)
		b = canonical.AppendString(b, d.Reason)
		b = append(b, `,"saved":`...)
		b = canonical.AppendInt(b, int64(d.Saved))
		b = append(b, `,"to":`...)
		b = canonical.AppendString(b, d.To)
		b = append(b, '}')
	}
	b = append(b, `],"encoding":`...)
	b = canonical.AppendString(b, p.Encoding)
	b = append(b, `,"epoch":`...)
	b = canonical.AppendInt(b, p.Epoch)
	b = append(b, `,"epochReason":`...)
	b = canonical.AppendString(b, p.EpochReason)
	b = append(b, `,"estimate":`...)
	b = appendBool(b, p.Estimate)
	b = append(b, `,"guaranteed":["currentContext","headers"],"layout":`...)
	b = canonical.AppendString(b, string(p.Layout))
	b = append(b, `,"quotas":{"fulls":`...)
	b = canonical.AppendInt(b, int64(p.Quotas.Fulls))
	b = append(b, `,"summaries":`...)
	b = canonical.AppendInt(b, int64(p.Quotas.Summaries))
	b = append(b, `},"sections":[`...)
	for i := range p.Sections {
		b = appendComma(b, i)
		b = p.Sections[i].appendCanonical(b)
		b = texts.append(b, i, i+1)
		b = append(b, `,"tokens":`...)
		b = canonical.AppendInt(b, int64(p.Sections[i].Tokens))
		b = append(b, '}')
	}
	b = append(b, `],"seed":`...)
	b = canonical.AppendString(b, p.Seed)
	b = append(b, `,"selectionPolicy":"`+PolicyVersion+`","sequence":`...)
	b = canonical.AppendInt(b, p.Sequence)
	b = append(b, `,"session":`...)
	b = canonical.AppendString(b, p.Session)
	b = append(b, `,"settings":`...)
	b = canonical.AppendString(b, p.Settings)
	b = append(b, `,"stablePrefixBytes":`...)
	b = canonical.AppendInt(b, int64(p.StableBytes))
	b = append(b, `,"text":`...)
	b = texts.append(b, 0, len(texts.ends))
	b = append(b, `,"tokens":{"available":`...)
	b = canonical.AppendInt(b, int64(p.Budget.Total-p.Budget.Reserved))
	b = append(b, `,"context":`...)
	b = canonical.AppendInt(b, int64(p.Context))
	b = append(b, `,"fullHistory":`...)
	b = canonical.AppendInt(b, p.FullHistory)
	b = append(b, `,"input":`...)
	b = canonical.AppendInt(b, int64(p.Input))
	b = append(b, `,"reserved":`...)
	b = canonical.AppendInt(b, int64(p.Budget.Reserved))
	b = append(b, `,"system":`...)
	b = canonical.AppendInt(b, int64(p.System))
	b = append(b, `,"total":`...)
	b = canonical.AppendInt(b, int64(p.Budget.Total))
	b = append(b, `,"used":`...)
	b = canonical.AppendInt(b, int64(p.Used()))
	return append(b, `}}`...)
}

func (s *Section) appendCanonical(b []byte) []byte {
	b = append(b, `{"allowance":`...)
	b = canonical.AppendInt(b, int64(s.Allowance))
	b = append(b, `,"items":[`...)
	for i, item := range s.Items {
		b = appendComma(b, i)
		b = append(b, `{"detail":`...)
		b = canonical.AppendString(b, item.Form.Detail)
		b = append(b, `,"id":`...)
		b = canonical.AppendString(b, item.ID)
		b = append(b, `,"tokens":`...)
		b = canonical.AppendInt(b, int64(item.Form.Tokens))
		b = append(b, '}')
	}
	b = append(b, `],"layer":`...)
	b = canonical.AppendInt(b, int64(s.Layer))
	b = append(b, `,"name":`...)
	b = canonical.AppendString(b, s.Name)
	return append(b, `,"text":`...)
}

// escapedTexts are the sections' texts as JSON strings, one after another. The
// pack has each three times: in its branch, in its section and in the whole.
type escapedTexts struct {
	text            []byte
	begins, ends    []int // of each section, between the quotes
	system, context int   // sections before the end of that branch
}

func (t *escapedTexts) fill(p *Pack) {
	*t = escapedTexts{text: slices.Grow(t.text[:0], len(p.Text)+len(p.Text)/16), begins: t.begins[:0], ends: t.ends[:0]}
	for i := range p.Sections {
		t.begins = append(t.begins, len(t.text)+1)
		t.text = canonical.AppendString(t.text, p.Sections[i].Text)
		t.ends = append(t.ends, len(t.text)-1)
		switch p.Sections[i].Name {
		case SectionSystem:
			t.system, t.context = i+1, i+1
		case SectionInput:
		default:
			t.context = i + 1
		}
	}
}

// append appends sections from one to before another as one JSON string.
func (t *escapedTexts) append(b []byte, from, to int) []byte {
	b = append(b, '"')
	for i := from; i < to; i++ {
		b = append(b, t.text[t.begins[i]:t.ends[i]]...)
	}
	return append(b, '"')
}

func appendComma(b []byte, i int) []byte {
	if i > 0 {
		return append(b, ',')
	}
	return b
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, "true"...)
	}
	return append(b, "false"...)
}
