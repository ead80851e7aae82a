package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/config"
	"github.com/llama-agent/llama-agent/lifecycle"
	"github.com/llama-agent/llama-agent/tools"
)

// Memory is something that the user asked to remember.
type Memory = lifecycle.Memory

// openMemory opens the store of memories when the lifecycle context is on, or when there is one to look into.
func (a *App) openMemory(ctx context.Context) error {
	c := a.options.Config
	path := c.Memory.ContextStorePath
	_, err := os.Stat(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if missing && (a.options.Existing || !c.Memory.LifecycleContext) && !a.options.Memory {
		return nil
	}
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return fmt.Errorf("making the folder of the database of memories: %w; choose another place with memory.context_store_path", err)
	}
	store, err := lifecycle.Open(ctx, path, lifecycle.Options{})
	if err != nil {
		return err
	}
	a.memory = store
	a.closers = append(a.closers, store.Close)
	return nil
}

// lifecycle is how the agent keeps long histories small: nil when it does not.
func (a *App) lifecycle() *agent.Lifecycle {
	m := a.options.Config.Memory
	if !m.LifecycleContext || a.memory == nil {
		return nil
	}
	return &agent.Lifecycle{
		Records: a.memory, BudgetTokens: m.ContextBudgetTokens, TriggerRatio: m.ContextTriggerRatio, TriggerTokens: m.SummaryTriggerTokens,
		ReservedTokens: m.ContextReservedGenerationTokens, MinCompactionBytes: int(m.ContextMinCompactionBytes),
		MinCompactionRatio: m.ContextMinCompactionRatio, HotRecords: m.HotExecutionRecords, HotTurns: m.HotConversationTurns,
		HotNotes: m.HotReflectionNotes, SummaryChars: m.SummaryTargetChars, ActivationTokens: m.ContextActivationTokens,
		RecallRecords: m.ContextRetrievalTopK, RecallTokens: m.ContextRetrievalTokenBudget, CompactsCheckpoints: m.CheckpointCompaction,
	}
}

// memoryTools remember and recall. Without a store they can be described only.
func memoryTools(store *lifecycle.Store) []tools.Tool {
	alone := func(ctx context.Context) bool { return !agent.InConversation(ctx) } // nobody else would ever see it
	return tools.Memory(tools.MemoryOptions{Store: store, Owner: agent.Owner, Shared: alone})
}

// memoryOff says why the tools about memories are of no use.
func memoryOff(c *config.Config) string {
	if !c.Memory.LifecycleContext {
		return "memory.lifecycle_context is off"
	}
	return ""
}

// everybody owns the memories that all conversations and tasks of a workspace share.
const everybody = ""

// remembered are the explicit memories that a task of an owner sees, one line each.
func (a *App) remembered(ctx context.Context, owner string) ([]string, error) {
	if a.memory == nil || !a.options.Config.Memory.LifecycleContext {
		return nil, nil
	}
	list, err := a.memory.Memories(ctx, everybody, owner)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, m := range list {
		lines = append(lines, m.Key+": "+m.Value)
	}
	return lines, nil
}

// Memories lists what is remembered for an owner, a conversation or a task; empty: for all. With all, those of all owners.
func (a *App) Memories(ctx context.Context, owner string, all bool) ([]Memory, error) {
	list := []Memory{}
	if a.memory == nil {
		return list, nil
	}
	owners := []string{owner}
	if all {
		all, err := a.memory.Owners(ctx)
		if err != nil {
			return nil, err
		}
		owners = owners[:0]
		for _, o := range all {
			owners = append(owners, o.Owner)
		}
	}
	for _, o := range owners {
		more, err := a.memory.Memories(ctx, o)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

// AddMemory remembers a value under a key, and returns the memory that it replaces, if any.
func (a *App) AddMemory(ctx context.Context, owner, key, value string) (Memory, *Memory, error) {
	if a.memory == nil {
		return Memory{}, nil, errors.New("there is no store of memories")
	}
	return a.memory.Remember(ctx, owner, key, value)
}

// ForgetMemory removes what is remembered under a key.
func (a *App) ForgetMemory(ctx context.Context, owner, key string) error {
	unknown := func(keys []string) error {
		fix := "nothing is remembered"
		if near := config.Nearest(key, keys); near != "" {
			fix = fmt.Sprintf("did you mean %q?", near)
		} else if len(keys) > 0 {
			fix = "see llama-agent memory list"
		}
		return fmt.Errorf("nothing is remembered as %q; %s", key, fix)
	}
	if a.memory == nil {
		return unknown(nil)
	}
	_, err := a.memory.Forget(ctx, owner, key)
	if !errors.Is(err, lifecycle.ErrUnknown) {
		return err
	}
	list, err := a.memory.Memories(ctx, owner)
	if err != nil {
		return err
	}
	var keys []string
	for _, m := range list {
		keys = append(keys, m.Key)
	}
	return unknown(keys)
}

// dropRecords removes what is remembered of a deleted task that stood alone.
func (a *App) dropRecords(ctx context.Context, thread string) error {
	if a.memory == nil {
		return nil
	}
	_, err := a.memory.Remove(ctx, thread)
	return err
}

// dropRecordsOfTurn removes what later turns could recall of a turn that was taken out of its conversation.
func (a *App) dropRecordsOfTurn(ctx context.Context, turn Turn) error {
	if a.memory == nil {
		return nil
	}
	kinds := slices.DeleteFunc(lifecycle.Kinds(), func(k lifecycle.Kind) bool { return k == lifecycle.KindMemory })
	records, err := a.memory.List(ctx, turn.Conversation, lifecycle.ListOptions{Kinds: kinds})
	if err != nil {
		return err
	}
	for _, r := range records {
		if r.Order != int64(turn.Number) {
			continue
		}
		if err := a.memory.RemoveRecord(ctx, turn.Conversation, r.Ref); err != nil {
			return err
		}
	}
	return nil
}

// copyRecords gives a copy of a task its records.
func (a *App) copyRecords(ctx context.Context, from, to string) error {
	if a.memory == nil {
		return nil
	}
	_, err := a.memory.Copy(ctx, from, to)
	return err
}
