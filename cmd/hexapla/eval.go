package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hexapla/layers"
	"hexapla/session"
)

// The sets that can be measured.
const (
	setCompaction = "compaction" // places where a recorded client compacted itself
	setCounting   = "counting"   // prompts whose size the provider told
	setPrediction = "prediction" // files that the next tool calls name

	setBeam       = "beam"        // chats with a model on coding projects, and which messages answer a question
	setLocomo     = "locomo"      // chats in sessions, with the messages that are evidence
	setRealtalk   = "realtalk"    // the same between people
	setClaudeCode = "claude-code" // recorded sessions, and earlier ones that changed the same files
	setBranches   = "branches"    // recorded sessions, and earlier ones on the same branch or ticket
)

// retrievalSets are the sets of questions, in the order in which they are
// measured.
func retrievalSets() []string {
	return []string{setBeam, setLocomo, setRealtalk, setClaudeCode, setBranches}
}

// evalOptions are the flags of eval.
type evalOptions struct {
	data       string
	set        string
	budgets    []int
	model      string
	policy     string // JSON; empty for the default
	embeddings string // JSON; built-in word vectors by default
	sample     int    // questions of a workspace; 0 for all
	json       bool
}

func newEval(p program) *cobra.Command {
	var o evalOptions
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Measure how much of what was needed packs keep",
		Long: `Eval takes a set of recorded sessions in which it is known what was needed
later, starts a server, feeds the sessions to it, and looks for what was needed
in the packs that it builds.

The set compaction is places where the recorded client summed its history up,
with the identifiers that the agent then used in its next 30 tool calls. At each
place the session so far is recorded and a pack is built for each budget that
fills it, with the user's next prompt as input, or "continue" where the agent
went on alone. The share is that of the identifiers that occur verbatim in the
pack's text or in that text as JSON, because the identifiers were taken from
JSON: there a tab in front of a name is the two characters \t. It is averaged
over the places; a place counts as much as any other. Beside it, as
tail, stands the share in the last tokens of the plain history, as many as the
budget has.

The set counting is the prompts of recorded Claude Code sessions, whose size the
provider told. Each is predicted from our own count, by the default factor, and
by what the usage of the calls before it taught (as for a budget in the
provider's tokens). It shows the relative error of both.

The set prediction is the tool calls of the same sessions. Before each model call
that calls tools with files, context/predict is asked of what was recorded until
then. The share is that of the files that the calls name which are among the ten
that it names first; beside it stands the share that is among the ten files that
calls named last.

The sets beam, locomo, realtalk, claude-code and branches are questions of which
it is known which messages or earlier sessions answer them; without --set all
that the folder has are measured. Each is recorded, search/query is asked for
messages and for conversations, and packs of 4,000 and 8,000 tokens are built
with the question as input. Hits say whether something that answers is among the
first, recalls which share of it; of a pack, which share stands in it verbatim
(of sessions: is named in it). Beside each stand recency, plain BM25, the fusion
of both, and chance, with 95 % intervals of a bootstrap over the questions.

The folder holds claude-code/*.jsonl; for compaction also compaction-gold/compaction_gold.json,
and the transcripts at the paths that it names. A place that cannot be measured is told on standard
error with file and reason, does not count, and makes the exit code 1.
Without --data-dir everything that the server stores is deleted at the end.`,
		Example: `  hexapla eval --data ../shared/data --set compaction
  hexapla eval --data ../shared/data --set compaction --budgets 8000 --json
  hexapla eval --data ../shared/data --set locomo --sample 20
  hexapla eval --data ../shared/data --embeddings '{"folder": "/models/all-MiniLM-L6-v2"}'`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return usageError{err}
			}
			return withReplayer(cmd, p, "eval", o.replay(), func(ctx context.Context, r *replayer) error {
				return runEval(ctx, p, r, o)
			})
		},
	}
	cmd.Flags().StringVar(&o.data, "data", "", "`folder` of the recorded sessions and of what was needed")
	cmd.Flags().StringVar(&o.set, "set", "", "what to measure, by `name` (default: all sets of questions)")
	cmd.Flags().IntSliceVar(&o.budgets, "budgets", []int{3000, 8000, 20000}, "`tokens` that a pack may use, one measurement each")
	cmd.Flags().StringVar(&o.model, "model", "", "`model` that counts tokens (default: the one of each transcript)")
	cmd.Flags().StringVar(&o.policy, "policy", "", "numbers of the packing policy that differ, as `JSON`")
	cmd.Flags().StringVar(&o.embeddings, "embeddings", wordsAlone, "how turns are compared in meaning, as `JSON`")
	cmd.Flags().IntVar(&o.sample, "sample", 0, "`questions` of a workspace at most, evenly spread (default: all)")
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON objects, one a line for each budget or ranking, instead of the tables")
	return cmd
}

