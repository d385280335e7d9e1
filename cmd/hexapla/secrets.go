package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"hexapla/layers/scrub"
	"hexapla/rpc/wire"
)

// maxScanned is how many bytes of a file are looked through.
const maxScanned = 64 << 20

func newSecrets(p program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secrets",
		Short: "Look for secrets and personal data, and take them out of what was recorded",
		Args:  arguments(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSecretsScan(p), newSecretsRescrub(p))
	return cmd
}

func newSecretsScan(p program) *cobra.Command {
	var folder folderFlags
	var asJSON, pii bool
	cmd := &cobra.Command{
		Use:   "scan [FILES...]",
		Short: "Tell where secrets stand, in a folder's memory or in files",
		Long: `Scan looks for what is replaced when something is recorded: in everything that
was recorded of a folder, all versions, tool outputs and the audit log, or in
FILES ("-" for standard input). It prints the family of each finding and where
it stands, never the secret, and changes nothing. What was recorded by this
version holds nothing to find, unless with other settings.

It ends with exit code 1 if something was found.`,
		Example: `  hexapla secrets scan
  hexapla secrets scan .env config/*.yaml
  git diff | hexapla secrets scan --pii -`,
		RunE: func(cmd *cobra.Command, files []string) error {
			if len(files) > 0 {
				return scanFiles(cmd.Context(), p, files, pii, asJSON)
			}
			if pii {
				return usageError{fmt.Errorf("--pii is for files: a folder's memory is scanned with the server's settings")}
			}
			return withSession(cmd, p, folder, func(ctx context.Context, s *server, session string) error {
				all, err := scanMemory(ctx, s, session)
				if err != nil {
					return err
				}
				return reportScan(p.out, all, asJSON)
			})
		},
	}
	folder.add(cmd)
	cmd.Flags().BoolVar(&pii, "pii", false, "in files, also look for mail addresses, phone numbers and IP addresses")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	return cmd
}

// scanned is what a scan found, as it is printed.
type scanned struct {
	Findings []scannedFinding `json:"findings"`
	Families map[string]int   `json:"families"`
	Bytes    int64            `json:"bytes"`
	Damaged  int              `json:"damaged,omitempty"`
}

type scannedFinding struct {
	File string `json:"file,omitempty"`
	wire.SecretFinding
}

// place is where a finding stands, for people.
func (f *scannedFinding) place() string {
	switch {
	case f.File != "":
		return f.File + ":" + strconv.Itoa(f.Line)
	case f.Blob != "":
		return fmt.Sprintf("%s output %.12s", f.Record, f.Blob)
	}
	return f.Kind + " " + f.Record
}

// scanMemory asks until there is no more.
func scanMemory(ctx context.Context, s *server, session string) (scanned, error) {
	all := scanned{Findings: []scannedFinding{}, Families: map[string]int{}}
	params := wire.SecretsScanParams{Session: session, Limit: 1000}
	for {
		var page wire.SecretsScanResult
		if err := s.Call(ctx, wire.MethodSecretsScan, params, &page); err != nil {
			return all, fmt.Errorf("scan: %w", err)
		}
		for _, f := range page.Findings {
			all.Findings = append(all.Findings, scannedFinding{SecretFinding: f})
		}
		for family, n := range page.Families {
			all.Families[family] += n
		}
		all.Bytes += page.Bytes
		all.Damaged += page.Damaged
		if page.Cursor == "" {
			return all, nil
		}
		params.Cursor = page.Cursor
	}
}

// scanFiles looks through files with the default rules, without a server: nothing
// of them is stored. Their placeholders are of this call alone and are left out.
func scanFiles(ctx context.Context, p program, files []string, pii, asJSON bool) error {
	settings := scrub.DefaultSettings()
	if pii {
		settings.PII = scrub.PII{Cards: true, IBANs: true, Mails: true, Phones: true, IPs: true}
	}
	rules, err := scrub.Compile(settings)
	if err != nil {
		return fmt.Errorf("scan: %w", err)
	}
	key := make([]byte, 32)
	rand.Read(key) // never fails
	scrubber := rules.With(key)
	all := scanned{Findings: []scannedFinding{}, Families: map[string]int{}}
	for _, name := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := readScanned(p, name)
		if err != nil {
			return fmt.Errorf("scan: %w", err)
		}
		all.Bytes += int64(len(data))
		line, from := 1, 0
		for _, f := range scrubber.Find(string(data)) {
			line, from = line+bytes.Count(data[from:f.Offset], []byte("\n")), f.Offset
			all.Families[f.Family]++
			all.Findings = append(all.Findings, scannedFinding{name, wire.SecretFinding{Family: f.Family, Kind: "text", Line: line, Offset: f.Offset}})
		}
	}
	return reportScan(p.out, all, asJSON)
}

func readScanned(p program, name string) ([]byte, error) {
	in := p.in
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	return io.ReadAll(io.LimitReader(in, maxScanned))
}

// reportScan prints what was found; finding something is exit code 1.
func reportScan(w io.Writer, all scanned, asJSON bool) error {
	if asJSON {
		if err := indent(w, all); err != nil {
			return err
		}
	} else {
		writeScan(w, all)
	}
	if len(all.Families) > 0 {
		return exitError{exitFailure}
	}
	return nil
}

// writeScan writes findings for people: first how often each family was found.
func writeScan(w io.Writer, all scanned) {
	if len(all.Families) == 0 {
		fmt.Fprintf(w, "nothing found in %d bytes of text\n", all.Bytes)
	} else {
		fmt.Fprintf(w, "found %s\n\n", familyList(all.Families))
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for i := range all.Findings {
			f := &all.Findings[i]
			fmt.Fprintf(tw, "%s\t%s\t%s\n", f.Family, f.place(), f.Placeholder)
		}
		tw.Flush() // writes to w, whose errors the next line meets as well
	}
	if all.Damaged > 0 {
		fmt.Fprintf(w, "%d records or outputs could not be read\n", all.Damaged)
	}
}
