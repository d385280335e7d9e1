package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"hexapla/storage"
)

// examined is what was found in one store.
type examined struct {
	Store    string            `json:"store"`
	Findings []storage.Finding `json:"findings"`
}

func newDoctor(p program) *cobra.Command {
	return examiner(p, "doctor", "Look whether stores are sound", `Doctor reads the stores of a data folder and says what is wrong with them, one
line for each check, with what to do about it. It changes nothing. Each store is
read in a process of its own: damage that ends it is a finding. Where the data
folder lies is looked at first: a network file system, a folder that a service
synchronises, a repository, and parents that others may change are warnings.

It exits with 0 if all is fine, 1 if there are warnings, 2 if there is damage.`, `  hexapla doctor --all
  hexapla doctor --json`, false)
}

func newVerify(p program) *cobra.Command {
	return examiner(p, "verify", "Read a store and check every sum in it", `Verify is doctor with --read-data to read the content of every stored output as
well, and compare it with its SHA-256.`, `  hexapla verify --read-data --all`, true)
}

// one is the hidden flag with which a command is a child that looks at a single
// store.
const one = "one"

func examiner(p program, name, short, long, example string, data bool) *cobra.Command {
	var which storeFlags
	var asJSON, readData bool
	var folder string
	cmd := &cobra.Command{
		Use: name, Short: short, Long: long, Example: example, Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if folder != "" {
				found := storage.Examine(cmd.Context(), storage.Options{Dir: folder, Timeout: lockPatience}, readData)
				return json.NewEncoder(p.out).Encode(found)
			}
			stores, err := which.stores(cmd, p)
			if err != nil {
				return err
			}
			all := make([]examined, 0, len(stores)+1)
			if data, err := dataDir(cmd, p); err == nil {
				if found := examinePlace(data); len(found) > 0 {
					all = append(all, examined{dataFolder, found})
				}
			}
			for _, store := range stores {
				all = append(all, examined{store.id, examine(cmd.Context(), p, store.dir, readData)})
			}
			if asJSON {
				if err := indent(p.out, all); err != nil {
					return err
				}
			} else {
				writeFindings(p.out, all)
			}
			return verdict(all)
		},
	}
	which.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print findings as JSON")
	if data {
		cmd.Flags().BoolVar(&readData, "read-data", false, "read the content of stored outputs as well")
	} else {
		cmd.Flags().BoolVar(&readData, "read-data", false, "as verify --read-data")
	}
	cmd.Flags().StringVar(&folder, one, "", "")
	_ = cmd.Flags().MarkHidden(one) // the flag was defined just now
	return cmd
}

// examine has a child look at a store. If the child dies, that is a finding.
func examine(ctx context.Context, p program, dir string, readData bool) []storage.Finding {
	args := []string{"doctor", "--" + one, dir}
	if readData {
		args = append(args, "--read-data")
	}
	var found []storage.Finding
	self, err := p.self()
	if err == nil {
		var out []byte
		var errs bytes.Buffer
		child := exec.CommandContext(ctx, self, args...)
		child.Stderr = &errs
		if out, err = child.Output(); err == nil {
			err = json.Unmarshal(out, &found)
		}
	}
	if err != nil {
		found = append(found, storage.Finding{
			Check: "store", Level: storage.LevelDamage, Text: "reading it ended the process that did: " + err.Error(), Next: "hexapla repair --dry-run",
		})
	}
	return found
}

func writeFindings(w io.Writer, all []examined) {
	if len(all) == 0 {
		fmt.Fprintln(w, "there are no stores")
	}
	for i, store := range all {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, store.Store)
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, f := range store.Findings {
			text := f.Text
			if f.Next != "" {
				text += "  → " + f.Next
			}
			fmt.Fprintf(table, "  %s\t%s\t%s\n", f.Level, f.Check, text)
		}
		_ = table.Flush() // as any other write to the terminal
	}
}

// verdict is the exit code: 1 for warnings, 2 for damage.
func verdict(all []examined) error {
	code := 0
	for _, store := range all {
		for _, f := range store.Findings {
			switch f.Level {
			case storage.LevelWarning:
				code = max(code, 1)
			case storage.LevelDamage:
				code = 2
			}
		}
	}
	if code == 0 {
		return nil
	}
	return exitError{code}
}
