package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llama-agent/llama-agent/app"
)

func newModels(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "models [PATH...]",
		Short: "List model files (GGUF) and whether they fit into memory",
		Long: "List model files (GGUF) with what they are, what memory they need at the configured context size, and whether\n" +
			"they fit. Without a PATH it looks in the models folder and beside the configured model. No model is loaded.",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.load()
			if err != nil {
				return err
			}
			machine := app.ThisMachine()
			list, err := app.Models(cmd.Context(), c, machine, args)
			if err != nil {
				return err
			}
			if s.console.json {
				return s.console.printJSON(map[string]any{"models": list, "available_bytes": machine.AvailableBytes})
			}
			if len(list) == 0 {
				s.console.note("no .gguf files found; fetch the starter model with: make model")
				return nil
			}
			s.console.print(modelTable(list, s.console.columns()))
			s.console.note("\n* configured. NEEDS is the memory at the context that a run uses: n_ctx, else the model's, at most 16k.\n" +
				"A template without tools is no obstacle: calls are constrained instead.")
			return nil
		},
	}
}

func modelTable(list []app.ModelFile, width int) string {
	columns := []column{
		{title: "FILE", flexible: true}, {title: "ARCH"}, {title: "SIZE", right: true}, {title: "QUANT"}, {title: "CTX", right: true},
		{title: "TEMPLATE"}, {title: "NEEDS", right: true}, {title: "FITS"},
	}
	var rows [][]string
	var broken strings.Builder
	for _, f := range list {
		name := f.Path
		if i := strings.LastIndexAny(name, `/\`); i >= 0 && width > 0 {
			name = name[i+1:]
		}
		if f.Configured {
			name += " *"
		}
		if f.Problem != "" {
			fmt.Fprintf(&broken, "%s: %s\n", name, f.Problem)
			continue
		}
		fits := "?"
		if f.Fits != nil {
			fits = yesNo(*f.Fits)
		}
		template := "none"
		switch {
		case f.ToolTemplate:
			template = "tools"
		case f.ChatTemplate:
			template = "chat"
		}
		rows = append(rows, []string{
			name, f.Architecture, f.Size, f.Quantization, formatCount(f.ContextLength), template, formatBytes(f.MemoryBytes), fits,
		})
	}
	text := ""
	if len(rows) > 0 {
		text = table(columns, rows, width)
	}
	if broken.Len() > 0 {
		if text != "" {
			text += "\n"
		}
		text += "cannot be used:\n" + broken.String()
	}
	return text
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
