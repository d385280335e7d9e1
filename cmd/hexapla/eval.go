package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"hexapla/layers"
)

// The sets that can be measured.
const (
	setCompaction = "compaction" // places where a recorded client compacted itself
	setCounting   = "counting"   // prompts whose size the provider told
	setPrediction = "prediction" // files that the next tool calls name
)

// evalOptions are the flags of eval.
type evalOptions struct {
	data    string
	set     string
	budgets []int
	model   string
	policy  string // JSON; empty for the default
	json    bool
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

The folder holds claude-code/*.jsonl; for compaction also compaction-gold/compaction_gold.json,
and the transcripts at the paths that it names. A place that cannot be measured is told on standard
error with file and reason, does not count, and makes the exit code 1.
Without --data-dir everything that the server stores is deleted at the end.`,
		Example: `  hexapla eval --data ../shared/data --set compaction
  hexapla eval --data ../shared/data --set compaction --budgets 8000 --json`,
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
	cmd.Flags().StringVar(&o.set, "set", "", "what to measure: "+setCompaction+", "+setCounting+" or "+setPrediction)
	cmd.Flags().IntSliceVar(&o.budgets, "budgets", []int{3000, 8000, 20000}, "`tokens` that a pack may use, one measurement each")
	cmd.Flags().StringVar(&o.model, "model", "", "`model` that counts tokens (default: the one of each transcript)")
	cmd.Flags().StringVar(&o.policy, "policy", "", "numbers of the packing policy that differ, as `JSON`")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object a budget, one a line, instead of the tables")
	return cmd
}

func (o evalOptions) check() error {
	switch {
	case o.set != setCompaction && o.set != setCounting && o.set != setPrediction:
		return fmt.Errorf("--set %q: must be %s, %s or %s", o.set, setCompaction, setCounting, setPrediction)
	case o.data == "":
		return errors.New("--data: name the folder of the recorded sessions")
	}
	if err := checkPolicy(o.policy); err != nil {
		return err
	}
	for _, budget := range o.budgets {
		if budget <= 0 {
			return fmt.Errorf("--budgets %d: must be positive", budget)
		}
	}
	return nil
}

// replay returns the options with which transcripts are read and fed.
func (o evalOptions) replay() replayOptions {
	return replayOptions{policy: o.policy, model: o.model, layout: string(layers.LayoutStablePrefix), overhead: -1}
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
