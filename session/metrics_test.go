package session_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"hexapla/layers"
	"hexapla/session"
)

// hours is a clock that a test sets; each look at the ticks takes 1.5 ms.
type hours struct{ at, ticks atomic.Int64 }

const hour = 3_600_000

func atHour(h int64) *hours {
	clock := &hours{}
	clock.at.Store(h)
	return clock
}

// clocked opens the session "s" under a clock.
func clocked(t *testing.T, dir string, clock *hours) (*session.Session, func()) {
	t.Helper()
	service := newService(session.Options{
		DataDir: dir, Now: func() int64 { return clock.at.Load() * hour },
		Ticks: func() int64 { return clock.ticks.Add(1500) },
	})
	if _, err := service.OpenSession(t.Context(), session.OpenRequest{URI: "file:///work", Session: "s", Model: "claude-opus-4-5"}); err != nil {
		t.Fatal(err)
	}
	s, err := service.Session("s")
	if err != nil {
		t.Fatal(err)
	}
	return s, func() {
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	}
}

func measure(t *testing.T, s *session.Session, req session.MetricsRequest) session.Metrics {
	t.Helper()
	m, err := s.Metrics(t.Context(), req)
	if err != nil {
		t.Fatalf("%+v: %v", req, err)
	}
	return m
}

