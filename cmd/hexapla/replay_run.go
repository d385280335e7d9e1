package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"hexapla/internal/billing"
	"hexapla/internal/transcript"
	"hexapla/layers"
	"hexapla/layers/models"
	"hexapla/layers/tokens"
	"hexapla/rpc/wire"
)

// replayer feeds transcripts to a server.
type replayer struct {
	options  replayOptions
	program  program
	dir      string // of the stores
	errs     io.Writer
	progress *progress
	position string // which file this is, for the progress line
	sweep    string // which setting of a sweep this is, for the progress line
	registry *tokens.Registry
	models   models.Table
	server   *server        // nil until it is needed
	seen     map[string]int // workspaces by URI
}

// start starts the server, unless it runs.
func (r *replayer) start(ctx context.Context) (err error) {
	if r.server == nil {
		r.server, err = startServerWith(ctx, r.program, r.dir, map[string]string{
			"policy": r.options.policy, "profiles": r.options.profiles, "embeddings": cmp.Or(r.options.embeddings, wordsAlone),
		}, "--fixed-keys")
	}
	return err
}

// work is a transcript that is ready to be replayed.
type work struct {
	name     string
	session  transcript.Session
	messages []counted
	calls    int
	model    models.Model
	known    bool // whether the model is in the table
	counter  layers.Counter
	overhead int
	measured bool // the overhead comes from the first call's usage
}

// counted is a message with the tokens that it takes in a prompt.
type counted struct {
	transcript.Message
	tokens int
}

// errNoCalls says that a transcript is sound but of no use here.
var errNoCalls = errors.New("no model call is recorded in it; there is nothing to replay")

