package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llama-agent/llama-agent/config"
)

func newShowConfig(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "show-config",
		Short: "Print every setting and where it comes from",
		Long: "Print every setting and where it comes from: the default, a line of the configuration file, an environment\n" +
			"variable or a flag. The output is a valid configuration file. No model is loaded.",
		Args: arguments(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			c, err := s.load()
			if err != nil {
				return err
			}
			if s.console.json {
				return s.console.printJSON(configJSON(c))
			}
			s.console.print(configText(c))
			return nil
		},
	}
}

// configText is a configuration file with the values of c; comments name the sources.
func configText(c *config.Config) string {
	var b strings.Builder
	file := c.File
	if file == "" {
		file = "none"
	}
	fmt.Fprintf(&b, "# configuration file: %s\n# workspace: %s\n", file, c.Workspace)
	section := ""
	for _, v := range c.Values() {
		if v.Section != section {
			section = v.Section
			fmt.Fprintf(&b, "\n[%s]\n", section)
		}
		if v.Text == "" {
			fmt.Fprintf(&b, "%-46s # as in [engine]\n", "# "+v.Key)
			continue
		}
		fmt.Fprintf(&b, "%-46s # %s\n", v.Key+" = "+v.Text, v.Source)
	}
	return b.String()
}

type configValueJSON struct {
	Section string `json:"section"`
	Key     string `json:"key"`
	Value   any    `json:"value"`
	Source  string `json:"source"`
}

func configJSON(c *config.Config) any {
	values := make([]configValueJSON, 0, 100)
	for _, v := range c.Values() {
		values = append(values, configValueJSON{v.Section, v.Key, v.Value, v.Source.String()})
	}
	notices := c.Notices
	if notices == nil {
		notices = []string{}
	}
	return map[string]any{"config_file": c.File, "workspace": c.Workspace, "values": values, "notices": notices}
}
