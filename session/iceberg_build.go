package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"hexapla/layers"
	"hexapla/layers/answer"
	"hexapla/layers/digest"
	"hexapla/layers/history"
	"hexapla/layers/iceberg"
	"hexapla/storage"
)

// BuildTiers puts an agent's messages into four tiers by what is left of the
// budget. What was left out of the history is archived first, so nothing is lost.
// If anything fails but the parameters themselves, or the request is cancelled, the
// messages come back as they are, with a warning (requirement I6).
func (s *Session) BuildTiers(ctx context.Context, req TiersRequest) (TiersReply, error) {
	if err := req.check(); err != nil {
		return TiersReply{}, err
	}
	span := s.trace("hexapla.tiers.build", false)
	reply, err := s.planTiers(ctx, &req)
	if err == nil {
		err = s.keepRemoved(ctx, &req, &reply)
	}
	if err != nil {
		if ctx.Err() != nil || errors.Is(err, ErrClosed) {
			return TiersReply{}, err
		}
		reply = unbuilt(&req, &reply, err)
		_ = s.Workspace.view(0, func(v storage.View) error { reply.Sequence = v.Seq(); return nil })
	}
	s.snapshot(&req, &reply, span.micros())
	span.tiers(&req, &reply)
	return reply, nil
}

// unbuilt gives the messages back as they came, with what was found out before it
// failed.
func unbuilt(req *TiersRequest, found *TiersReply, err error) TiersReply {
	reply := TiersReply{
		Messages: req.Messages, Kept: make([]int, len(req.Messages)), Tiers: emptyTiers(), Checksum: checksumOf(req.System, req.Messages),
		Chosen: found.Chosen, Original: found.Original, Tokens: found.Original, SystemTokens: found.SystemTokens, Budget: found.Budget, Estimate: found.Estimate,
	}
	for i := range reply.Kept {
		reply.Kept[i] = i
	}
	w := TierWarning{Kind: WarnNotBuilt, Message: "the messages are as they came: the tiers could not be built"}
	var invalid *InvalidError
	var missing *NotFoundError
	var large *TooLargeError
	var small *HistoryBudgetError
	switch {
	case errors.As(err, &invalid):
		w.Path, w.Message = invalid.Path, invalid.Error()
	case errors.As(err, &missing):
		w.Path, w.Message = missing.Path, missing.Error()
	case errors.As(err, &large):
		w.Path, w.Message = large.Path, large.Error()
	case errors.As(err, &small):
		w.Path, w.Message, w.Smallest = "budget", "budget: what is always there takes "+strconv.Itoa(small.Needed)+" tokens", small.Needed
	case errors.Is(err, ErrQuota), errors.Is(err, storage.ErrFull):
		w.Message = "the messages are as they came: there is no room to archive what would go"
	}
	reply.Warnings = append(reply.Warnings, w)
	return reply
}

func emptyTiers() []TierContent {
	var out []TierContent
	for _, tier := range iceberg.All() {
		out = append(out, TierContent{Tier: tier, Parts: []TierPart{}})
	}
	return out
}

// checksumOf is the SHA-256 of what is sent.
func checksumOf(system json.RawMessage, messages []json.RawMessage) string {
	var b []byte
	b = append(b, system...)
	for _, m := range messages {
		b = append(append(b, '\n'), m...)
	}
	return layers.Checksum(b)
}

// tierBuild is a build on its way.
type tierBuild struct {
	s     *Session
	req   *TiersRequest
	reply *TiersReply
	list  *historyList
	p     *packer
	room  int // tokens that are left

	// What the context message is made of.
	head, note, current layers.Form
	shown               []layers.Form // items
	fileForms           []layers.Form
}

// planTiers builds the tiers without storing anything. A fault of ours is an error
// like others, so that it costs the user no call.
func (s *Session) planTiers(ctx context.Context, req *TiersRequest) (reply TiersReply, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			s.Workspace.opts.Logf("workspace %s: tiers: a fault of type %T", s.Workspace.ID, fault)
			err = errors.New("tiers: internal fault")
		}
	}()
	reply = TiersReply{Built: true, Tiers: emptyTiers()}
	list, err := s.readHistory(&req.HistoryRequest)
	if err != nil {
		return reply, err
	}
	reply.list = list
	reply.Original, reply.SystemTokens, reply.Estimate = list.stats.Tokens, list.system, list.stats.Estimate
	if reply.Budget = req.Budget; reply.Budget == 0 {
		reply.Budget = int(int64(list.stats.Limit) * int64(req.Threshold) / 100)
	}
	if !list.stats.Known && req.Limit == 0 && req.Model != "" {
		reply.warn(WarnUnknownModel, "model", "the model is not known: the default's window and tokenizer are used")
	}
	if len(list.Problems) > 0 {
		reply.warn(WarnProblems, "messages["+strconv.Itoa(list.Problems[0].Message)+"]", "calls without results, or results without calls: those are left out of the history")
	}
	err = s.Workspace.view(0, func(v storage.View) error {
		reply.Sequence = v.Seq()
		b := &tierBuild{s: s, req: req, reply: &reply, list: list, room: reply.Budget, p: &packer{ws: s.Workspace, session: s.ID, view: v, counter: list.counter}}
		return b.build(ctx)
	})
	return reply, err
}

