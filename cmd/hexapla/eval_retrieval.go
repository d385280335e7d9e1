package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hexapla/layers"
	"hexapla/layers/terms"
	"hexapla/retrieval"
	"hexapla/rpc/wire"
)

// retrievalModel counts tokens where a set does not name a model: its encoding
// is exact.
const retrievalModel = "gpt-4o"

// evidenceBudgets are the tokens of the packs in which evidence is looked for.
func evidenceBudgets() [2]int { return [2]int{4000, 8000} }

// searchLimit is how far down a ranking is looked at.
const searchLimit = 100

// retrievalEval measures one set.
type retrievalEval struct {
	*replayer
	set      string
	model    string
	counter  layers.Counter
	rankings map[string]*rankingScores
	took     []time.Duration // of searches for conversations
	degraded int             // searches that did not see everything
	encoded  bool            // turns are compared by a model that embeds them in the background
}

// rankingScores are what one ranking scored, question by question.
type rankingScores struct {
	messages, conversations []measures
	packs                   [2][]float64 // shares of the evidence, by budget
}

// runRetrieval measures sets: the one that is asked for, or all that the folder
// has.
func runRetrieval(ctx context.Context, p program, r *replayer, o evalOptions) error {
	sets := []string{o.set}
	if o.set == "" {
		sets = retrievalSets()
	}
	measured := 0
	for _, set := range sets {
		corpora, err := readCorpora(o.data, set)
		if errors.Is(err, fs.ErrNotExist) && o.set == "" {
			fmt.Fprintf(p.errs, "hexapla: set %s is not there\n", set)
			continue
		}
		if err != nil {
			return fmt.Errorf("eval: %w", err)
		}
		model := o.model
		if model == "" {
			model = retrievalModel
		}
		e := &retrievalEval{
			replayer: r, set: set, model: model, counter: r.registry.ForModel(model), rankings: map[string]*rankingScores{}, encoded: o.encoded(),
		}
		for _, name := range append([]string{rankingServer}, baselines()...) {
			e.rankings[name] = &rankingScores{}
		}
		for i, c := range corpora {
			c.sample(o.sample)
			r.position = fmt.Sprintf("%s, %d of %d, ", set, i+1, len(corpora))
			if err := e.corpus(ctx, c); err != nil {
				r.progress.clear()
				return fmt.Errorf("eval: %s: %w", set, explain(err))
			}
		}
		r.progress.clear()
		lines := e.lines()
		if lines[0].Queries == 0 {
			return fmt.Errorf("eval: %s: %w", set, errNoQuestions)
		}
		if e.degraded > 0 {
			fmt.Fprintf(p.errs, "hexapla: %s: %s did not see everything\n", set, plural(e.degraded, "search"))
		}
		if o.json {
			encoder := json.NewEncoder(p.out)
			for _, line := range lines {
				if err := encoder.Encode(line); err != nil {
					return fmt.Errorf("eval: %w", err)
				}
			}
		} else {
			if measured > 0 {
				fmt.Fprintln(p.out)
			}
			writeRetrieval(p.out, lines)
		}
		measured++
	}
	if measured == 0 {
		return fmt.Errorf("eval: no set in %s", o.data)
	}
	return nil
}

// corpus records a corpus and asks its questions on the way.
func (e *retrievalEval) corpus(ctx context.Context, c *corpus) error {
	if len(c.questions) == 0 {
		return nil
	}
	if err := e.start(ctx); err != nil {
		return err
	}
	f := &corpusFeed{
		replayer: e.replayer, corpus: c, model: e.model,
		workspace: wire.Workspace{URI: "eval:" + e.set + "/" + strings.ReplaceAll(filepath.Base(c.name), " ", "-")},
		homes:     map[string]int{}, turns: map[recordedTurn]messagePlace{},
	}
	opened, err := e.server.openSession(ctx, wire.SessionOpenParams{Workspace: f.workspace, Model: e.model, Agent: "eval"})
	if err != nil {
		return err
	}
	if opened.Conversations > 0 {
		return errors.New("the data folder holds this set already; name another one")
	}
	f.asking = opened.Session
	slices.SortStableFunc(c.questions, func(a, b corpusQuestion) int { return a.after - b.after })
	g := &gathered{}
	for i, q := range c.questions {
		if err := f.feedTo(ctx, q.after); err != nil {
			return err
		}
		g.grow(e, f, len(q.messages) > 0)
		if err := e.awaitModel(ctx, f); err != nil {
			return err
		}
		e.progress.show("%s%s: question %d of %d", e.position, c.name, i+1, len(c.questions))
		if err := e.question(ctx, f, g, q, uint64(i)); err != nil {
			return fmt.Errorf("%s: question %d: %w", c.name, i+1, err)
		}
	}
	return nil
}

