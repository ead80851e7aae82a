package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/artifacts"
	"github.com/llama-agent/llama-agent/config"
	"github.com/llama-agent/llama-agent/conversation"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/tools"
)

// openArtifacts opens the store of large results when results go there, or when there is one to look into.
func (a *App) openArtifacts(ctx context.Context) error {
	c := a.options.Config
	dir := c.Tools.Artifact.StorageDir
	_, err := os.Stat(dir)
	missing := errors.Is(err, fs.ErrNotExist)
	if missing && (a.options.Existing || !c.Memory.ArtifactVirtualization) {
		return nil
	}
	if missing {
		if err := makeFolder(filepath.Dir(dir)); err != nil {
			return fmt.Errorf("making the folder of stored results: %w; choose another place with tools.artifact.storage_dir", err)
		}
	}
	store, err := artifacts.Open(ctx, dir, artifacts.Options{
		MaxBytes: c.Tools.Artifact.MaxBytes, MaxAge: time.Duration(c.Tools.Artifact.MaxAgeDays) * 24 * time.Hour, Live: a.holdsArtifacts,
	})
	if err != nil {
		return err
	}
	a.artifacts = store
	a.closers = append(a.closers, store.Close)
	return nil
}

// holdsArtifacts reports whether a task or conversation still exists, and so may refer to its artifacts.
func (a *App) holdsArtifacts(ctx context.Context, owner, _ string) (bool, error) {
	if a.conversations != nil {
		if _, err := a.conversations.Get(ctx, owner); !errors.Is(err, conversation.ErrUnknown) {
			return err == nil, err
		}
	}
	for _, err := range a.saver.List(ctx, checkpoint.Query{Thread: owner, Limit: 1}) {
		if err != nil && !errors.Is(err, checkpoint.ErrDamaged) {
			return false, err
		}
		return true, nil
	}
	return false, nil
}

// archive is what the agent stores large results with: nil when they stay in the prompt.
func (a *App) archive() agent.Archive {
	m := a.options.Config.Memory
	if !m.ArtifactVirtualization || a.artifacts == nil {
		return nil
	}
	return &tools.Virtualizer{
		Store: a.artifacts, InlineMaxBytes: m.ArtifactInlineMaxBytes,
		Limits: artifacts.Limits{PreviewChars: m.ArtifactPreviewChars, SummaryChars: m.ArtifactSummaryChars},
	}
}

// artifactTools look into stored results. Without a store they can be described only.
func artifactTools(c *config.Config, store *artifacts.Store) []tools.Tool {
	return tools.Artifacts(tools.ArtifactOptions{
		Store: store, Owner: agent.Owner, MaxRetrieveBytes: c.Tools.Artifact.MaxRetrieveBytes,
		MaxMatches: c.Tools.Artifact.MaxSearchMatches, PreviewChars: c.Memory.ArtifactPreviewChars,
	})
}

// artifactsOff says why the tools about stored results are of no use.
func artifactsOff(c *config.Config) string {
	if !c.Memory.ArtifactVirtualization {
		return "memory.artifact_virtualization is off"
	}
	return ""
}

// Artifacts lists the stored results of a task or conversation, or of all, the last used first. A limit of 0 lists all.
func (a *App) Artifacts(ctx context.Context, thread string, limit int) ([]artifacts.Artifact, error) {
	list := []artifacts.Artifact{}
	if a.artifacts == nil {
		return list, nil
	}
	owners := []string{thread}
	if thread == "" {
		all, err := a.artifacts.Owners(ctx)
		if err != nil {
			return nil, err
		}
		owners = owners[:0]
		for _, o := range all {
			owners = append(owners, o.Owner)
		}
	} else if _, err := a.Thread(ctx, thread); err != nil {
		if _, _, unknown := a.Conversation(ctx, thread); unknown != nil {
			return nil, err
		}
	}
	for _, owner := range owners {
		more, err := a.artifacts.List(ctx, owner, 0)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	slices.SortStableFunc(list, func(x, y artifacts.Artifact) int { return y.Used.Compare(x.Used) })
	if limit > 0 {
		list = list[:min(limit, len(list))]
	}
	return list, nil
}

// Artifact returns a stored result of any task, by its reference, with or without "artifact://".
func (a *App) Artifact(ctx context.Context, ref string) (artifacts.Artifact, []byte, error) {
	list, err := a.Artifacts(ctx, "", 0)
	if err != nil {
		return artifacts.Artifact{}, nil, err
	}
	const scheme = "artifact://"
	for _, found := range list {
		if strings.TrimPrefix(found.Ref, scheme) == strings.TrimPrefix(ref, scheme) {
			return a.artifacts.Content(ctx, found.Owner, found.Ref)
		}
	}
	return artifacts.Artifact{}, nil, fmt.Errorf("there is no stored result %q; list them with: llama-agent artifacts list", ref)
}

// CollectArtifacts removes what crashes left behind, stored results of tasks that are gone, and while the size limit is exceeded
// more of these.
func (a *App) CollectArtifacts(ctx context.Context) (artifacts.Collection, error) {
	if a.artifacts == nil {
		return artifacts.Collection{Removed: []artifacts.Removed{}}, nil
	}
	return a.artifacts.GC(ctx)
}

// dropArtifacts removes the stored results of a deleted task.
func (a *App) dropArtifacts(ctx context.Context, thread string) error {
	if a.artifacts == nil {
		return nil
	}
	_, err := a.artifacts.RemoveOwner(ctx, thread)
	return err
}

// copyArtifacts gives a copy of a task its stored results.
func (a *App) copyArtifacts(ctx context.Context, from, to string) error {
	if a.artifacts == nil {
		return nil
	}
	_, err := a.artifacts.Copy(ctx, from, to)
	return err
}