// wordsAlone has turns compared by what every machine has, so that results are the
// same everywhere.
const wordsAlone = `{"model": "words"}`

func (o evalOptions) check() error {
	switch {
	case o.set != "" && o.set != setCompaction && o.set != setCounting && o.set != setPrediction && !slices.Contains(retrievalSets(), o.set):
		return fmt.Errorf("--set %q: must be %s", o.set, evalSets())
	case o.data == "":
		return errors.New("--data: name the folder of the recorded sessions")
	}
	if err := checkPolicy(o.policy); err != nil {
		return err
	}
	if _, err := session.ParseEmbeddingSettings([]byte(o.embeddings)); err != nil {
		return fmt.Errorf("--embeddings: %w", err)
	}
	if o.sample < 0 {
		return fmt.Errorf("--sample %d: must not be negative", o.sample)
	}
	for _, budget := range o.budgets {
		if budget <= 0 {
			return fmt.Errorf("--budgets %d: must be positive", budget)
		}
	}
	return nil
}

// encoded tells whether turns are to be compared by a model that has to embed them
// first.
func (o evalOptions) encoded() bool {
	s, err := session.ParseEmbeddingSettings([]byte(o.embeddings))
	return err == nil && s.Model != session.EmbeddingsWords
}

// evalSets lists the sets for people.
func evalSets() string {
	return setCompaction + ", " + setCounting + ", " + setPrediction + ", " + strings.Join(retrievalSets()[:4], ", ") + " or " + setBranches
}

// replay returns the options with which transcripts are read and fed.
func (o evalOptions) replay() replayOptions {
	return replayOptions{policy: o.policy, embeddings: o.embeddings, model: o.model, layout: string(layers.LayoutStablePrefix), overhead: -1}
}

func runEval(ctx context.Context, p program, r *replayer, o evalOptions) error {
	if info, err := os.Stat(o.data); err != nil {
		return fmt.Errorf("eval: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("eval: %w", &fs.PathError{Op: "read", Path: o.data, Err: errors.New("not a folder")})
	}
	switch o.set {
	case setCounting:
		return runCounting(p, r, o)
	case setPrediction:
		return runPrediction(ctx, p, r, o)
	case setCompaction:
	default:
		return runRetrieval(ctx, p, r, o)
	}
	boundaries, err := readBoundaries(o.data)
	if err != nil {
		return fmt.Errorf("eval: %w", err)
	}
	e := &compactionEval{replayer: r, data: o.data, budgets: o.budgets, total: len(boundaries)}
	err = e.run(ctx, boundaries)
	r.progress.clear()
	if err != nil {
		return fmt.Errorf("eval: %w", explain(err))
	}
	if len(e.results) == 0 {
		return errors.New("eval: no place could be measured")
	}
	if o.json {
		err = writeCompactionJSON(p.out, e.budgets, e.results)
	} else {
		writeCompaction(p.out, e.budgets, e.results)
	}
	if err != nil {
		return fmt.Errorf("eval: %w", err)
	}
	if e.left > 0 {
		return exitError{exitFailure}
	}
	return nil
}
