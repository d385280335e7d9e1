package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"hexapla/rpc/wire"
)

func newVersion(p program) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of the program and of the protocol",
		Long:    "Version prints the version of the program, of the protocol that it serves, and\nwhat it was built with.",
		Example: "  hexapla version",
		Args:    arguments(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(p.out, "hexapla %s (protocol %d, %s, %s/%s)\n", version, wire.ProtocolVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
