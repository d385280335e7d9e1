package session

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"

	"hexapla/session/trace"
)

// Tracing says where spans go. The zero value traces nothing.
type Tracing struct {
	// File is a name in the folder traces of the data folder; "" for no traces.
	File string `json:"file"`
}

// tracesDir is the folder of traces in the data folder.
const tracesDir = "traces"

// ParseTracing reads the members that are given. A name that cannot be used gives
// an *InvalidError.
func ParseTracing(data []byte) (Tracing, error) {
	var t Tracing
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&t); err != nil {
		return t, fmt.Errorf("trace: %w", err)
	}
	if t.File != "" {
		if err := trace.CheckName(t.File); err != nil {
			return t, &InvalidError{Path: "trace.file", Message: err.Error()}
		}
	}
	return t, nil
}

// traceKey is the purpose of the store's key that ids of spans are made with.
const traceKey = "trace"

// tracing is a span on its way. Nothing is written where nothing is traced.
type tracing struct {
	s     *Session
	span  trace.Span
	ticks int64
	off   bool
}

// trace begins a span. A child is of the trace of the session's newest build.
func (s *Session) trace(name string, child bool) *tracing {
	ws := s.Workspace
	t := &tracing{s: s, off: s.service.client.Tracing.File == "", ticks: ws.opts.Ticks()}
	if t.off {
		return t
	}
	t.span = trace.Span{Name: name, Start: ws.opts.Now() * 1_000_000}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spans++
	mac := hmac.New(sha256.New, ws.store.Key(traceKey))
	mac.Write([]byte(s.ID + "\x00" + strconv.FormatInt(t.span.Start, 10) + "\x00" + strconv.FormatInt(s.spans, 10) + "\x00" + strconv.FormatInt(t.ticks, 10)))
	sum := mac.Sum(nil)
	copy(t.span.ID.Trace[:], sum)
	copy(t.span.ID.Span[:], sum[16:])
	switch {
	case child && s.span != (trace.ID{}):
		t.span.ID.Trace, t.span.Parent = s.span.Trace, s.span.Span
	case !child:
		s.span = t.span.ID
	}
	return t
}

// micros is how long it took so far.
func (t *tracing) micros() int64 { return t.s.Workspace.opts.Ticks() - t.ticks }

// end writes the span.
func (t *tracing) end() {
	if t.off {
		return
	}
	t.span.End = t.span.Start + t.micros()*1000
	for i := range t.span.Events {
		t.span.Events[i].Time = t.span.End
	}
	t.say("session.id", t.s.ID)
	shared, client := t.s.service.shared, &t.s.service.client
	if err := trace.Append(filepath.Join(shared.opts.DataDir, tracesDir), client.Tracing.File, "", t.span); err != nil {
		client.Logf("a trace was not written: %v", err)
	}
}

func (t *tracing) say(name string, value any) {
	if n, ok := value.(int); ok {
		value = int64(n)
	}
	if value != "" {
		t.span.Attributes = append(t.span.Attributes, trace.Attribute{Name: name, Value: value})
	}
}

// The names of attributes are those of OpenTelemetry's conventions for generative
// models where there are such.

// tiers ends the span of a build.
func (t *tracing) tiers(req *TiersRequest, reply *TiersReply) {
	if t.off {
		return
	}
	c := &reply.Chosen
	t.say("gen_ai.agent.name", req.Agent)
	t.say("gen_ai.request.model", req.Model)
	t.say("hexapla.tiers.built", reply.Built)
	t.say("hexapla.tiers.budget_percent", c.Percent)
	t.say("hexapla.tiers.range", c.Range)
	t.say("hexapla.tiers.rules", c.Rules)
	t.say("hexapla.tiers.tokens", reply.Tokens)
	t.say("hexapla.tiers.tokens.original", reply.Original)
	t.say("hexapla.tiers.removed", len(reply.Removed))
	t.say("hexapla.tiers.checksum", reply.Checksum)
	for _, tier := range reply.Tiers {
		t.span.Events = append(t.span.Events, trace.Event{Name: "hexapla.tier", Attributes: []trace.Attribute{
			{Name: "hexapla.tier", Value: int64(tier.Tier)}, {Name: "hexapla.tier.items", Value: int64(tier.Items)}, {Name: "hexapla.tier.tokens", Value: int64(tier.Tokens)},
		}})
	}
	for _, w := range reply.Warnings {
		t.span.Events = append(t.span.Events, trace.Event{Name: "hexapla.warning", Attributes: []trace.Attribute{{Name: "hexapla.warning", Value: w.Kind}}})
		if w.Kind == WarnNotBuilt {
			t.span.Failed = w.Kind
		}
	}
	t.end()
}

// usage ends the span of a report.
func (t *tracing) usage(req *UsageReport, reply *UsageReply) {
	if t.off {
		return
	}
	t.say("gen_ai.request.model", req.Model)
	t.say("gen_ai.usage.input_tokens", req.PromptTokens)
	t.say("gen_ai.usage.output_tokens", req.OutputTokens)
	t.say("hexapla.usage.cache_write_tokens", req.CacheWriteTokens)
	t.say("hexapla.usage.cache_read_tokens", req.CacheReadTokens)
	t.say("hexapla.usage.micro_usd", reply.MicroUSD)
	t.say("hexapla.budget.left_percent", reply.Budget.Left)
	t.end()
}
