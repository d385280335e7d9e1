package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"hexapla/layers"
	"hexapla/layers/models"
	"hexapla/layers/tokens"
)

// replayOptions are the flags of replay.
type replayOptions struct {
	budget   int
	model    string
	layout   string
	policy   string // JSON; empty for the default
	profiles string // JSON; empty for the default
	// embeddings is JSON; wordsAlone when empty.
	embeddings string
	overhead   int // -1: from the first call's usage
	json       bool
	sweep      bool
	chart      string // file; empty for none
	allCalls   bool
}

func newReplay(p program) *cobra.Command {
	var o replayOptions
	cmd := &cobra.Command{
		Use:   "replay FILE...",
		Short: "Replay recorded sessions and show what packs would have saved",
		Long: `Replay takes recorded sessions of a coding assistant (Claude Code JSONL or
SpecStory Markdown), starts a server, feeds each session to it message by
message, and builds a pack before each model call. A table then shows, per call
and in total, the tokens of the full history and of the pack, how much of the
pack is the same bytes as the one before, how long it took, and what the input
would have cost in four ways:

  full     the full history with the provider's cache
  window   the newest messages that fit into the pack's budget
  summary  the full history, replaced with a summary of 3,000 tokens whenever it
           fills 80 % of the model's context window
  pack     the pack, of which the part that is the same as before is cached

The unit is one plain input token as the provider counts: writing to the cache
counts 1.25, reading from it 0.1. What one counted token is in the provider's is
learned from the usage of the calls, where the transcript has it. The full
history begins anew where the recorded client compacted it. The cache never
expires here, and writing summaries is free; both favour the other ways. Where
the transcript has the provider's usage, the table also shows what was really
billed, and the system overhead (system prompt and tool schemas) is what the
first call sent beyond the transcript; it counts the same on every side.

Last, of the file paths and identifiers in each recorded tool call that had
occurred before, the table shows the share that the pack before it holds, and
the share that a window of the packs' average size holds.

What cannot be read is left out and told on standard error with file and line.
Without --data-dir everything that the server stores is deleted at the end.`,
		Example: `  hexapla replay session.jsonl
  hexapla replay --policy '{"lowWaterPercent":40}' session.jsonl
  hexapla replay --profiles '{"mode":"auto"}' session.jsonl
  hexapla replay --budget 8000 --calls ~/.claude/projects/*/*.jsonl
  hexapla replay --json .specstory/history/*.md > replay.json`,
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := o.check(); err != nil {
				return usageError{err}
			}
			return withReplayer(cmd, p, "replay", o, func(ctx context.Context, r *replayer) error {
				if o.sweep {
					return runSweep(ctx, p, r, files)
				}
				return runReplay(ctx, p, r, files)
			})
		},
	}
	cmd.Flags().IntVar(&o.budget, "budget", 16000, "`tokens` that a pack may use")
	cmd.Flags().StringVar(&o.model, "model", "", "`model` that counts tokens and sets prices (default: the one of each transcript)")
	cmd.Flags().StringVar(&o.layout, "layout", string(layers.LayoutStablePrefix), "order of a pack's sections: stable-prefix or narrative-first")
	cmd.Flags().StringVar(&o.policy, "policy", "", "numbers of the packing policy that differ, as `JSON`")
	cmd.Flags().StringVar(&o.profiles, "profiles", "", "members of the profiles that differ, as `JSON`, such as '{\"mode\":\"auto\"}'")
	cmd.Flags().IntVar(&o.overhead, "overhead", -1, "`tokens` of system prompt and tools on each call (default: by the first call's usage)")
	cmd.Flags().Lookup("overhead").DefValue = "0" // -1 stands for what the text says
	cmd.Flags().BoolVar(&o.allCalls, "calls", false, "show every call, not a sample")
	cmd.Flags().BoolVar(&o.sweep, "sweep", false, "replay with several settings and compare what they cost and hold")
	cmd.Flags().StringVar(&o.chart, "chart", "", "with --sweep, draw the comparison into an SVG `file`")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object instead of the table")
	return cmd
}

