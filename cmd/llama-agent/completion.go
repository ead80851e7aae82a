package main

import (
	"bytes"

	"github.com/spf13/cobra"
)

func newCompletion(s *session) *cobra.Command {
	return &cobra.Command{
		Use:       "completion SHELL",
		Short:     "Print the completion script for bash, zsh, fish or powershell",
		Long:      "Print the completion script of a shell. For bash:\n\n  source <(llama-agent completion bash)",
		Args:      arguments(1, 1, "the shell (bash, zsh, fish or powershell)"),
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			var script bytes.Buffer
			var err error
			switch args[0] {
			case "bash":
				err = root.GenBashCompletionV2(&script, true)
			case "zsh":
				err = root.GenZshCompletion(&script)
			case "fish":
				err = root.GenFishCompletion(&script, true)
			case "powershell":
				err = root.GenPowerShellCompletionWithDesc(&script)
			default:
				return usagef("unknown shell %q; use bash, zsh, fish or powershell", args[0])
			}
			if err != nil {
				return err
			}
			s.console.print(script.String())
			return nil
		},
	}
}

// complete sets how the shell completes the values of a flag.
func complete(cmd *cobra.Command, flag string, values cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, values); err != nil {
		panic(err) // there is no such flag
	}
}
