package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"hexapla/storage"
)

// remedyNames are the remedies that can be asked for.
func remedyNames() []string {
	return []string{string(storage.RemedyMetaPage), string(storage.RemedySalvage), string(storage.RemedySnapshot), string(storage.RemedyEmpty)}
}

func newRepair(p program) *cobra.Command {
	var which storeFlags
	var apply, dry bool
	var with, folder string
	cmd := &cobra.Command{
		Use:   "repair --dry-run|--apply",
		Short: "Get a damaged store working again",
		Long: `Repair tries, in this order, what loses least: the commit before the last one
(metaPage), every value that can still be read (salvage), the newest sound copy
(snapshot). The damaged file is kept in the store's folder quarantine. An empty
store is made only with --with empty.`,
		Example: `  hexapla repair --dry-run
  hexapla repair --apply
  hexapla repair --apply --with snapshot`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if apply == dry {
				return usageError{errors.New("say --dry-run or --apply")}
			}
			if with != "" && !strings.Contains(" "+strings.Join(remedyNames(), " ")+" ", " "+with+" ") {
				return usageError{fmt.Errorf("--with %q: must be one of %s", with, strings.Join(remedyNames(), ", "))}
			}
			if folder != "" {
				done, err := storage.Repair(cmd.Context(), storeFolder{dir: folder}.options(p), storage.RepairOptions{Only: storage.Remedy(with), Apply: apply})
				if err != nil {
					return advise(fmt.Errorf("%w\n%s", err, strings.Join(done.Tried, "\n")))
				}
				return json.NewEncoder(p.out).Encode(done)
			}
			stores, err := which.stores(cmd, p)
			if err != nil {
				return err
			}
			failed := false
			for _, store := range stores {
				failed = !repairOne(cmd, p, store, with, apply) || failed
			}
			if failed {
				return exitError{exitFailure}
			}
			return nil
		},
	}
	which.add(cmd)
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say what would be done")
	cmd.Flags().BoolVar(&apply, "apply", false, "do it")
	cmd.Flags().StringVar(&with, "with", "", "the only `remedy` to try: metaPage, salvage, snapshot or empty")
	cmd.Flags().StringVar(&folder, one, "", "")
	_ = cmd.Flags().MarkHidden(one) // the flag was defined just now
	return cmd
}

// repairOne repairs a store in a child process, which damage may end.
func repairOne(cmd *cobra.Command, p program, store storeFolder, with string, apply bool) bool {
	args := []string{"repair", "--" + one, store.dir, "--with", with, "--dry-run"}
	if apply {
		args[len(args)-1] = "--apply"
	}
	self, err := p.self()
	var done storage.Repaired
	var errs bytes.Buffer
	if err == nil {
		child := exec.CommandContext(cmd.Context(), self, args...)
		child.Stderr = &errs
		var out []byte
		if out, err = child.Output(); err == nil {
			err = json.Unmarshal(out, &done)
		}
	}
	if err != nil {
		fmt.Fprintf(p.out, "%s: not repaired: %v\n%s", store.id, err, errs.String())
		return false
	}
	if done.Remedy == storage.RemedyNone {
		fmt.Fprintf(p.out, "%s: sound at sequence %d, nothing to do\n", store.id, done.Seq)
		return true
	}
	if done.Problem != "" {
		fmt.Fprintf(p.out, "%s: %s\n", store.id, done.Problem)
	}
	verb := "would repair"
	if apply {
		verb = "repaired"
	}
	fmt.Fprintf(p.out, "%s: %s with %s, up to sequence %d", store.id, verb, done.Remedy, done.Seq)
	if done.LastKnown > 0 {
		fmt.Fprintf(p.out, " of %d", done.LastKnown)
	}
	fmt.Fprintln(p.out)
	if done.Remedy == storage.RemedySalvage && done.Salvaged != nil {
		fmt.Fprintf(p.out, "%s: %s\n", store.id, done.Salvaged)
	}
	if done.Quarantine != "" {
		fmt.Fprintf(p.out, "%s: the damaged file is in %s\n", store.id, done.Quarantine)
	}
	return true
}
