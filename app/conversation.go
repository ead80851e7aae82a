package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/conversation"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// Conversation describes a conversation in a list.
type Conversation = conversation.Conversation

// Turn is one turn of a conversation.
type Turn = conversation.Turn

// ErrNoConversation says that there is no conversation yet.
var ErrNoConversation = errors.New("there is no conversation in this workspace")

// openConversations opens the store of conversations if there is one.
func (a *App) openConversations(ctx context.Context) error {
	if _, err := os.Stat(a.options.Config.Agent.ConversationDBPath); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return a.needConversations(ctx)
}

// needConversations opens the store of conversations unless it is open, and makes one if there is none.
func (a *App) needConversations(ctx context.Context) error {
	if a.conversations != nil {
		return nil
	}
	path := a.options.Config.Agent.ConversationDBPath
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return fmt.Errorf("making the folder of the database of conversations: %w; choose another place with agent.conversation_db_path", err)
	}
	store, err := conversation.Open(ctx, path, conversation.Options{})
	if err != nil {
		return err
	}
	a.conversations = store
	a.closers = append(a.closers, store.Close)
	return nil
}

// Conversations lists the conversations, the last changed first. A limit of 0 lists all.
func (a *App) Conversations(ctx context.Context, limit int) ([]Conversation, error) {
	if a.conversations == nil {
		return []Conversation{}, nil
	}
	list, err := a.conversations.List(ctx, limit)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].Status != conversation.Running {
			continue
		}
		running, err := a.runningTurn(ctx, list[i].ID)
		if err != nil {
			return nil, err
		}
		if running != nil && processGone(*running) {
			list[i].Status = conversation.Interrupted
		}
	}
	return list, nil
}

// runningTurn is the turn of a conversation that is under way, or was when its process ended.
func (a *App) runningTurn(ctx context.Context, id string) (*Turn, error) {
	turns, err := a.conversations.Turns(ctx, id, conversation.TurnQuery{Limit: 1, Newest: true})
	if err != nil || len(turns) == 0 || turns[0].Status != conversation.Running {
		return nil, err
	}
	return &turns[0], nil
}

// processGone reports whether the process that runs a turn has ended.
func processGone(t Turn) bool {
	var p checkpoint.Process
	return json.Unmarshal([]byte(t.Process), &p) != nil || p.Gone()
}

func ownProcess() string {
	p, err := json.Marshal(checkpoint.CurrentProcess())
	if err != nil {
		panic("app: encoding a process: " + err.Error()) // plain numbers and text
	}
	return string(p)
}

// Conversation returns a conversation with its turns, the oldest first; an empty ID stands for the last one.
func (a *App) Conversation(ctx context.Context, id string) (Conversation, []Turn, error) {
	if a.conversations == nil {
		if id != "" {
			return Conversation{}, nil, a.unknownConversation(ctx, id)
		}
		return Conversation{}, nil, ErrNoConversation
	}
	c, err := a.findConversation(ctx, id)
	if err != nil {
		return c, nil, err
	}
	turns, err := a.conversations.Turns(ctx, c.ID, conversation.TurnQuery{})
	for i := range turns {
		if turns[i].Status == conversation.Running && processGone(turns[i]) {
			turns[i].Status = conversation.Interrupted
		}
	}
	return c, turns, err
}

func (a *App) findConversation(ctx context.Context, id string) (Conversation, error) {
	if id == "" {
		c, err := a.conversations.Last(ctx)
		if errors.Is(err, conversation.ErrNone) {
			err = ErrNoConversation
		}
		return c, err
	}
	c, err := a.conversations.Get(ctx, id)
	if errors.Is(err, conversation.ErrUnknown) {
		return c, a.unknownConversation(ctx, id)
	}
	return c, err
}

// unknownConversation explains that a conversation does not exist, with the nearest that does.
func (a *App) unknownConversation(ctx context.Context, id string) error {
	list, err := a.Conversations(ctx, 0)
	if err != nil {
		return err
	}
	ids := make([]string, len(list))
	for i, c := range list {
		ids[i] = c.ID
	}
	none := "there is none in this workspace; begin one with: llama-agent continue --new GOAL"
	return fmt.Errorf("there is no conversation %q; %s", id, instead(id, ids, "list-conversations", none))
}