// read reads a transcript and tells what was left out.
func (r *replayer) read(name string) (*work, error) {
	f, err := openTranscript(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r.progress.show("%sreading %s", r.position, filepath.Base(name))
	session, messages, report, err := transcript.ReadAll(name, f)
	if err != nil {
		return nil, err
	}
	r.progress.clear()
	for _, problem := range report.Problems {
		fmt.Fprintf(r.errs, "%s\n", problem)
	}
	if report.MoreProblems > 0 {
		fmt.Fprintf(r.errs, "%s: %d more lines could not be read\n", name, report.MoreProblems)
	}
	if left := report.LeftOut(); left != "" {
		fmt.Fprintf(r.errs, "%s: no part of the conversation and left out: %s\n", name, left)
	}
	if report.Calls == 0 {
		return nil, fmt.Errorf("%s: %w", name, errNoCalls)
	}
	w := &work{name: name, session: session, calls: report.Calls}
	model := r.options.model
	if model == "" {
		model = session.Model
	}
	w.session.Model = model
	w.model, w.known = r.models.Lookup(model)
	w.counter = r.registry.ForModel(model)
	for _, m := range messages {
		w.messages = append(w.messages, counted{m, w.counter.Count(plainText(m))})
	}
	if f, ok := factor(w.messages); ok {
		const places = 10_000
		w.counter = tokens.Calibrated(w.counter, int(math.Round(f*places)), places)
	}
	w.overhead, w.measured = overhead(w.messages, w.counter)
	if r.options.overhead >= 0 {
		w.overhead, w.measured = r.options.overhead, false
	}
	return w, nil
}

// factor returns how many of the provider's tokens one counted token is, by the
// usage of the calls: what the prompt grew by from call to call, over what the
// counted history grew by. False where no two calls have a usage.
func factor(messages []counted) (f float64, measured bool) {
	var prompts, histories float64
	history, lastHistory, lastPrompt := 0, 0, 0
	for _, m := range messages {
		if m.Compaction {
			history, lastPrompt = 0, 0
		}
		if m.Role == layers.RoleAssistant && m.Usage != nil {
			prompt := m.Usage.Prompt()
			if lastPrompt > 0 && prompt > lastPrompt && history > lastHistory {
				prompts += float64(prompt - lastPrompt)
				histories += float64(history - lastHistory)
			}
			lastPrompt, lastHistory = prompt, history
		}
		history += m.tokens
	}
	if histories == 0 {
		return 0, false
	}
	return prompts / histories, true
}

// overhead returns what the first call sent beyond the transcript, in the
// provider's tokens, if its usage is known.
func overhead(messages []counted, c layers.Counter) (n int, measured bool) {
	history := 0
	for _, m := range messages {
		if m.Role == layers.RoleAssistant {
			if m.Usage == nil {
				return 0, false
			}
			return max(0, m.Usage.Prompt()-tokens.ToModel(c, history)), true
		}
		history += m.tokens
	}
	return 0, false
}

// plainText is a message as a client sends it: text, calls with their
// arguments, results. Thinking is not sent again.
func plainText(m transcript.Message) string {
	var b strings.Builder
	b.WriteString(string(m.Role))
	b.WriteString(":\n")
	if m.Text != "" {
		b.WriteString(m.Text)
		b.WriteString("\n")
	}
	for _, c := range m.Calls {
		fmt.Fprintf(&b, "%s %s\n", c.Name, c.Input)
	}
	for _, result := range m.Results {
		b.WriteString(result.Content)
		b.WriteString("\n")
	}
	return b.String()
}

// factorOf is what a counted token is in the provider's tokens.
func factorOf(c layers.Counter) float64 {
	num, den := tokens.Factor(c)
	return float64(num) / float64(den)
}

// run replays one transcript.
func (r *replayer) run(ctx context.Context, w *work) (*fileResult, error) {
	f, err := r.open(ctx, w)
	if err != nil {
		return nil, err
	}
	s := &sessionReplay{replayer: r, work: w, feeder: f, needs: needsTracker{counter: w.counter}, strategies: strategies{
		full: &billing.Full{}, window: billing.NewWindow(r.options.budget),
		// Window and overhead are the provider's tokens; messages are counted in
		// those of the encoding.
		summary: billing.NewCompacting(tokens.FromModel(w.counter, w.model.ContextWindow), tokens.FromModel(w.counter, w.overhead)),
	}}
	s.result = &fileResult{
		file: w.name, model: w.session.Model, prices: w.model, known: w.known,
		counter: w.counter.Name(), factor: factorOf(w.counter), estimate: w.counter.Estimate(), budget: r.options.budget,
	}
	s.result.overhead, s.result.measured = w.overhead, w.measured
	for i := range w.messages {
		if err := s.message(ctx, &w.messages[i]); err != nil {
			return nil, fmt.Errorf("line %d: %w", w.messages[i].Line, err)
		}
	}
	if err := s.done(ctx); err != nil {
		return nil, err
	}
	s.result.conversations = s.conversations
	if n := len(s.result.calls); n > 0 {
		packs := 0
		for _, c := range s.result.calls {
			packs += c.pack
		}
		s.needs.windows(packs / n)
	}
	s.result.finish()
	return s.result, nil
}

// sessionReplay is one transcript on its way through the server.
type sessionReplay struct {
	*replayer
	*feeder
	work       *work
	history    int64 // tokens of all messages since the last compaction
	strategies strategies
	previous   string // text of the pack before
	needs      needsTracker
	result     *fileResult
}

// strategies are the ways that packs are compared with.
type strategies struct {
	full    *billing.Full
	window  *billing.Window
	summary *billing.Compacting
}

// message replays one message: before an answer of the model, a pack is built
// of everything that was recorded; then the message is recorded.
func (s *sessionReplay) message(ctx context.Context, m *counted) error {
	if m.Role == layers.RoleAssistant {
		if err := s.call(ctx, m); err != nil {
			return err
		}
	}
	for _, strategy := range []billing.Strategy{s.strategies.full, s.strategies.window, s.strategies.summary} {
		strategy.Add(billing.Message{ID: m.Index, Tokens: m.tokens, Follows: m.Follows, Compaction: m.Compaction})
	}
	s.needs.add(m)
	return s.feed(ctx, m.Message)
}

// call builds a pack for a model call and bills it in every way.
func (s *sessionReplay) call(ctx context.Context, m *counted) error {
	number := len(s.result.calls) + 1
	s.progress.show("%s%s: call %d of %d", s.position, filepath.Base(s.work.name), number, s.work.calls)
	c := replayCall{number: number, conversation: s.conversations}
	charges := &c.charges
	charges.full, charges.window, charges.summary = s.strategies.full.Call(), s.strategies.window.Call(), s.strategies.summary.Call()
	c.history = charges.full.Tokens()
	if s.conversations > 0 {
		if err := s.pack(ctx, &c); err != nil {
			return fmt.Errorf("call %d: %w", number, err)
		}
		c.needs = s.needs.answer(m, s.previous)
	}
	if u := m.Usage; u != nil {
		c.actual = &billing.Charge{
			Plain: int64(u.Input), Write: int64(u.CacheWrite - u.CacheWriteHour),
			WriteHour: int64(u.CacheWriteHour), Read: int64(u.CacheRead),
		}
		c.model, _ = s.models.Lookup(m.Model)
	}
	s.result.calls = append(s.result.calls, c)
	return nil
}

func (s *sessionReplay) pack(ctx context.Context, c *replayCall) error {
	pack, err := s.build(ctx, wire.PackBuildParams{
		Budget: wire.Budget{Total: s.options.budget}, Model: s.work.session.Model, Layout: s.options.layout,
	})
	if err != nil {
		return err
	}
	built := pack.built
	c.build = pack.took
	c.bytes, c.same = len(pack.Text), commonPrefix(pack.Text, s.previous)
	if claimed := built.Stability.CommonPrefixBytes; claimed > c.same {
		return fmt.Errorf("the server says that %d bytes are as before, but only %d are", claimed, c.same)
	}
	s.previous = pack.Text
	c.pack = pack.Tokens.Used
	c.charges.pack = billing.Pack(c.pack, built.Stability.CommonPrefixTokens)
	// The server's word is checked where counting is exact.
	c.violation = c.pack > pack.Tokens.Available || c.pack > s.options.budget ||
		!s.work.counter.Estimate() && s.work.counter.Count(pack.Text) > s.options.budget
	s.result.checksum = built.Checksum
	return nil
}

// commonPrefix returns how many bytes at the beginning are the same.
func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
