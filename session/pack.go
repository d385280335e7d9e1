package session

import (
	"context"
	"errors"
	"fmt"

	"hexapla/layers"
	"hexapla/storage"
)

// PackRequest asks for a pack.
type PackRequest struct {
	Budget layers.Budget `json:"budget"`
	Model  string        `json:"model,omitempty"`
	Layout layers.Layout `json:"layout,omitempty"`
	Input  *PackInput    `json:"input,omitempty"`
	System []SystemPart  `json:"system,omitempty"`
	Task   string        `json:"task,omitempty"`
	AsOf   int64         `json:"asOf,omitempty"` // a sequence; 0 means the newest
	// AsOfTime is a time in place of AsOf, in Unix milliseconds, nil for none:
	// the newest sequence that was committed at or before it. A time that has not
	// come yet means the newest.
	AsOfTime *int64 `json:"-"`
	Fill     bool   `json:"fill,omitempty"`
	Unit     string `json:"unit,omitempty"` // UnitCounted when empty
	// Prices are the model's when they are not set. The audit log keeps them.
	Prices *layers.CachePrices `json:"prices,omitempty"`
}

// Units of a budget.
const (
	UnitCounted  = "counted"  // tokens as they are counted here
	UnitProvider = "provider" // the provider's tokens, by what its usage taught
)

// PackInput is the input that is not recorded yet.
type PackInput struct {
	Kind    layers.InputKind `json:"kind"`
	Content string           `json:"content"`
}

// SystemPart is one part of the system branch.
type SystemPart struct {
	Name string `json:"name"` // "tools", "environment", "guardrails" or "other"
	Text string `json:"text"`
}

// PackReply is a pack and how it continues the one before.
type PackReply struct {
	Redacted     bool // of a pack that is built again: what it may have shown was forgotten since
	Checksum     string
	Canonical    []byte // the pack as canonical JSON
	Pack         *layers.Pack
	PrefixBytes  int
	PrefixTokens int
	CachedShare  float64
	full         int64        // tokens of the prompt that has the full history instead
	Previous     string       // checksum of the session's pack before; "" if there is none
	Profile      ProfileState // that the pack was built under
	// ProfileBefore is the profile of the pack before, where that was another one.
	ProfileBefore layers.ProfileName
	Limit         *PackLimit // nil where none is set
	Loss          *PackLoss  // what that pack showed and this one does not; nil if there is nothing
}

// maxBudget bounds the tokens of a budget.
const maxBudget = 100_000_000

func (r *PackRequest) check() error {
	switch {
	case r.Budget.Total <= 0:
		return invalid("budget.total", "must be positive")
	case r.Budget.Total > maxBudget:
		return &InvalidError{Path: "budget.total", Message: "too large", Limit: maxBudget}
	case r.Budget.Reserved < 0:
		return invalid("budget.reserved", "must not be negative")
	case r.Budget.Reserved > maxBudget:
		return &InvalidError{Path: "budget.reserved", Message: "too large", Limit: maxBudget}
	case r.AsOf < 0:
		return invalid("asOf", "must not be negative")
	}
	switch r.Unit {
	case "", UnitCounted, UnitProvider:
	default:
		return invalid("budgetUnit", "must be %q or %q", UnitCounted, UnitProvider)
	}
	switch r.Layout {
	case "", layers.LayoutStablePrefix, layers.LayoutNarrativeFirst:
	default:
		return invalid("layout", "must be %q or %q", layers.LayoutStablePrefix, layers.LayoutNarrativeFirst)
	}
	if r.Input == nil {
		return nil
	}
	if len(r.Input.Content) > maxTextSize {
		return &TooLargeError{Path: "input.content", Limit: maxTextSize}
	}
	switch r.Input.Kind {
	case layers.InputUserQuery, layers.InputToolResponse, layers.InputUserFeedback:
		return nil
	}
	return invalid("input.type", `must be "user_query", "tool_response" or "user_feedback"`)
}

// BuildPack builds a pack, writes it to the audit log and compares it with the
// session's pack before.
func (s *Session) BuildPack(ctx context.Context, req PackRequest) (PackReply, error) {
	s.fill(&req)
	start := s.Workspace.opts.Ticks()
	var reply PackReply
	limit, err := s.withinLimit(&req, func() (err error) {
		reply, err = s.Workspace.buildPack(ctx, s.ID, req)
		return err
	})
	if err != nil {
		return reply, err
	}
	before := s.newestPack(reply.Pack.Layout)
	measures := s.compare(ctx, &reply)
	if reply.Limit = limit; limit != nil {
		limit.told(ctx, s, reply.Pack, before)
	}
	measures.Micros = s.Workspace.opts.Ticks() - start
	s.Workspace.audit(s.ID, req, &reply, measures)
	return reply, nil
}

// fill puts in what a request leaves to the session.
func (s *Session) fill(req *PackRequest) {
	if req.Model == "" {
		req.Model = s.Model()
	}
	if req.Prices == nil {
		prices := s.Workspace.prices(req.Model)
		req.Prices = &prices
	}
	if req.Layout == "" {
		req.Layout = layers.LayoutStablePrefix
	}
}

// buildPack builds a pack without leaving a trace.
func (ws *Workspace) buildPack(ctx context.Context, session string, req PackRequest) (PackReply, error) {
	var reply PackReply
	err := ws.withInput(ctx, session, req, func(p *packer, in layers.Input) error {
		pack, err := build(in)
		if err != nil {
			return err
		}
		reply = PackReply{Pack: pack, Canonical: pack.AppendCanonical(nil), Profile: p.profileOf(pack)}
		reply.full = pack.FullHistory + int64(pack.System+p.stream.pending)
		reply.Checksum = layers.Checksum(reply.Canonical)
		return nil
	})
	return reply, err
}