// TurnTask is a task for [App.Continue].
type TurnTask struct {
	Goal         string
	Conversation string // ID; empty: the last one, or a new one when there is none
	New          bool   // begin a conversation, with the ID if there is one
	Tools        []string
	Skill        string // skill whose instructions the model follows, by its tool's name; empty: none
	Attach       []string
	Observe      func(Event)
}

// Continue does a task as the next turn of a conversation. See [App.Run] for the report and the errors.
//
// Nothing is stored before the model is loaded, so that a turn that cannot begin leaves nothing behind.
func (a *App) Continue(ctx context.Context, t TurnTask) (*Report, error) {
	if strings.TrimSpace(t.Goal) == "" {
		return nil, agent.ErrEmptyGoal
	}
	if t.Tools != nil {
		if _, err := a.tools.Only(t.Tools...); err != nil {
			return nil, err
		}
	}
	if err := a.needConversations(ctx); err != nil {
		return nil, err
	}
	id, exists, err := a.chooseConversation(ctx, t)
	if err != nil {
		return nil, err
	}
	if exists {
		if err := a.freeConversation(ctx, id); err != nil {
			return nil, err
		}
	}
	facts, err := a.facts(ctx, id, t.Goal, t.Attach)
	if err != nil {
		return nil, err
	}
	if err := a.LoadModel(ctx); err != nil {
		return nil, err
	}
	if !exists {
		if id, err = a.createConversation(ctx, id); err != nil {
			return nil, err
		}
	}
	earlier, err := a.earlierTurns(ctx, id)
	if err != nil {
		return nil, err
	}
	background, events := a.runner.Project(ctx, id, t.Goal, earlier)
	thread, err := a.runner.NewThread(ctx)
	if err != nil {
		return nil, err
	}
	turn, err := a.conversations.Begin(ctx, id, thread, t.Goal, ownProcess())
	if err != nil {
		return nil, a.conversationError(ctx, id, err)
	}
	observe, end := a.recorded(t.Observe)
	defer end()
	report, err := a.runner.Run(ctx, agent.Task{
		Goal: t.Goal, Thread: thread, Tools: t.Tools, Skill: t.Skill, Facts: facts, Labels: map[string]string{"conversation": id},
		Owner: id, Turn: turn.Number, Background: background, Events: events, Observe: observe,
	})
	report = a.complete(report)
	return report, errors.Join(err, a.finishTurn(ctx, turn, report))
}

// chooseConversation returns the ID of the conversation that a turn is for, and whether it exists. One that does not is still to be
// created, and may have no ID yet.
func (a *App) chooseConversation(ctx context.Context, t TurnTask) (id string, exists bool, err error) {
	if !t.New {
		c, err := a.findConversation(ctx, t.Conversation)
		if err == nil || !errors.Is(err, ErrNoConversation) {
			return c.ID, true, err
		}
		return "", false, nil
	}
	if t.Conversation == "" {
		return "", false, nil
	}
	if err := conversation.CheckID(t.Conversation); err != nil {
		return "", false, fmt.Errorf("beginning a conversation: %w", err)
	}
	if _, err := a.conversations.Get(ctx, t.Conversation); !errors.Is(err, conversation.ErrUnknown) {
		return "", false, cmp.Or(err, conversationExists(t.Conversation))
	}
	return t.Conversation, false, nil
}

func conversationExists(id string) error {
	return fmt.Errorf("the conversation %s exists already; leave --new out to continue it, or choose another ID", id)
}

// createConversation creates a conversation, with a new ID for an empty one.
func (a *App) createConversation(ctx context.Context, id string) (string, error) {
	c, err := a.conversations.Create(ctx, id)
	if errors.Is(err, conversation.ErrExists) {
		return "", conversationExists(id)
	}
	return c.ID, err
}

// InUseError says that a conversation can't have another turn while one is running.
type InUseError struct {
	Conversation string
	Turn         int // the number of the one that is running
}

// What is the message without advice.
func (e *InUseError) What() string {
	return fmt.Sprintf("the conversation %s is in use: its turn %d is still running", e.Conversation, e.Turn)
}

func (e *InUseError) Error() string {
	return e.What() + "; wait for it, or begin another with --new"
}

// freeConversation refuses a conversation that a living process uses, and settles the turn of a process that has ended.
func (a *App) freeConversation(ctx context.Context, id string) error {
	running, err := a.runningTurn(ctx, id)
	if err != nil || running == nil {
		return err
	}
	if !processGone(*running) {
		return a.conversationError(ctx, id, &conversation.RunningError{Turn: *running})
	}
	return a.settleTurn(ctx, *running)
}

