package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"hexapla/rpc/wire"
)

func newSecretsRescrub(p program) *cobra.Command {
	var folder folderFlags
	var asJSON, yes bool
	var known string
	cmd := &cobra.Command{
		Use:   "rescrub",
		Short: "Take secrets out of what was recorded of a folder before",
		Long: `Rescrub puts placeholders in the place of secrets in everything that was
recorded of a folder, all versions, tool outputs, summaries, the audit log, with
the rules that are in force now: what an older version recorded, or what a value
or rule that was added since finds. When it returns no file of the store holds
one. It prints how much it found and where, never the secret.

It cannot be taken back, so --yes is needed; without it rescrub tells what it
would do. It uses the default rules, and takes the lines of FILE ("-" for
standard input) for secrets as well; they are kept nowhere.`,
		Example: `  hexapla secrets rescrub
  hexapla secrets rescrub --yes
  pass show acme | hexapla secrets rescrub --known - --yes`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			options, err := knownValues(p, known)
			if err != nil {
				return fmt.Errorf("rescrub: %w", err)
			}
			return withSessionOf(cmd, p, folder, options, func(ctx context.Context, s *server, session string) error {
				var result wire.SecretsRescrubResult
				if err := s.Call(ctx, wire.MethodSecretsRescrub, wire.SecretsRescrubParams{Session: session, DryRun: !yes}, &result); err != nil {
					return fmt.Errorf("rescrub: %w", err)
				}
				if asJSON {
					return indent(p.out, result)
				}
				writeRescrub(p.out, &result)
				return nil
			})
		},
	}
	folder.add(cmd)
	cmd.Flags().StringVar(&known, "known", "", "lines of this `FILE` are secrets")
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the receipt as JSON")
	return cmd
}

// knownValues are the options of a client that names the lines of a file as
// secrets; nil for no file.
func knownValues(p program, file string) (map[string]string, error) {
	if file == "" {
		return nil, nil
	}
	data, err := readScanned(p, file)
	if err != nil {
		return nil, err
	}
	var values []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			values = append(values, line)
		}
	}
	options, err := json.Marshal(map[string]any{"known": values})
	return map[string]string{"secrets": string(options)}, err
}

// writeRescrub writes a receipt for people.
func writeRescrub(w io.Writer, r *wire.SecretsRescrubResult) {
	switch {
	case len(r.Families) == 0:
		fmt.Fprintf(w, "nothing to replace in %d bytes of text\n", r.Bytes)
	case r.Changed:
		fmt.Fprintf(w, "replaced %s\n\n", familyList(r.Families))
	default:
		fmt.Fprintf(w, "would replace %s; say --yes to do it\n\n", familyList(r.Families))
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, place := range r.Places {
		fmt.Fprintf(tw, "%s\t%s\n", place.Kind, familyList(place.Families))
	}
	tw.Flush() // writes to w, whose errors the next line meets as well
	if len(r.Families) > 0 {
		fmt.Fprintf(w, "\n%d records, %d outputs, %d audit entries, %d kept answers, %d ids; %d packs of the past are marked\n",
			r.Records, r.Blobs, r.AuditEntries, r.Replies, r.Renamed, r.Redacted)
	}
	if r.Unreached > 0 {
		fmt.Fprintf(w, "%d outputs that are no text have something in them and stay as they are\n", r.Unreached)
	}
	if r.Damaged > 0 {
		fmt.Fprintf(w, "%d records or outputs could not be read\n", r.Damaged)
	}
}

// familyList is how often each family was found, in the order of their names.
func familyList(families map[string]int) string {
	names := make([]string, 0, len(families))
	for name := range families {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = fmt.Sprintf("%d %s", families[name], name)
	}
	return strings.Join(names, ", ")
}