// withInput reads what a pack is built of and calls build with it. Neither
// outlives the call.
func (ws *Workspace) withInput(ctx context.Context, session string, req PackRequest, build func(*packer, layers.Input) error) error {
	if err := req.check(); err != nil {
		return err
	}
	snapshot, err := ws.store.Snapshot()
	if err != nil {
		return err
	}
	defer snapshot.Release()
	if err := ws.resolve(snapshot, &req); err != nil {
		return err
	}
	p, in, err := ws.packInput(ctx, snapshot, session, req)
	if err != nil {
		return err
	}
	return build(p, in)
}

// resolve turns a request's time into the sequence that it stands for.
func (ws *Workspace) resolve(snapshot *storage.Snapshot, req *PackRequest) error {
	if req.AsOfTime == nil {
		return nil
	}
	at := *req.AsOfTime
	req.AsOf, req.AsOfTime = snapshot.View().Seq(), nil
	if at >= ws.opts.Now() {
		return nil
	}
	seq, err := snapshot.SeqAt(at)
	if errors.Is(err, storage.ErrNotFound) {
		return &NotFoundError{Path: "asOf", Message: "nothing is known to be recorded at or before that time"}
	}
	req.AsOf = seq
	return err
}

// packInput reads what a pack is built of from a snapshot.
func (ws *Workspace) packInput(ctx context.Context, snapshot *storage.Snapshot, session string, req PackRequest) (*packer, layers.Input, error) {
	var err error
	p := &packer{ws: ws, session: session, snapshot: snapshot, view: snapshot.View(), counter: ws.counter(req.Model), heads: &ws.heads}
	if req.Prices != nil {
		p.prices = *req.Prices
	}
	if req.AsOf != 0 {
		if p.view, err = snapshot.At(req.AsOf); err != nil {
			return nil, layers.Input{}, &NotFoundError{Path: "asOf", Message: fmt.Sprintf("no sequence %d; the newest is %d", req.AsOf, snapshot.View().Seq())}
		}
	}
	if _, ok, err := p.view.Latest(kindSession, session); err != nil {
		return nil, layers.Input{}, err
	} else if !ok {
		return nil, layers.Input{}, &NotFoundError{Path: "asOf", Message: fmt.Sprintf("the session was opened after sequence %d", p.view.Seq())}
	}
	if err = p.readEdits(); err != nil {
		return nil, layers.Input{}, err
	}
	if err = p.calibrate(req); err != nil {
		return nil, layers.Input{}, err
	}
	if p.stream, err = p.streamOf(ctx, p.pending(req.Input)); err != nil {
		return nil, layers.Input{}, err
	}
	full, err := sessionTokens(p.view, session)
	if err != nil {
		return nil, layers.Input{}, err
	}
	pins, err := p.pinItems()
	if err != nil {
		return nil, layers.Input{}, err
	}
	memory, err := p.memoryInput()
	if err != nil {
		return nil, layers.Input{}, err
	}
	passages, err := p.passages(ctx, req)
	if err != nil {
		return nil, layers.Input{}, err
	}
	return p, p.withBudget(layers.Input{
		Seed: p.seed(req), Session: session, Sequence: p.view.Seq(), Layout: req.Layout,
		Policy: p.policy, Settings: ws.settings, Count: p.counter,
		System: p.system(req.System), Pins: pins, Memory: memory, Passages: passages, Stream: p.stream.conversations, Errors: p.stream.errors, Gate: p.stream.gate, Prices: p.prices, Start: p.stream.start,
		StartSeq: p.stream.startSeq, Profiles: p.stream.spans, WindowSeq: p.stream.windowSeq, Source: p, FullHistory: full, Fill: req.Fill,
	}, req.Budget), nil
}

// pending returns the input if it is not the newest turn already.
func (p *packer) pending(in *PackInput) *pendingInput {
	if in == nil {
		return nil
	}
	id, _, err := ongoing(p.view, p.session)
	if err == nil && id != "" {
		if n := p.view.ListLen(listOfTurns(id)); n > 0 {
			body, _, ok, err := latest[turnRecord](p.view, kindTurn, turnID(id, n))
			if err == nil && ok && body.Role == layers.RoleUser && body.Text == in.Content {
				return nil
			}
		}
	}
	return &pendingInput{kind: in.Kind, content: asText(in.Content)}
}

// seed is derived from the task and the turn (H12).
func (p *packer) seed(req PackRequest) string {
	task := either(req.Task, p.session)
	turn := "0"
	if id, _, err := ongoing(p.view, p.session); err == nil && id != "" {
		turn = turnID(id, p.view.ListLen(listOfTurns(id)))
	}
	return layers.Checksum([]byte(task + "\x00" + turn))[:16]
}

// systemHeading begins a part of the system branch.
func systemHeading(part string) string {
	switch part {
	case "tools":
		return "# Tools"
	case "environment":
		return "# Environment"
	case "guardrails":
		return "# Guardrails"
	}
	return "# System"
}

func (p *packer) system(parts []SystemPart) []layers.Item {
	var items []layers.Item
	for _, part := range parts {
		if part.Text == "" {
			continue
		}
		items = append(items, layers.Item{ID: part.Name, Form: p.form(layers.FormFull, block(p.ws.fence.Heading(systemHeading(part.Name)), asText(part.Text)))})
	}
	return items
}

// tokensWithin returns the tokens of the items that lie whole in the first bytes
// of a pack.
func tokensWithin(pack *layers.Pack, bytes int) (tokens int) {
	at := 0
	for i := range pack.Sections {
		for _, item := range pack.Sections[i].Items {
			if at += len(item.Form.Text); at > bytes {
				return tokens
			}
			tokens += item.Form.Tokens
		}
	}
	return tokens
}