// awaitPause is how long to wait before a server is asked again whether it has
// embedded what was recorded.
const awaitPause = 50 * time.Millisecond

// awaitLimit is how long the server may take for one session's turns.
const awaitLimit = 10 * time.Minute

// awaitModel waits until the server compares turns by the model that it was told
// to use.
func (e *retrievalEval) awaitModel(ctx context.Context, f *corpusFeed) error {
	if !e.encoded || f.awaited == len(f.fed) {
		return nil
	}
	f.awaited = len(f.fed)
	params := wire.SearchQueryParams{Session: f.asking, Query: "plan music", Kind: "turn", Limit: 1}
	for start := time.Now(); ; {
		var result wire.SearchQueryResult
		if err := e.server.Call(ctx, wire.MethodSearchQuery, params, &result); err != nil {
			return fmt.Errorf("search: %w", err)
		}
		if result.Model != retrieval.BuiltinModel {
			return nil
		}
		if time.Since(start) > awaitLimit {
			return errors.New("the server does not use the model of --embeddings; hexapla serve says why on standard error")
		}
		e.progress.show("%s%s: waiting for vectors", e.position, f.corpus.name)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(awaitPause):
		}
	}
}

// gathered is what was recorded of a corpus so far, for the baselines.
type gathered struct {
	sessions wordIndex
	messages wordIndex
	places   []messagePlace // of the messages
	first    []int          // number of each session's first message
	texts    []string
	tokens   []int
}

// grow takes in the sessions that were recorded since.
func (g *gathered) grow(e *retrievalEval, f *corpusFeed, messages bool) {
	for n := len(g.sessions.documents); n < len(f.fed); n++ {
		var whole strings.Builder
		g.first = append(g.first, len(g.places))
		for i, m := range f.fed[n].messages {
			text := plainText(m)
			whole.WriteString(text)
			g.places = append(g.places, messagePlace{n, i})
			if messages {
				g.messages.add(text)
				g.texts = append(g.texts, m.Text)
				g.tokens = append(g.tokens, e.counter.Count(text))
			}
		}
		g.sessions.add(whole.String())
		f.fed[n].messages = nil
	}
}

// number is that of a message among all of the corpus.
func (g *gathered) number(p messagePlace) int { return g.first[p.session] + p.message }

// question measures one question in all rankings.
func (e *retrievalEval) question(ctx context.Context, f *corpusFeed, g *gathered, q corpusQuestion, seed uint64) error {
	text := clipQuery(q.text)
	var evidence []int
	for _, p := range q.messages {
		evidence = append(evidence, g.number(p))
	}
	server := e.rankings[rankingServer]
	conversations, err := e.search(ctx, f, g, text, "conversation")
	if err != nil {
		return err
	}
	server.conversations = append(server.conversations, measure(conversations, q.sessions))
	if len(evidence) > 0 {
		messages, err := e.search(ctx, f, g, text, "turn")
		if err != nil {
			return err
		}
		server.messages = append(server.messages, measure(messages, evidence))
	}
	if err := e.packs(ctx, f, g, q, evidence); err != nil {
		return err
	}
	for _, name := range baselines() {
		s := e.rankings[name]
		order := g.sessions.baseline(name, text, q.after, seed)
		s.conversations = append(s.conversations, measure(order, q.sessions))
		if len(evidence) == 0 {
			continue
		}
		order = g.messages.baseline(name, text, len(g.places), seed)
		s.messages = append(s.messages, measure(order, evidence))
		for b, budget := range evidenceBudgets() {
			s.packs[b] = append(s.packs[b], g.held(order, evidence, budget))
		}
	}
	return nil
}

// clipQuery cuts a query to what the server takes.
func clipQuery(text string) string {
	for {
		words := terms.Analyze(text)
		slices.Sort(words)
		if len(text) <= retrieval.MaxQueryBytes && len(slices.Compact(words)) <= retrieval.MaxQueryTerms {
			return text
		}
		text = strings.ToValidUTF8(text[:len(text)*3/4], "")
	}
}

