package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"hexapla/rpc/wire"
)

func newLimits(p program) *cobra.Command {
	var folder folderFlags
	var params wire.LimitsStatusParams
	var listErrors, rewards, asJSON bool
	cmd := &cobra.Command{
		Use:   "limits",
		Short: "Show the token limit of an agent, what is set, and what went wrong",
		Long: `Limits shows how many tokens an agent may have with a type of model, which
documents of settings count and what is wrong with others, and how often contexts
were near the limit in the last hour.

--errors lists what went wrong in the folder, newest first, and what came more
than once. --rewards prints what each breaking of a context was worth, a line of
JSON each with stateBefore, action, reward and stateAfter, oldest first.

Settings are read from hexapla.yaml in the user's folder of settings (or the file
in HEXAPLA_SETTINGS), then .hexapla.yaml in the folder itself, then what the editor
sets; what comes later counts. They are read again when they change.`,
		Example: `  hexapla limits
  hexapla limits --agent reviewer --llm local_14b
  hexapla limits --rewards > rewards.jsonl`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if listErrors && rewards {
				return usageError{errors.New("--errors and --rewards: one of them")}
			}
			return withSession(cmd, p, folder, func(ctx context.Context, s *server, session string) error {
				params.Session = session
				switch {
				case listErrors:
					return showLimitErrors(ctx, p.out, s, session, asJSON)
				case rewards:
					return writeRewards(ctx, p.out, s, session)
				}
				var status wire.LimitsStatusResult
				if err := s.Call(ctx, wire.MethodLimitsStatus, params, &status); err != nil {
					return fmt.Errorf("read limits: %w", err)
				}
				if asJSON {
					return indent(p.out, status)
				}
				writeLimits(p.out, &status)
				return nil
			})
		},
	}
	folder.add(cmd)
	cmd.Flags().StringVar(&params.Agent, "agent", "", "`name` of the agent (default: the session's)")
	cmd.Flags().StringVar(&params.LLM, "llm", "", "`type` of model for which a limit is set (default: that of the session's model)")
	cmd.Flags().BoolVar(&params.P1, "p1", false, "for work of priority 1")
	cmd.Flags().BoolVar(&listErrors, "errors", false, "list what went wrong")
	cmd.Flags().BoolVar(&rewards, "rewards", false, "print what breakings were worth, as JSONL")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's answer")
	return cmd
}

func writeLimits(w io.Writer, s *wire.LimitsStatusResult) {
	why := map[string]string{"default": "the default", "agent": "set for the agent", "llm": "set for the type of model", "floor": "the floor"}[s.Source]
	if s.P1 {
		why += ", a fifth more for priority 1"
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(tw, name+"\t"+format+"\n", args...) }
	if s.Agent != "" {
		row("agent", "%s", s.Agent)
	}
	if s.LLM != "" {
		row("model", "%s", s.LLM)
	}
	row("limit", "%d tokens (%s)", s.Limit, why)
	row("warning", "%d tokens", s.Warning)
	row("last hour", "%d near the limit, %d over it", s.Pressure.Warnings, s.Pressure.OverHits)
	row("strategies", "%s; then %s", strings.Join(s.Chain, ", "), s.RecoveryMode)
	settings := "none; packs keep to the budget that the editor asks for"
	if s.Packs {
		settings = strings.Join(s.Settings, ", ")
	}
	row("settings", "%s", settings)
	_ = tw.Flush() // w's errors are the caller's to find
	for _, p := range s.Problems {
		at := p.File
		if p.Line > 0 {
			at += fmt.Sprintf(":%d:%d", p.Line, p.Column)
		}
		if p.Key != "" {
			at += ": " + p.Key
		}
		fmt.Fprintf(w, "%s: %s\n", at, p.Message)
	}
}

func showLimitErrors(ctx context.Context, w io.Writer, s *server, session string, asJSON bool) error {
	var result wire.LimitsErrorsResult
	if err := s.Call(ctx, wire.MethodLimitsErrors, wire.LimitsErrorsParams{Session: session}, &result); err != nil {
		return fmt.Errorf("read errors: %w", err)
	}
	if asJSON {
		return indent(w, result)
	}
	if len(result.Errors) == 0 {
		fmt.Fprintln(w, "nothing went wrong")
		return nil
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "when\terror\tsession\tlimit\tbefore\tafter\twhat was done")
	for i := range result.Errors {
		e := &result.Errors[i]
		done := strings.Join(e.Action, ", ")
		if e.Pack {
			done = "a pack"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%d\t%d\t%s\n", dayAndTime(e.Time), strings.Join(e.Codes, ", "), e.Session, e.Limit, e.Before, e.After, done)
	}
	_ = tw.Flush() // w's errors are the caller's to find
	for _, p := range result.Patterns {
		if p.Count > 1 {
			fmt.Fprintf(w, "%d times %s\n", p.Count, strings.Join(strings.Fields(p.Code+" "+p.Trigger+" "+p.Agent+" "+p.LLM), " "))
		}
	}
	return nil
}

func writeRewards(ctx context.Context, w io.Writer, s *server, session string) error {
	lines := json.NewEncoder(w)
	params := wire.LimitsRewardsParams{Session: session}
	for {
		var result wire.LimitsRewardsResult
		if err := s.Call(ctx, wire.MethodLimitsRewards, params, &result); err != nil {
			return fmt.Errorf("read rewards: %w", err)
		}
		for _, reward := range result.Rewards {
			if err := lines.Encode(reward); err != nil {
				return err
			}
		}
		if params.Cursor = result.Cursor; params.Cursor == "" {
			return nil
		}
	}
}
