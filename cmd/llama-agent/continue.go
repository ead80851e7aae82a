package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/llama-agent/llama-agent/app"
)

type continueOptions struct {
	conversation string
	fresh        bool
	taskFlags
}

func newContinue(s *session) *cobra.Command {
	var o continueOptions
	cmd := &cobra.Command{
		Use:   "continue GOAL",
		Short: "Do one task as the next turn of a conversation",
		Long: "Do one task as the next turn of a conversation, which knows what was said and found before; without an ID it is the\n" +
			"last one, and the first time a new one. A turn that was stopped is continued with resume, or taken back with\n" +
			"delete-thread. A GOAL of - is read from stdin.",
		Example: "  llama-agent continue \"My dog is called Bruno.\"\n  llama-agent continue \"What is my dog called?\"\n" +
			"  llama-agent continue --new \"Which logs mention a timeout?\"",
		Args: arguments(1, -1, "the goal"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.continueConversation(cmd, o, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.conversation, "conversation-id", "", "`ID` of the conversation (default: the last one)")
	flags.BoolVar(&o.fresh, "new", false, "begin a conversation, with the ID if one is given")
	o.add(s, flags)
	complete(cmd, "conversation-id", s.completeConversation)
	return cmd
}

func (s *session) continueConversation(cmd *cobra.Command, o continueOptions, args []string) error {
	if cmd.Flags().Changed("conversation-id") && o.conversation == "" {
		return usagef("--conversation-id is empty; give an ID as listed by list-conversations")
	}
	goal, err := s.goal(cmd.Context(), args)
	if err != nil {
		return err
	}
	return s.task(cmd, false, func(ctx context.Context, a *app.App, observe func(app.Event)) (*app.Report, error) {
		return o.begun(a.Continue(ctx, app.TurnTask{
			Goal: goal, Conversation: o.conversation, New: o.fresh, Tools: o.tools, Attach: o.attach, Observe: observe,
		}))
	})
}

// completeConversation completes the ID of a conversation for the shell.
func (s *session) completeConversation(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var ids []string
	_ = s.withStore(cmd.Context(), func(ctx context.Context, a *app.App) error { // no completion is better than an error in the prompt
		list, err := a.Conversations(ctx, 50)
		for _, c := range list {
			ids = append(ids, c.ID+"\t"+app.Inert(oneLine(c.Title)))
		}
		return err
	})
	return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