func ask(t *testing.T, s *session.Session, ids ...string) session.ContextReply {
	t.Helper()
	reply, err := s.RequestContext(t.Context(), session.ContextRequest{Retrieve: []session.Retrieve{{IDs: ids, Format: layers.DetailFull}}})
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// day records a conversation and builds a pack in each of eight hours, and asks
// for what there is and what there is not.
func day(t *testing.T, s *session.Session, clock *hours) (packs []session.PackReply) {
	t.Helper()
	for i := range 8 {
		clock.at.Store(int64(i + 1))
		if _, err := s.Record(t.Context(), exchange(i)); err != nil {
			t.Fatal(err)
		}
		packs = append(packs, pack(t, s, 2000))
		if i%3 == 2 {
			ask(t, s, "c1", "c99")
		}
	}
	return packs
}

func TestMetricsOfPacks(t *testing.T) {
	t.Parallel()
	clock := &hours{}
	s, done := clocked(t, t.TempDir(), clock)
	defer done()
	packs := day(t, s, clock)
	m := measure(t, s, session.MetricsRequest{}).Packs
	var want session.Packs
	before := int64(0)
	for _, p := range packs {
		used, full := int64(p.Pack.Used()), p.Pack.FullHistory
		want.Count++
		want.Tokens += used
		want.FullTokens += full
		want.Bytes += int64(len(p.Pack.Text))
		want.Common += int64(p.PrefixBytes)
		same := int64(p.PrefixTokens)
		want.Billed += 1.25*float64(used-same) + 0.1*float64(same)
		want.BilledFull += 1.25*float64(full-before) + 0.1*float64(before)
		before = full
		for _, d := range p.Pack.Dropped {
			if d.Reason == layers.DropBudget {
				want.Forced++
			}
		}
	}
	if want.Common == 0 || want.Forced == 0 {
		t.Fatalf("the packs have nothing in common or drop nothing: %+v", want)
	}
	want.Measured, want.MeasuredTokens, want.Priced = want.Count, want.Tokens, want.Count
	want.Dollars, want.DollarsFull = want.Billed*5e-6, want.BilledFull*5e-6
	want.Latency = session.Percentiles{Count: 8, P50: 1.5, P95: 1.5, P99: 1.5}
	for _, f := range []struct{ got, want *float64 }{{&m.Billed, &want.Billed}, {&m.BilledFull, &want.BilledFull}, {&m.Dollars, &want.Dollars}, {&m.DollarsFull, &want.DollarsFull}} {
		if math.Abs(*f.got-*f.want) > 1e-6 {
			t.Errorf("%v, want %v", *f.got, *f.want)
		}
		*f.got = *f.want
	}
	if m != want {
		t.Errorf("%+v\nwant %+v", m, want)
	}
}

// TestFullHistoryHasTheInput: what is compared is the same prompt, with the
// system parts and an input that is not recorded yet.
func TestFullHistoryHasTheInput(t *testing.T) {
	t.Parallel()
	s, done := clocked(t, t.TempDir(), atHour(1))
	defer done()
	reply, err := s.BuildPack(t.Context(), session.PackRequest{
		Budget: layers.Budget{Total: 3000}, System: []session.SystemPart{{Name: "tools", Text: "Bash runs a command."}},
		Input: &session.PackInput{Kind: layers.InputUserQuery, Content: "What is in the reader?"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if m := measure(t, s, session.MetricsRequest{}).Packs; m.FullTokens != int64(reply.Pack.System+reply.Pack.Input) || m.FullTokens <= int64(reply.Pack.System) {
		t.Errorf("%d tokens with the full history, of a system branch of %d and an input of %d", m.FullTokens, reply.Pack.System, reply.Pack.Input)
	}
}

// TestMetricsSurviveARestart: all figures are the same in another process.
func TestMetricsSurviveARestart(t *testing.T) {
	t.Parallel()
	clock := &hours{}
	dir := t.TempDir()
	s, done := clocked(t, dir, clock)
	day(t, s, clock)
	windows := []session.MetricsRequest{{}, {OnlySession: true}, {Since: 3 * hour, Until: 6 * hour}, {FromSeq: 10, ToSeq: 40}}
	var before []session.Metrics
	for _, w := range windows {
		before = append(before, measure(t, s, w))
	}
	done()
	s, done = clocked(t, dir, clock)
	defer done()
	for i, w := range windows {
		if got := measure(t, s, w); !reflect.DeepEqual(got, before[i]) {
			t.Errorf("%+v: %+v, before %+v", w, got, before[i])
		}
	}
}

// TestWindowsAddUp: what lies on both sides of any border is all that there is,
// by sequence and by time.
func TestWindowsAddUp(t *testing.T) {
	t.Parallel()
	clock := &hours{}
	s, done := clocked(t, t.TempDir(), clock)
	defer done()
	day(t, s, clock)
	whole := measure(t, s, session.MetricsRequest{})
	counts := func(m session.Metrics) [7]int {
		out := [7]int{m.Packs.Count, int(m.Packs.Tokens), m.Window.Conversations, m.Window.Turns, m.Packs.Forced}
		if r := m.Retrieval; r != nil {
			out[5], out[6] = r.Requests, r.Asked()
		}
		return out
	}
	splits := 0
	check := func(a, b session.MetricsRequest) {
		t.Helper()
		splits++
		first, second := measure(t, s, a), measure(t, s, b)
		x, y, want := counts(first), counts(second), counts(whole)
		for i := range x {
			if x[i]+y[i] != want[i] {
				t.Errorf("figure %d: %d in %+v and %d in %+v, of %d", i, x[i], a, y[i], b, want[i])
			}
		}
		if first.Window.To+1 != second.Window.From {
			t.Errorf("%+v ends at %d, %+v begins at %d", a, first.Window.To, b, second.Window.From)
		}
	}
	for seq := int64(1); seq < whole.Window.To; seq++ {
		check(session.MetricsRequest{ToSeq: seq}, session.MetricsRequest{FromSeq: seq + 1})
	}
	for at := int64(1); at <= 20; at++ {
		check(session.MetricsRequest{Until: at * hour / 2}, session.MetricsRequest{Since: at * hour / 2})
	}
	m := measure(t, s, session.MetricsRequest{Since: 3 * hour, Until: 5 * hour})
	if m.Packs.Count != 2 || m.Window.Conversations != 2 || m.Window.First != 3*hour || m.Window.Last != 4*hour {
		t.Errorf("from three to five: %+v", m.Window)
	}
}

func TestWindowsThatAreEmptyOrWrong(t *testing.T) {
	t.Parallel()
	clock := atHour(1)
	s, done := clocked(t, t.TempDir(), clock)
	defer done()
	nothing := func(req session.MetricsRequest) {
		t.Helper()
		m := measure(t, s, req)
		if m.Packs != (session.Packs{}) || m.Retrieval != nil || m.Fidelity != nil || m.Drift != nil || m.Window.Conversations != 0 || m.Window.Turns != 0 {
			t.Errorf("%+v: %+v", req, m)
		}
	}
	nothing(session.MetricsRequest{})
	nothing(session.MetricsRequest{Since: 1})
	day(t, s, clock)
	end := measure(t, s, session.MetricsRequest{}).Window.To
	for _, req := range []session.MetricsRequest{
		{FromSeq: end + 1}, {FromSeq: math.MaxInt64}, {Since: 9 * hour}, {Until: hour}, {Since: 90 * hour, Until: 91 * hour}, {Since: 3*hour + 1, Until: 4 * hour},
	} {
		nothing(req)
	}
	for path, req := range map[string]session.MetricsRequest{
		"sinceSequence": {FromSeq: -1}, "untilSequence": {FromSeq: 5, ToSeq: 4}, "until": {Since: 5, Until: 4}, "since": {Since: 5, ToSeq: 4},
	} {
		var bad *session.InvalidError
		if _, err := s.Metrics(t.Context(), req); !errors.As(err, &bad) || bad.Path != path {
			t.Errorf("%+v: %v", req, err)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Metrics(cancelled, session.MetricsRequest{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestReAsks: a re-ask is what the pack before shows whole, or what was served
// in the conversation; what was cut or is out of it is none.
func TestReAsks(t *testing.T) {
	t.Parallel()
	clock := atHour(1)
	s, done := clocked(t, t.TempDir(), clock)
	defer done()
	for i := range 26 {
		if _, err := s.Record(t.Context(), exchange(i)); err != nil {
			t.Fatal(err)
		}
	}
	reAsked, asked := 0, 0
	expect := func(what string, n, more int) {
		t.Helper()
		reAsked, asked = reAsked+more, asked+n
		r := measure(t, s, session.MetricsRequest{}).Retrieval
		if r == nil || r.ReAsked != reAsked || r.Asked() != asked {
			t.Errorf("%s: %+v, want %d of %d", what, r, reAsked, asked)
		}
	}
	ask(t, s, "c26")
	expect("before any pack", 1, 0)
	ask(t, s, "c26")
	expect("served in the conversation", 1, 1)
	talk(t, s, "next", "Done.")
	ask(t, s, "c26")
	expect("served in the conversation before", 1, 0)
	talk(t, s, "next", "Done.")
	if p := pack(t, s, 50_000); len(p.Pack.Dropped) > 8 {
		t.Fatalf("the pack drops %d", len(p.Pack.Dropped))
	}
	ask(t, s, "c26", "c25#4")
	expect("in the pack", 2, 2)
	ask(t, s, "c1")
	expect("only its header is in the pack", 1, 0)
	if _, err := s.RequestContext(t.Context(), session.ContextRequest{Retrieve: []session.Retrieve{{IDs: []string{"c2"}, Format: layers.DetailHeader}}}); err != nil {
		t.Fatal(err)
	}
	expect("its header is asked for", 1, 1)
	talk(t, s, "next", "Done.")
	pack(t, s, 700)
	ask(t, s, "c24")
	expect("out of a small pack", 1, 0)
	long := exchange(0)
	long.Turns[2].Results[0].Content = strings.Repeat("reader_test.go:12: the last record is missing\n", 200)
	long.Contents = []string{long.Turns[2].Results[0].Content}
	reply, err := s.Record(t.Context(), long)
	if err != nil {
		t.Fatal(err)
	}
	pack(t, s, 50_000)
	ask(t, s, reply.Conversation+"#3", reply.Conversation+"#4")
	expect("cut in the pack, and whole", 2, 1)
}

// TestHits: what was served, put off and not found; a query or a topic that
// finds nothing is a miss, and archiving asks for nothing.
func TestHits(t *testing.T) {
	t.Parallel()
	s, done := clocked(t, t.TempDir(), atHour(1))
	defer done()
	for i := range 6 {
		if _, err := s.Record(t.Context(), exchange(i)); err != nil {
			t.Fatal(err)
		}
	}
	ask(t, s, "c1", "c2", "c3", "c4", "c77") // three fulls a turn
	for _, req := range []session.ContextRequest{
		{Topics: []string{"lexer"}}, {Topics: []string{"zebra crossing"}},
		{Retrieve: []session.Retrieve{{Query: "zebra crossing"}}}, {Archive: []string{"c1"}},
	} {
		if _, err := s.RequestContext(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	want := session.Retrieval{Requests: 4, Served: 4, Deferred: 1, NotFound: 3}
	if r := measure(t, s, session.MetricsRequest{}).Retrieval; r == nil || *r != want {
		t.Errorf("%+v, want %+v", r, want)
	}
	other, done := clocked(t, t.TempDir(), atHour(1))
	defer done()
	if r := measure(t, other, session.MetricsRequest{OnlySession: true}).Retrieval; r != nil {
		t.Errorf("a session that asked for nothing: %+v", r)
	}
}

// TestDrift: layer 0 that says the same does not move, and one that shares
// nothing moves all the way.
func TestDrift(t *testing.T) {
	t.Parallel()
	s, done := clocked(t, t.TempDir(), atHour(1))
	defer done()
	talk(t, s, "Mend the reader.", "It is mended.")
	say := func(text string) {
		t.Helper()
		h := layers.Housekeeping{LLM: layers.HousekeepingLLM{CurrentContext: &layers.CurrentContext{
			OverallNarrative: text, CurrentObjective: text, ContextualState: text, KeyAchievements: []string{text}, NextSteps: []string{text},
			ActiveEntities: layers.ActiveEntities{Files: []string{text}, Functions: []string{text}, Concepts: []string{text}},
		}}}
		if _, err := s.ApplyHousekeeping(t.Context(), "", h, ""); err != nil {
			t.Fatal(err)
		}
	}
	say("alpha")
	from := measure(t, s, session.MetricsRequest{}).Window.To
	say("alpha")
	if d := measure(t, s, session.MetricsRequest{FromSeq: from + 1}).Drift; d == nil || d.Versions != 1 || d.Max != 0 {
		t.Errorf("the same again: %+v", d)
	}
	from = measure(t, s, session.MetricsRequest{}).Window.To
	say("omega")
	d := measure(t, s, session.MetricsRequest{FromSeq: from + 1}).Drift
	if d == nil || d.Versions != 1 || d.Mean != d.Max || d.Max < 0.1 || d.Max >= 1 { // the labels stay
		t.Errorf("all else: %+v", d)
	}
	if whole := measure(t, s, session.MetricsRequest{}).Drift; whole == nil || whole.Versions != 3 || whole.Mean >= whole.Max {
		t.Errorf("all: %+v", whole)
	}
}