// settleTurn ends a turn whose process has ended. When its task had come to its end by then, its answer is the turn's.
func (a *App) settleTurn(ctx context.Context, turn Turn) error {
	if turn.Status == conversation.Running {
		if err := a.conversations.Interrupt(ctx, turn.Thread, turn.Process); err != nil {
			return err
		}
	}
	info, err := a.Thread(ctx, turn.Thread)
	if err != nil || info.Status != agent.StatusDone && info.Status != agent.StatusFailed {
		return nil //nolint:nilerr // a task that is gone or cannot be read has no answer to keep, and whoever resumes it is told
	}
	report, err := a.lists.Resume(ctx, turn.Thread, ResumeOptions{}) // it has ended, so that it is only read
	if err != nil || report == nil {
		return err
	}
	return a.finishTurn(ctx, turn, a.complete(report))
}

func (a *App) conversationError(ctx context.Context, id string, err error) error {
	if running, ok := errors.AsType[*conversation.RunningError](err); ok {
		return &InUseError{Conversation: id, Turn: running.Turn.Number}
	}
	if errors.Is(err, conversation.ErrUnknown) {
		return a.unknownConversation(ctx, id)
	}
	return err
}

// earlierTurns are the turns of a conversation as the model can see them, the oldest first. Those that have ended can be recalled then,
// also when the store of records was lost meanwhile.
func (a *App) earlierTurns(ctx context.Context, id string) ([]agent.Turn, error) {
	turns, err := a.conversations.Turns(ctx, id, conversation.TurnQuery{})
	if err != nil {
		return nil, err
	}
	all, ended := make([]agent.Turn, 0, len(turns)), make([]agent.Turn, 0, len(turns))
	for _, t := range turns {
		seen := turnSeen(t)
		all = append(all, seen)
		if answered(t.Status) {
			ended = append(ended, seen)
		}
	}
	if err := a.runner.RememberMissing(ctx, id, ended); err != nil {
		a.options.Logger.Warn("storing turns for later", "conversation", id, "error", err)
	}
	return all, nil
}

// turnSeen is a turn as the model can see it.
func turnSeen(t Turn) agent.Turn {
	seen := agent.Turn{}
	if len(t.Transcript) > 0 {
		if err := json.Unmarshal(t.Transcript, &seen); err != nil {
			seen = agent.Turn{} // another version wrote it: what was said is known all the same
		}
	}
	if seen.Goal != t.Goal || seen.Answer != t.Answer {
		seen.Tokens = 0
	}
	seen.Number, seen.Goal, seen.Answer = t.Number, t.Goal, t.Answer
	return seen
}

// answered reports whether a turn is over, so that later ones can recall it.
func answered(s conversation.Status) bool { return s == conversation.Done || s == conversation.Failed }

// finishTurn stores how a turn ended, and lets later turns recall it. A turn that could not begin is taken back. It works also when ctx
// has ended.
func (a *App) finishTurn(ctx context.Context, turn Turn, report *Report) error {
	ctx = context.WithoutCancel(ctx)
	if report == nil {
		if _, err := a.Thread(ctx, turn.Thread); err == nil {
			return a.conversations.Interrupt(ctx, turn.Thread, turn.Process) // its state is stored, so that it can be resumed
		}
		return errors.Join(a.conversations.Interrupt(ctx, turn.Thread, turn.Process), a.conversations.Drop(ctx, turn.Thread))
	}
	report.ConversationID = turn.Conversation
	outcome := conversation.Outcome{Answer: report.Answer, Process: ownProcess()}
	switch report.Status {
	case agent.StatusDone:
		outcome.Status = conversation.Done
	case agent.StatusInterrupted:
		outcome.Status = conversation.Interrupted
	default:
		outcome.Status = conversation.Failed
	}
	if report.Error != nil {
		outcome.Error = report.Error.Error()
	}
	done, err := a.runner.Turn(ctx, turn.Thread)
	if err == nil {
		done.Number, done.Answer = turn.Number, report.Answer
		outcome.Transcript, err = json.Marshal(done)
	}
	if err = errors.Join(err, a.conversations.Finish(ctx, turn.Thread, outcome)); err == nil && answered(outcome.Status) {
		a.rememberTurn(ctx, turn.Thread)
	}
	return err
}

