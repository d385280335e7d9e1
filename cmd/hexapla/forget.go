package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hexapla/rpc/wire"
)

func newForget(p program) *cobra.Command {
	var folder folderFlags
	var turn int
	var everything, yes bool
	cmd := &cobra.Command{
		Use:   "forget CONVERSATION",
		Short: "Take a conversation out of a folder's memory, to the last byte",
		Long: `Forget takes a conversation, one turn of it, or with --everything all that was
recorded of a folder, out of the store with everything that was made of it:
headers, summaries, the story of layer 0, pins, tool outputs, the index, copies
in snapshots. When it returns no file of the store holds the text. It cannot be
taken back, so --yes is needed.

Not reached are what other conversations quote of it, copies of the store that
were made elsewhere, and what a model was sent.`,
		Example: `  hexapla forget c12 --yes
  hexapla forget c12 --turn 3 --yes
  hexapla forget --everything --yes`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case everything == (len(args) == 1):
				return usageError{errors.New("name a conversation, or --everything")}
			case turn < 0 || everything && turn > 0:
				return usageError{fmt.Errorf("--turn %d: must be the number of a turn of a conversation", turn)}
			case !yes:
				return usageError{errors.New("this cannot be taken back; say --yes")}
			}
			return withSession(cmd, p, folder, func(ctx context.Context, s *server, session string) error {
				if everything {
					uri, err := folderURI(p, folder.workspace)
					if err != nil {
						return err
					}
					var result wire.WorkspaceEraseResult
					if err := s.Call(ctx, wire.MethodWorkspaceErase, wire.WorkspaceEraseParams{Workspace: wire.Workspace{URI: uri}, Confirm: true}, &result); err != nil {
						return fmt.Errorf("forget: %w", err)
					}
					fmt.Fprintln(p.out, "nothing is left of this folder's memory")
					return nil
				}
				var result wire.ConversationForgetResult
				if err := s.Call(ctx, wire.MethodConversationForget, wire.ConversationForgetParams{Session: session, Conversation: args[0], Turn: turn}, &result); err != nil {
					return fmt.Errorf("forget: %w", err)
				}
				fmt.Fprintf(p.out, "forgotten: %s, with %d records and %d stored outputs\n", strings.Join(result.Conversations, ", "), result.Records, result.Blobs)
				return nil
			})
		},
	}
	folder.add(cmd)
	cmd.Flags().IntVar(&turn, "turn", 0, "only the `turn` of this number")
	cmd.Flags().BoolVar(&everything, "everything", false, "all that was recorded of the folder")
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")
	return cmd
}
