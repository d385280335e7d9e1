package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hexapla/rpc/wire"
)

func newStats(p program) *cobra.Command {
	var folder folderFlags
	var since, until string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Show what packs saved, how context requests fared and what summaries keep",
		Long: `Stats shows figures of a folder's memory over a window of time; without --since
and --until, over everything. They come from what is on disk: the audit log of
packs, which keeps the newest 10,000, and what was recorded.

  tokens        of a pack, and of the same prompt with the full history
  same bytes    share of the packs that stood at the beginning of the one before,
                which a provider's prompt cache reads
  billed        input in plain input tokens: writing to the cache counts 1.25 and
                reading from it 0.1, or by the price list of the packs' models
  build time    from the audit log
  forced drops  left out or shortened because there was no room
  retrieval     what the model asked for: served, put off, not there
  re-asks       asked for although it had been given
  fidelity      what headers and summaries keep of the full texts: of what is of
                note, as much as a summary has room for, and of everything
  drift         distance of layer 0 from the version before, 0 to 1

TIME is a duration back from now such as 24h, 7d or 2w, a day, or a time such as
2026-01-31T12:00:00Z. A day as --since means its beginning, as --until its end.`,
		Example: `  hexapla stats --since 24h
  hexapla stats --since 2026-01-01 --until 2026-01-31
  hexapla stats --json | jq '.reduction, .fidelity.overall.share'`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			params, err := statsWindow(since, until, time.Now())
			if err != nil {
				return usageError{err}
			}
			params.OnlySession = folder.session != ""
			return withSession(cmd, p, folder, func(ctx context.Context, s *server, session string) error {
				params.Session = session
				var result wire.MetricsGetResult
				if err := s.Call(ctx, wire.MethodMetricsGet, params, &result); err != nil {
					return fmt.Errorf("get metrics: %w", err)
				}
				if asJSON {
					return indent(p.out, result)
				}
				writeStats(p.out, params, &result)
				return nil
			})
		},
	}
	folder.add(cmd)
	cmd.Flags().Lookup("session").Usage = "`id` of the only session to look at (default: all)"
	cmd.Flags().StringVar(&since, "since", "", "`time` at which the window begins")
	cmd.Flags().StringVar(&until, "until", "", "`time` at which the window ends")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's answer")
	return cmd
}

// statsWindow makes the window of two flags.
func statsWindow(since, until string, now time.Time) (params wire.MetricsGetParams, err error) {
	from, err := moment(since, false, now)
	if err != nil {
		return params, fmt.Errorf("--since %q: %w", since, err)
	}
	to, err := moment(until, true, now)
	if err != nil {
		return params, fmt.Errorf("--until %q: %w", until, err)
	}
	if since != "" && until != "" && !from.Before(to) {
		return params, fmt.Errorf("--since %s is not before --until %s", since, until)
	}
	if since != "" {
		params.Since = from.UTC().Format(time.RFC3339Nano)
	}
	if until != "" {
		params.Until = to.UTC().Format(time.RFC3339Nano)
	}
	return params, nil
}

var errMoment = errors.New("must be a duration such as 24h or 7d, a day such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z")

// moment reads a point in time. end chooses the end of a day.
func moment(text string, end bool, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		if end {
			day = day.AddDate(0, 0, 1)
		}
		return day, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	for _, unit := range []struct {
		name string
		days int
	}{{"d", 1}, {"w", 7}} {
		if number, ok := strings.CutSuffix(text, unit.name); ok {
			if n, err := strconv.ParseUint(number, 10, 16); err == nil {
				return now.AddDate(0, 0, -unit.days*int(n)), nil
			}
		}
	}
	back, err := time.ParseDuration(text)
	if err != nil || back < 0 {
		return time.Time{}, errMoment
	}
	return now.Add(-back), nil
}
