package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/artifacts"
	"github.com/llama-agent/llama-agent/tools"
)

// archived adds a store of large results to a rig's configuration, and the tools that look into it.
func archived(t *testing.T, store *artifacts.Store) func(*agent.Config) {
	return func(c *agent.Config) {
		all := []tools.Tool{}
		for _, name := range c.Tools.Names() {
			tool, ok := c.Tools.Lookup(name)
			require.True(t, ok)
			all = append(all, tool)
		}
		registry, err := tools.NewRegistry(append(all, tools.Artifacts(tools.ArtifactOptions{Store: store, Owner: agent.Owner})...)...)
		require.NoError(t, err)
		c.Tools, c.TrustPlan = registry, true
		c.Archive = &tools.Virtualizer{Store: store, InlineMaxBytes: 2000, Limits: artifacts.DefaultLimits()}
	}
}

func openArtifacts(t *testing.T) *artifacts.Store {
	t.Helper()
	store, err := artifacts.Open(t.Context(), t.TempDir(), artifacts.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// book is a long text with one line worth finding.
func book() string {
	var b strings.Builder
	for i := range 400 {
		if i == 250 {
			b.WriteString("the key lies under the third stair\n")
		}
		fmt.Fprintf(&b, "line %d is of no interest to anybody\n", i)
	}
	return b.String()
}

func TestLargeResultsStayOutsideThePrompt(t *testing.T) {
	t.Parallel()
	store := openArtifacts(t)
	look := []reply{plan("read the book|look|book"), review("continue", "where the key is")}
	rig := func(change func(*agent.Config), script ...reply) *rig {
		r := newRig(t, change, append(slices.Clone(look), script...)...)
		r.texts["book"] = book()
		return r
	}
	inline := rig(nil, plan("stop|none"), answer("under the stair"))
	whole := inline.run("What was hidden, and below what?")
	require.Empty(t, whole.Calls[0].ArtifactID)
	require.Contains(t, inline.model.questions()[1].flat(false), "line 200 is of no interest", "without an archive nothing changes")

	first := rig(archived(t, store), plan("stop|none"), answer("nobody knows"))
	report := first.run("What was hidden, and below what?")
	ref := report.Calls[0].ArtifactID
	require.True(t, strings.HasPrefix(ref, "artifact://"), "%q", ref)
	require.NotContains(t, string(report.Calls[0].Result), "of no interest")
	require.Less(t, report.CheckpointBytes*3, whole.CheckpointBytes, "the state holds the description only")

	r := rig(archived(t, store), plan("find the key|search_artifact|"+ref), args(`{"query":"key"}`), answer("under the third stair"))
	report = r.run("What was hidden, and below what?")
	require.Equal(t, agent.StatusDone, report.Status)
	require.Equal(t, ref, report.Calls[0].ArtifactID, "the same call has the same reference in every task")
	require.Contains(t, string(report.Calls[1].Result), "under the third stair")
	require.Empty(t, report.Calls[1].ArtifactID, "what was asked for piece by piece isn't stored again")

	asked := r.model.questions()
	require.NotContains(t, schemaText(asked[0].options), "search_artifact", "nothing is stored yet")
	require.Contains(t, asked[1].flat(false), ref)
	require.NotContains(t, asked[1].flat(false), "line 200 is of no interest")
	require.Contains(t, schemaText(asked[2].options), ref)
	require.Contains(t, schemaText(asked[2].options), "search_artifact")
	requirePrefixes(t, asked)
}

func TestAnotherTaskDoesNotSeeAResult(t *testing.T) {
	t.Parallel()
	store := openArtifacts(t)
	foreign, err := store.Put(t.Context(), "somebody else", artifacts.Source{Tool: "look", ContentType: "text/plain"}, []byte("the foreign key"))
	require.NoError(t, err)
	r := newRig(t, archived(t, store), plan("peek|get_artifact_summary|"+foreign.Ref), choose("none"), review("failed"), answer("no"))
	report := r.run("What is it?")
	require.NotNil(t, report.Calls[0].Error)
	require.NotContains(t, r.model.questions()[len(r.model.questions())-1].flat(false), "the foreign key")
}

func TestResultThatCannotBeStoredStaysInThePrompt(t *testing.T) {
	t.Parallel()
	store := openArtifacts(t)
	change := archived(t, store)
	r := newRig(t, change, plan("read the book|look|book"), answer("under the third stair"))
	r.texts["book"] = book()
	require.NoError(t, store.Close())
	report := r.run("What was hidden, and below what?")
	require.Equal(t, agent.StatusDone, report.Status)
	require.Empty(t, report.Calls[0].ArtifactID)
	require.Contains(t, string(report.Calls[0].Result), "under the third stair", "nothing is lost")
	require.Len(t, report.Notes, 1)
	require.Contains(t, report.Notes[0], "stays in the prompt")
}

// A description that shows the line that was asked for needs no review, and no search.
func TestDescriptionsThatHoldTheAnswerAreTrusted(t *testing.T) {
	t.Parallel()
	r := newRig(t, archived(t, openArtifacts(t)), plan("read the book|look|book"), answer("under the third stair"))
	r.texts["book"] = book()
	report := r.run("Where lies the key?")
	require.Equal(t, agent.StatusDone, report.Status)
	require.NotEmpty(t, report.Calls[0].ArtifactID)
	require.Contains(t, r.model.questions()[1].flat(false), "251: the key lies under the third stair")
}