func (r *TiersReply) warn(kind, path, message string) {
	r.Warnings = append(r.Warnings, TierWarning{Kind: kind, Path: path, Message: message})
}

func (b *tierBuild) build(ctx context.Context) error {
	if err := b.choose(); err != nil {
		return err
	}
	rule := b.reply.Chosen.Rule
	always := b.list.Always()
	if err := b.always(always); err != nil {
		return err
	}
	if err := b.memory(rule.Items); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if rule.Files != iceberg.FilesNone {
		b.files(ctx, b.list.Recent(rule.Messages, b.room), rule.Files)
	}
	outcome := b.list.Recent(rule.Messages, b.room)
	b.history(always, outcome)
	b.reply.outcome = outcome
	b.assemble(outcome)
	return ctx.Err()
}

// choose finds the rule.
func (b *tierBuild) choose() error {
	given, rules := &b.req.Strategy, b.req.Strategy.Rules
	c := Chosen{Rules: RulesRequest, Forced: given.Force}
	if rules == nil {
		rules, c.Rules = b.s.service.client.Tiers, RulesSettings
		if slices.Equal(rules, iceberg.Default()) {
			c.Rules = RulesDefault
		}
	}
	status, err := b.s.budgetAt(b.p.view, b.req.User, "")
	if err != nil {
		return err
	}
	if status.Exceeded {
		b.reply.warn(WarnExceeded, "", "nothing is left of the budget")
	}
	c.Percent, c.Binding = status.Left, status.Binding
	if given.Percent != nil {
		c.Percent, c.Binding, c.Given = *given.Percent, nil, true
	}
	c.Rule, c.Range = rules.Of(c.Percent)
	c.Rule = rules.With(c.Rule, given.Force)
	b.reply.Chosen = c
	return nil
}

// leftOut tells the model that messages are missing. It names no number, so that it
// stays as it is.
const leftOut = "### earlier messages"

// always is tier 1: system prompts, what is asked now, layer 0. Room for the
// headings of the context message is set aside.
func (b *tierBuild) always(kept history.Outcome) error {
	tier := b.reply.tierOf(iceberg.Always)
	if b.list.system > 0 {
		tier.put(TierPart{ID: "system", Detail: layers.FormFull, Tokens: b.list.system})
	}
	for _, i := range kept.Kept {
		tier.put(b.messagePart(i))
	}
	b.head = b.p.form(layers.FormHeading, b.p.ws.fence.Heading(headingContext)+"\n"+b.p.ws.fence.Notice())
	b.note = b.p.form(layers.FormHeading, block(b.p.ws.fence.Heading(leftOut), "Some are left out here."))
	current, _, known, err := currentContext(b.p.view, b.p.session)
	if err != nil {
		return err
	}
	if text := digest.RenderCurrentContext(current); known && strings.TrimSpace(text) != "" {
		text, _ = digest.Trim(text, layers.CapCurrentContext-20, b.list.counter)
		b.current = b.p.form(layers.FormFull, block(b.p.ws.fence.Heading("### current context"), b.p.ws.fence.Clean(text)))
		tier.put(TierPart{ID: "context", Detail: b.current.Detail, Tokens: b.current.Tokens})
	}
	needed := tier.Tokens + b.head.Tokens + b.note.Tokens
	if b.room -= needed; b.room < 0 {
		return &HistoryBudgetError{Needed: needed}
	}
	return nil
}

func (b *tierBuild) messagePart(i int) TierPart {
	return TierPart{ID: strconv.Itoa(i), Detail: layers.FormFull, Tokens: b.list.Messages[i].Tokens}
}