func (o replayOptions) check() error {
	switch {
	case o.budget <= 0:
		return fmt.Errorf("--budget %d: must be positive", o.budget)
	case checkPolicy(o.policy) != nil:
		return checkPolicy(o.policy)
	case checkProfiles(o.profiles) != nil:
		return checkProfiles(o.profiles)
	case o.chart != "" && !o.sweep:
		return errors.New("--chart: only --sweep has something to draw")
	case o.overhead < -1:
		return fmt.Errorf("--overhead %d: must not be negative", o.overhead)
	case o.layout != string(layers.LayoutStablePrefix) && o.layout != string(layers.LayoutNarrativeFirst):
		return fmt.Errorf("--layout %q: must be %s or %s", o.layout, layers.LayoutStablePrefix, layers.LayoutNarrativeFirst)
	}
	return nil
}

func checkPolicy(policy string) error {
	if policy == "" {
		return nil
	}
	if _, err := layers.ParsePolicy([]byte(policy), layers.DefaultPolicy()); err != nil {
		return fmt.Errorf("--policy: %w", err)
	}
	return nil
}

func checkProfiles(profiles string) error {
	if profiles == "" {
		return nil
	}
	if _, err := layers.ParseProfiles([]byte(profiles), layers.DefaultProfiles()); err != nil {
		return fmt.Errorf("--profiles: %w", err)
	}
	return nil
}

// withReplayer calls fn with a replayer whose stores lie in --data-dir, or in a
// folder that is deleted afterwards, and stops its server. what names the
// command in errors.
func withReplayer(cmd *cobra.Command, p program, what string, o replayOptions, fn func(ctx context.Context, r *replayer) error) (err error) {
	ctx := cmd.Context()
	// Only the flag counts: a replay must not write to the user's own stores.
	dir, err := cmd.Flags().GetString("data-dir")
	if err != nil {
		return err
	}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "hexapla-"+what+"-"); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	r := &replayer{
		options: o, program: p, dir: dir, errs: p.errs, progress: newProgress(p),
		registry: tokens.NewRegistry(), models: models.Builtin(), seen: map[string]int{},
	}
	defer func() {
		if r.server != nil {
			err = errors.Join(err, r.server.stop(ctx))
		}
	}()
	return fn(ctx, r)
}

func runReplay(ctx context.Context, p program, r *replayer, files []string) (err error) {
	o := r.options
	var results []*fileResult
	failed := false
	for i, name := range files {
		r.position = fmt.Sprintf("file %d of %d, ", i+1, len(files))
		if len(files) == 1 {
			r.position = ""
		}
		work, err := r.read(name)
		if err != nil {
			r.progress.clear()
			fmt.Fprintf(p.errs, "hexapla: %v\n", err)
			failed = failed || !errors.Is(err, errNoCalls)
			continue
		}
		if err := r.start(ctx); err != nil {
			return err
		}
		result, err := r.run(ctx, work)
		r.progress.clear()
		if err != nil {
			return fmt.Errorf("replay: %s: %w", name, explain(err))
		}
		results = append(results, result)
		if !o.json {
			if len(results) > 1 {
				fmt.Fprintln(p.out)
			}
			writeFile(p.out, result, o.allCalls)
		}
	}
	total := sum(results)
	if len(results) > 0 && o.json {
		err = writeJSON(p.out, results)
	} else if len(results) > 1 {
		fmt.Fprintln(p.out)
		writeTotal(p.out, total, len(results))
	}
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	if total.violations > 0 {
		return fmt.Errorf("replay: %d packs are over their budget; this is a fault of the server", total.violations)
	}
	if failed || len(results) == 0 {
		return exitError{exitFailure}
	}
	return nil
}