// rememberTurn lets later turns recall one that has ended. What fails is made good by [App.earlierTurns].
func (a *App) rememberTurn(ctx context.Context, thread string) {
	turn, err := a.conversations.ByThread(ctx, thread)
	if err == nil {
		err = a.runner.Remember(ctx, turn.Conversation, turnSeen(turn))
	}
	if err != nil {
		a.options.Logger.Warn("storing a turn for later", "thread", thread, "error", err)
	}
}

// turnOfThread is the turn that a task is, or nil when it stands alone.
func (a *App) turnOfThread(ctx context.Context, thread string) (*Turn, error) {
	if a.conversations == nil {
		return nil, nil //nolint:nilnil // standing alone is no error
	}
	turn, err := a.conversations.ByThread(ctx, thread)
	if errors.Is(err, conversation.ErrUnknown) {
		return nil, nil //nolint:nilnil // as above
	}
	return &turn, err
}

// checkReopening refuses to take up a turn that is done: what was said stays said.
func checkReopening(turn Turn) error {
	if turn.Status != conversation.Done {
		return nil
	}
	return fmt.Errorf("thread %s is turn %d of conversation %s, which is done and stays as it is; make a copy to take it up again: llama-agent copy-thread %s NAME",
		turn.Thread, turn.Number, turn.Conversation, turn.Thread)
}

// reopenTurn marks the turn that a task is as running again.
func (a *App) reopenTurn(ctx context.Context, turn Turn) error {
	if turn.Status == conversation.Running {
		if !processGone(turn) {
			return a.conversationError(ctx, turn.Conversation, &conversation.RunningError{Turn: turn})
		}
		if err := a.conversations.Interrupt(ctx, turn.Thread, turn.Process); err != nil {
			return err
		}
	} else if err := a.freeConversation(ctx, turn.Conversation); err != nil {
		return err
	}
	_, err := a.conversations.Reopen(ctx, turn.Thread, ownProcess())
	return a.conversationError(ctx, turn.Conversation, err)
}

// closeTurn ends a turn that was reopened as it was before, because its task did not go on. It works also when ctx has ended.
func (a *App) closeTurn(ctx context.Context, was Turn) error {
	outcome := conversation.Outcome{
		Status: was.Status, Answer: was.Answer, Error: was.Error, Transcript: was.Transcript, Process: ownProcess(),
	}
	if was.Status == conversation.Running {
		outcome.Status = conversation.Interrupted // by the end of its process
	}
	return a.conversations.Finish(context.WithoutCancel(ctx), was.Thread, outcome)
}

// dropTurn takes a deleted task out of its conversation, unless it is done: what was said stays.
func (a *App) dropTurn(ctx context.Context, thread string) error {
	turn, err := a.turnOfThread(ctx, thread)
	if err != nil || turn == nil || turn.Status == conversation.Done {
		return err
	}
	if turn.Status == conversation.Running {
		if err := a.conversations.Interrupt(ctx, thread, turn.Process); err != nil {
			return err
		}
	}
	return errors.Join(a.conversations.Drop(ctx, thread), a.dropRecordsOfTurn(ctx, *turn))
}

// DeletedConversation is a conversation that [App.DeleteConversations] removed.
type DeletedConversation struct {
	Conversation string `json:"conversation_id"`
	Turns        int    `json:"turns"`
}

// DeleteConversations removes conversations with all that is stored of them. When one of them doesn't exist, none is removed. One that
// is in use stays, and ends the deleting; what was removed until then is returned with the error.
func (a *App) DeleteConversations(ctx context.Context, ids ...string) ([]DeletedConversation, error) {
	done := []DeletedConversation{}
	for _, id := range ids {
		if id == "" {
			return done, a.unknownConversation(ctx, id)
		}
		if _, _, err := a.Conversation(ctx, id); err != nil {
			return done, err
		}
	}
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			continue
		}
		if err := a.freeConversation(ctx, id); err != nil {
			return done, err
		}
		_, turns, err := a.Conversation(ctx, id)
		if err != nil {
			return done, err
		}
		for _, t := range turns {
			if _, err := a.Thread(ctx, t.Thread); err != nil {
				continue // the task was deleted before
			}
			if _, err := a.Delete(ctx, t.Thread); err != nil {
				return done, err
			}
		}
		if err := errors.Join(a.dropArtifacts(ctx, id), a.dropRecords(ctx, id), a.conversations.Delete(ctx, id)); err != nil {
			return done, fmt.Errorf("deleting conversation %s: %w", id, err)
		}
		done = append(done, DeletedConversation{id, len(turns)})
	}
	return done, nil
}