// search asks the server and returns sessions, or messages, by their numbers in
// the corpus, each once.
func (e *retrievalEval) search(ctx context.Context, f *corpusFeed, g *gathered, text, kind string) ([]int, error) {
	params := wire.SearchQueryParams{Session: f.asking, Query: text, Kind: kind, Limit: searchLimit}
	var result wire.SearchQueryResult
	start := time.Now()
	if err := e.server.Call(ctx, wire.MethodSearchQuery, params, &result); err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	if kind == "conversation" {
		e.took = append(e.took, time.Since(start))
	}
	if result.Degraded {
		e.degraded++
	}
	var order []int
	for _, hit := range result.Hits {
		n, ok := f.homes[hit.Conversation]
		if kind == "turn" {
			var p messagePlace
			if p, ok = f.turns[recordedTurn{hit.Conversation, hit.Turn}]; ok {
				n = g.number(p)
			}
		}
		if ok && !slices.Contains(order, n) {
			order = append(order, n)
		}
	}
	return order, nil
}

// packs builds a pack of each size with the question as input and looks for the
// evidence in it: its messages, or the names of its sessions' conversations.
func (e *retrievalEval) packs(ctx context.Context, f *corpusFeed, g *gathered, q corpusQuestion, evidence []int) error {
	asker := feeder{to: e.server, id: f.asking}
	for b, budget := range evidenceBudgets() {
		pack, err := asker.build(ctx, wire.PackBuildParams{
			Budget: wire.Budget{Total: budget}, Model: e.model, Fill: true,
			Input: &wire.UserInput{Type: string(layers.InputUserQuery), Content: q.text},
		})
		if err != nil {
			return err
		}
		if pack.Tokens.Used > budget {
			return fmt.Errorf("the pack has %d tokens; this is a fault of the server", pack.Tokens.Used)
		}
		share := 0.0
		if len(evidence) > 0 {
			known := shinglesOf(pack.Text)
			for _, n := range evidence {
				if known.hold(g.texts[n]) {
					share++
				}
			}
			share /= float64(len(evidence))
		} else {
			named := f.named(pack)
			for _, n := range q.sessions {
				if named[n] {
					share++
				}
			}
			share /= float64(len(q.sessions))
		}
		s := e.rankings[rankingServer]
		s.packs[b] = append(s.packs[b], share)
	}
	return nil
}

// named are the sessions of which a pack shows a conversation by itself.
func (f *corpusFeed) named(pack packed) map[int]bool {
	named := map[int]bool{}
	for _, section := range pack.Sections {
		for _, item := range section.Items {
			id := item.ID[strings.LastIndexByte(item.ID, ':')+1:]
			id, _, _ = strings.Cut(id, "#")
			if n, ok := f.homes[id]; ok {
				named[n] = true
			}
		}
	}
	return named
}

// held is the share of the evidence in a pack that takes whole messages in an
// order as long as they fit.
func (g *gathered) held(order, evidence []int, budget int) float64 {
	found := 0
	for _, n := range order {
		if g.tokens[n] > budget {
			continue
		}
		budget -= g.tokens[n]
		if slices.Contains(evidence, n) {
			found++
		}
	}
	return float64(found) / float64(len(evidence))
}

// shingles are the runs of words of a text.
type shingles struct {
	text string // words with one space between
	runs map[string]bool
}

const (
	shingleWords = 5
	shingleShare = 0.9 // of a text's runs, for it to count as being there
)

func shinglesOf(text string) shingles {
	words := strings.Fields(text)
	s := shingles{text: strings.Join(words, " "), runs: make(map[string]bool, len(words))}
	for i := 0; i+shingleWords <= len(words); i++ {
		s.runs[strings.Join(words[i:i+shingleWords], " ")] = true
	}
	return s
}

// hold tells whether a text is there verbatim, but for white space and a tenth
// of its runs of words.
func (s shingles) hold(text string) bool {
	words := strings.Fields(text)
	if len(words) < shingleWords {
		return strings.Contains(s.text, strings.Join(words, " "))
	}
	found, total := 0, len(words)-shingleWords+1
	for i := range total {
		if s.runs[strings.Join(words[i:i+shingleWords], " ")] {
			found++
		}
	}
	return float64(found) >= shingleShare*float64(total)
}
