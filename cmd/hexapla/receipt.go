package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"hexapla/rpc/wire"
)

func newReceipt(p program) *cobra.Command {
	var folder folderFlags
	var checksum, against string
	var maxTokens int
	var undo, all, asJSON bool
	cmd := &cobra.Command{
		Use:   "receipt",
		Short: "Show what a pack lost against the one before it, and take it back",
		Long: `Receipt compares a pack with the one before it in its session and lists what
is shown in less detail now or not at all, and what became of the facts in it:
instructions of the user, errors, commands, paths, identifiers and numbers. A
fact survived if the pack still shows it somewhere, else it was dropped.

Without --checksum it is the session's newest pack that lost something.

Each line ends in a handle: the id of a turn (c12#3), an output (c12#3/2) or a
conversation (c12) that the original can be read at, or the first digits of the
checksum of the pack before where that alone has it.

With --undo the newest of what was lost is served again: it stands at the end of
the next pack.`,
		Example: `  hexapla receipt
  hexapla receipt --all | less
  hexapla receipt --json | jq '.facts[] | select(.survived | not) | .text'
  hexapla receipt --undo --max-tokens 1000`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case maxTokens < 0:
				return usageError{fmt.Errorf("--max-tokens %d: must not be negative", maxTokens)}
			case undo && against != "":
				return usageError{errors.New("--undo takes back what was lost against the pack before; it cannot be used with --against")}
			case maxTokens > 0 && !undo:
				return usageError{errors.New("--max-tokens goes with --undo")}
			}
			return withSession(cmd, p, folder, func(ctx context.Context, s *server, session string) error {
				checksum := checksum
				if checksum == "" {
					var err error
					if checksum, err = newestLoss(ctx, s, session); err != nil {
						return err
					}
				}
				if undo {
					var result wire.PackUndoResult
					params := wire.PackUndoParams{Session: session, Checksum: checksum, MaxTokens: maxTokens}
					if err := s.Call(ctx, wire.MethodPackUndo, params, &result); err != nil {
						return fmt.Errorf("undo: %w", err)
					}
					if asJSON {
						return indent(p.out, result)
					}
					writeUndone(p.out, checksum, &result)
					return nil
				}
				result, err := wholeReceipt(ctx, s, wire.PackReceiptParams{Session: session, Checksum: checksum, Against: against})
				if err != nil {
					return err
				}
				if asJSON {
					return indent(p.out, result)
				}
				writeReceipt(p.out, session, &result, all)
				return nil
			})
		},
	}
	folder.add(cmd)
	cmd.Flags().StringVar(&checksum, "checksum", "", "`checksum` of the pack (default: the newest that lost something)")
	cmd.Flags().StringVar(&against, "against", "", "`checksum` of the pack to compare with (default: the one before)")
	cmd.Flags().BoolVar(&undo, "undo", false, "serve again what was lost")
	cmd.Flags().IntVar(&maxTokens, "max-tokens", 0, "most `tokens` to serve again (default: 2000)")
	cmd.Flags().BoolVar(&all, "all", false, "list everything")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's answer")
	return cmd
}

// newestLoss returns the checksum of the session's newest pack that lost
// something, else of its newest.
func newestLoss(ctx context.Context, s *server, session string) (string, error) {
	var newest string
	params := wire.AuditQueryParams{Session: session, OnlySession: true, Limit: 200}
	for {
		var page wire.AuditQueryResult
		if err := s.Call(ctx, wire.MethodAuditQuery, params, &page); err != nil {
			return "", fmt.Errorf("list packs: %w", err)
		}
		for _, entry := range page.Entries {
			if newest == "" {
				newest = entry.Checksum
			}
			if entry.Lost > 0 {
				return entry.Checksum, nil
			}
		}
		if params.Cursor = page.Cursor; params.Cursor == "" {
			break
		}
	}
	if newest == "" {
		return "", errors.New("no pack was built in this session yet")
	}
	return newest, nil
}

// wholeReceipt reads a receipt with all pages of its facts.
func wholeReceipt(ctx context.Context, s *server, params wire.PackReceiptParams) (wire.PackReceiptResult, error) {
	var whole wire.PackReceiptResult
	for {
		var page wire.PackReceiptResult
		if err := s.Call(ctx, wire.MethodPackReceipt, params, &page); err != nil {
			return whole, fmt.Errorf("receipt: %w", err)
		}
		facts := append(whole.Facts, page.Facts...)
		whole = page
		whole.Facts = facts
		if params.Cursor = page.Cursor; params.Cursor == "" {
			return whole, nil
		}
	}
}