// memory is tier 2: of the agent's HOT and WARM items those that count for most, in
// the order in which they were saved.
func (b *tierBuild) memory(most int) error {
	tier := b.reply.tierOf(iceberg.Memory)
	t, err := b.s.memoryAt(b.p.view, b.req.Agent)
	var unknown *NotFoundError
	var without *InvalidError
	switch {
	case errors.As(err, &unknown):
		b.reply.warn(WarnUnknownAgent, "agent", "the agent has saved no memory items")
		return nil
	case errors.As(err, &without): // the session has no agent, and none is named
		return nil
	case err != nil:
		return err
	}
	var items []layers.RankedItem
	for i := range t.items {
		e := &t.items[i]
		if e.Archived || e.Tier == layers.TierCold {
			continue
		}
		body, ok, err := b.p.ws.itemAt(b.p.view, e)
		if err != nil {
			return err
		}
		if ok {
			items = append(items, b.p.memoryItem(e, body, t.time))
		}
	}
	chosen := make(map[string]bool, len(items))
	order := slices.Clone(items)
	slices.SortStableFunc(order, func(a, b layers.RankedItem) int { return cmp.Compare(b.Rank, a.Rank) })
	for i := range order {
		chosen[order[i].ID] = most == iceberg.Unbounded || i < most
	}
	within := slices.DeleteFunc(slices.Clone(items), func(item layers.RankedItem) bool { return !chosen[item.ID] })
	picked, used := layers.PickItems(within, b.room)
	b.room -= used
	at := 0
	for _, item := range items {
		if !chosen[item.ID] {
			tier.put(TierPart{ID: item.ID, Detail: layers.FormNone, Tokens: item.Form.Tokens, Reason: reasonRule})
			continue
		}
		shown := picked[at]
		at++
		if shown.Form.Detail == layers.FormNone {
			tier.put(TierPart{ID: item.ID, Detail: layers.FormNone, Tokens: item.Form.Tokens, Reason: layers.DropBudget})
			continue
		}
		tier.put(TierPart{ID: item.ID, Detail: shown.Form.Detail, Tokens: shown.Form.Tokens})
		b.shown = append(b.shown, shown.Form)
	}
	return nil
}

// reasonRule is why something is not shown that the rule leaves out.
const reasonRule = "rule"

// history is tier 4: what stays of the messages before, and what goes.
func (b *tierBuild) history(always, kept history.Outcome) {
	tier := b.reply.tierOf(iceberg.History)
	first := make(map[int]bool, len(always.Kept))
	for _, i := range always.Kept {
		first[i] = true
	}
	for _, i := range kept.Kept {
		if !first[i] {
			tier.put(b.messagePart(i))
		}
	}
}

// assemble makes the list of messages. The context message stands in front of all
// but system prompts, so that what changes less than the history comes before it,
// and a list never begins with an answer.
func (b *tierBuild) assemble(outcome history.Outcome) {
	r := b.reply
	text := b.contextText(len(outcome.Removed) > 0)
	for i := range r.Tiers {
		r.Tokens += r.Tiers[i].Tokens
	}
	r.Kept, r.Messages = outcome.Kept, make([]json.RawMessage, 0, len(outcome.Kept)+1)
	for _, i := range outcome.Kept {
		if text != "" && r.Context == nil && b.list.Messages[i].Role != history.RoleSystem {
			b.insert(text)
		}
		r.Messages = append(r.Messages, b.req.Messages[i])
	}
	if text != "" && r.Context == nil {
		b.insert(text)
	}
	r.Checksum = checksumOf(b.req.System, r.Messages)
}

// contextText is the text of the context message, what changes least first; "" if
// there is nothing to say.
func (b *tierBuild) contextText(cut bool) string {
	forms := slices.Clone(b.shown)
	if b.current.Tokens > 0 {
		forms = append(forms, b.current)
	}
	forms = append(forms, b.fileForms...)
	headings := b.head.Tokens
	if cut {
		forms = append(forms, b.note)
		headings += b.note.Tokens
	}
	if len(forms) == 0 {
		return ""
	}
	b.reply.tierOf(iceberg.Always).put(TierPart{ID: "headings", Detail: layers.FormHeading, Tokens: headings})
	var text strings.Builder
	text.WriteString(b.head.Text)
	for _, form := range forms {
		text.WriteString(form.Text)
	}
	return text.String()
}

func (b *tierBuild) insert(text string) {
	var provider answer.Provider
	for i := range b.list.Messages {
		if provider = b.list.Messages[i].Provider; provider != "" {
			break
		}
	}
	b.reply.Context, b.reply.ContextAt = history.UserMessage(text, provider), len(b.reply.Messages)
	b.reply.Messages = append(b.reply.Messages, b.reply.Context)
}

// keepRemoved archives what the history lost, as pruning does.
func (s *Session) keepRemoved(ctx context.Context, req *TiersRequest, reply *TiersReply) error {
	kept, err := s.archive(ctx, "tiers/build", &req.HistoryRequest, reply.list, reply.outcome, HistoryReply{})
	if err != nil {
		return err
	}
	reply.Removed, reply.Sequence = kept.Removed, kept.Sequence
	return nil
}
