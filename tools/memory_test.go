package tools

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/lifecycle"
)

// memoryTools is a registry of the memory tools over a new store.
func memoryTools(t testing.TB, options MemoryOptions) (*Registry, *lifecycle.Store) {
	t.Helper()
	store, err := lifecycle.Open(context.Background(), filepath.Join(t.TempDir(), "memory.sqlite"), lifecycle.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	options.Store = store
	options.Owner = func(ctx context.Context) string {
		owner, _ := ctx.Value(ownerKey{}).(string)
		return owner
	}
	r, err := NewRegistry(Memory(options)...)
	require.NoError(t, err)
	return r, store
}

func storeRecord(t testing.TB, s *lifecycle.Store, owner, name, text, summary string) lifecycle.Record {
	t.Helper()
	r, err := s.Put(context.Background(), lifecycle.Record{
		Owner: owner, Kind: lifecycle.KindEvidence, Key: fmt.Sprintf("%x", sha256.Sum256([]byte(name+text))), Name: name, Text: text, Summary: summary, Importance: 0.5,
	})
	require.NoError(t, err)
	return r
}

func rememberAs(t testing.TB, r *Registry, owner, key, value string) Result {
	t.Helper()
	return mustCallAs(t, r, owner, "remember", map[string]any{"key": key, "value": value})
}

func recallAs(t testing.TB, r *Registry, owner, query string) string {
	t.Helper()
	return mustCallAs(t, r, owner, "recall_memory", map[string]any{"query": query}).Text
}

func recallError(t testing.TB, r *Registry, owner, query string) *Error {
	t.Helper()
	result, err := callAs(t, r, owner, "recall_memory", map[string]any{"query": query})
	require.Zero(t, result)
	var problem *Error
	require.ErrorAs(t, err, &problem)
	return problem
}

func TestMemoryToolsAreDescribed(t *testing.T) {
	t.Parallel()
	r, _ := memoryTools(t, MemoryOptions{})
	require.Equal(t, []string{"remember", "recall_memory"}, r.Names())
	for _, spec := range r.Specs() {
		require.Equal(t, spec.Name == "recall_memory", spec.ReadOnly)
		require.Equal(t, []Subject{map[string]Subject{"remember": SubjectFact, "recall_memory": SubjectMemory}[spec.Name]}, spec.Takes)
		require.Empty(t, spec.Path)
		require.Less(t, len(spec.Description), 100)
		require.Equal(t, spec.Parameters.PropertyOrder, spec.Essential().PropertyOrder)
	}
}

func TestRemember(t *testing.T) {
	t.Parallel()
	r, s := memoryTools(t, MemoryOptions{})
	require.Equal(t, "Remembered my dog: Rex", rememberAs(t, r, "me", "my dog", "Rex").Text)
	require.Equal(t, "Remembered my dog: Rex", rememberAs(t, r, "me", "my dog", "Rex").Text)
	result := rememberAs(t, r, "me", "My Dog", "Bruno")
	require.Equal(t, "Remembered My Dog: Bruno\n[before it was: Rex]", result.Text)
	history, err := s.MemoryHistory(t.Context(), "me", "my dog")
	require.NoError(t, err)
	require.Len(t, history, 2, "what was said twice is there once")
	data, err := json.Marshal(result.Data)
	require.NoError(t, err)
	require.Contains(t, string(data), fmt.Sprintf(`"ref":%q,"owner":"me","key":"My Dog","value":"Bruno"`, history[1].Ref))
	require.Contains(t, string(data), `"before":"Rex"`)

	for says, args := range map[string]map[string]any{
		"the key is empty":              {"key": " ", "value": "v"},
		"the key holds a line end":      {"key": "a\nb", "value": "v"},
		"the value is empty":            {"key": "k", "value": "\n"},
		`argument "key" has 81`:         {"key": strings.Repeat("狗", 81), "value": "v"},
		`argument "value" has 2001`:     {"key": "k", "value": strings.Repeat("狗", 2001)},
		`argument "value" is missing`:   {"key": "k"},
		`there is no argument "owner" `: {"key": "k", "value": "v", "owner": ""},
	} {
		_, err := callAs(t, r, "me", "remember", args)
		var problem *Error
		require.ErrorAs(t, err, &problem)
		require.Equal(t, KindInvalidArguments, problem.Kind)
		require.ErrorContains(t, err, strings.TrimSpace(says))
	}
	_, err = callAs(t, r, "", "remember", map[string]any{"key": "k", "value": "v"})
	require.ErrorContains(t, err, "there is no conversation to remember this for")
	require.NoError(t, s.Close())
	_, err = callAs(t, r, "me", "remember", map[string]any{"key": "k", "value": "v"})
	require.ErrorContains(t, err, "remembering: ")
}

// What is remembered for everybody is everybody's, unless a conversation has its own value.
func TestRememberForEverybody(t *testing.T) {
	t.Parallel()
	shared, s := memoryTools(t, MemoryOptions{Shared: func(context.Context) bool { return true }})
	rememberAs(t, shared, "me", "dog", "Rex")
	require.Contains(t, recallAs(t, shared, "you", "dog"), "dog: Rex")
	require.Contains(t, recallAs(t, shared, "", "dog"), "dog: Rex")

	own, err := NewRegistry(Memory(MemoryOptions{Store: s, Owner: func(context.Context) string { return "me" }})...)
	require.NoError(t, err)
	require.Equal(t, "Remembered dog: Bruno\n[before it was: Rex]", rememberAs(t, own, "", "dog", "Bruno").Text)
	require.Contains(t, recallAs(t, shared, "you", "dog"), "dog: Rex")
	require.NotContains(t, recallAs(t, shared, "me", "dog"), "Rex")

	require.Equal(t, "Remembered dog: Max\n[before it was: Bruno]", rememberAs(t, shared, "me", "dog", "Max").Text)
	require.Contains(t, recallAs(t, shared, "me", "dog"), "dog: Max", "it counts at once")
	require.Equal(t, "Remembered dog: Ben\n[before it was: Rex]", rememberAs(t, shared, "you", "dog", "Ben").Text)
	require.Contains(t, recallAs(t, shared, "me", "dog"), "dog: Max")
}

func TestRecallByWords(t *testing.T) {
	t.Parallel()
	r, s := memoryTools(t, MemoryOptions{MaxHits: 3})
	short := storeRecord(t, s, "me", "read_file dog.txt", "The dog\nbarks at night.", "unused")
	require.Equal(t, short.Ref+" evidence (read_file dog.txt): The dog barks at night.", recallAs(t, r, "me", "what does the dog do?"))
	rememberAs(t, r, "me", "dog", "Bruno")
	m, err := s.Memories(t.Context(), "me")
	require.NoError(t, err)
	long := storeRecord(t, s, "me", "", "dog dog dog "+strings.Repeat("more text ", 50), "a summary\nof the dog")
	require.Equal(t, m[0].Ref+" dog: Bruno\n"+short.Ref+" evidence (read_file dog.txt): The dog barks at night.\n"+long.Ref+" evidence: a summary of the dog\n"+
		"[to read one whole: recall_memory with its reference as the query]", recallAs(t, r, "me", "dog"))
	for i := range 5 {
		storeRecord(t, s, "me", "", fmt.Sprintf("dog number %d", i), "")
	}
	data := mustCallAs(t, r, "me", "recall_memory", map[string]any{"query": "dog"}).Data.(Recalled)
	require.Len(t, data.Records, 3)
	require.Equal(t, lifecycle.KindMemory, data.Records[0].Kind)
	rememberAs(t, r, "me", "我的猫", "叫咪咪")
	require.Contains(t, recallAs(t, r, "me", "咪咪是谁"), "我的猫: 叫咪咪", "by pairs")
	require.Contains(t, recallAs(t, r, "me", "猫是什么名字？"), "我的猫: 叫咪咪", "by one character")

	problem := recallError(t, r, "me", "elephant")
	require.Equal(t, KindNotFound, problem.Kind)
	require.Equal(t, `nothing that was remembered or said earlier matches "elephant"; what is remembered: "dog", "我的猫"`, problem.Error())
	require.Equal(t, map[string]any{"keys": []string{"dog", "我的猫"}}, problem.Data)
	require.Equal(t, `nothing that was remembered or said earlier matches "dog"; nothing is remembered`, recallError(t, r, "you", "dog").Error())
	for i := range 30 {
		rememberAs(t, r, "me", fmt.Sprintf("key %d", i), "x")
	}
	require.Contains(t, recallError(t, r, "me", "elephant").Error(), `"key 29" and 12 older`)
}

func TestRecallByReference(t *testing.T) {
	t.Parallel()
	r, s := memoryTools(t, MemoryOptions{MaxChars: 1000})
	a := storeRecord(t, s, "me", "read_file a.txt", "one\ntwo \x1b[31m\xff\n", "")
	want := a.Ref + ", evidence (read_file a.txt), 15 bytes:\none\ntwo ␛[31m\\xFF\n"
	id := strings.TrimPrefix(a.Ref, "memory://")
	for _, written := range []string{
		a.Ref, id, strings.ToUpper(a.Ref), " " + a.Ref + "\n", `"` + a.Ref + `"`, "<" + a.Ref + ">", "`" + a.Ref + "`.", "[" + a.Ref + "]:", "(" + id + ").",
		"please read " + a.Ref + ", whole", "İİ " + a.Ref, "Memory://" + id,
	} {
		require.Equal(t, want, recallAs(t, r, "me", written), written)
	}
	data := mustCallAs(t, r, "me", "recall_memory", map[string]any{"query": a.Ref}).Data.(Recalled)
	require.Equal(t, []RecalledRecord{{Ref: a.Ref, Kind: lifecycle.KindEvidence, Name: "read_file a.txt", Text: "one\ntwo \x1b[31m\\xFF\n", Bytes: 15, Whole: true}}, data.Records)

	long := storeRecord(t, s, "me", "", strings.Repeat("汉字 line\n", 200), "")
	text := recallAs(t, r, "me", long.Ref)
	require.True(t, strings.HasSuffix(text, "汉字 line\n[901 more bytes left out]"), text)
	require.Less(t, len([]rune(text)), 1100)
	data = mustCallAs(t, r, "me", "recall_memory", map[string]any{"query": long.Ref}).Data.(Recalled)
	require.False(t, data.Records[0].Whole)

	result := mustCallAs(t, r, "me", "recall_memory", map[string]any{"query": long.Ref})
	virtual, artifact, err := (&Virtualizer{InlineMaxBytes: 10}).Apply(t.Context(), "me", "recall_memory", nil, "", result)
	require.NoError(t, err)
	require.Nil(t, artifact, "it is not stored again")
	require.Equal(t, result, virtual)
}

// Whether somebody else has a record cannot be told from any answer.
func TestForeignMemoriesAreUnknown(t *testing.T) {
	t.Parallel()
	r, s := memoryTools(t, MemoryOptions{})
	theirs := storeRecord(t, s, "them", "read_file secret.txt", "a secret", "")
	rememberAs(t, r, "them", "secret", "42")
	for _, ref := range []string{theirs.Ref, "memory://0000000000000", "memory://", "memory://../x", "read memory://0000000000000 now"} {
		problem := recallError(t, r, "me", ref)
		require.Equal(t, KindNotFound, problem.Kind)
		require.Equal(t, fmt.Sprintf("there is no record %q; nothing is remembered", ref), problem.Error())
	}
	require.Contains(t, recallError(t, r, "me", strings.TrimPrefix(theirs.Ref, "memory://")).Error(), "nothing that was remembered or said earlier matches")
	require.Contains(t, recallError(t, r, "me", "secret").Error(), "; nothing is remembered")
	storeRecord(t, s, "me", "", "dog 0123456789abc", "")
	require.Contains(t, recallAs(t, r, "me", "0123456789abc"), "dog", "a word that could be a reference is looked for")
}

func TestMemoriesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	r, s := memoryTools(t, MemoryOptions{})
	a := storeRecord(t, s, "me", "", "a dog", "")
	rememberAs(t, r, "me", "cat", "Mimi")
	db, err := sql.Open("sqlite", s.Path())
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "UPDATE contents SET body = x'00' || substr(body, 2)")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	for _, query := range []string{a.Ref, "dog", "elephant"} {
		problem := recallError(t, r, "me", query)
		require.Equal(t, KindFailed, problem.Kind)
		require.ErrorContains(t, problem, "cannot be used: its text: its SHA-256 is another; go on without it")
		require.NotContains(t, problem.Error(), s.Path(), "a model has no use for it")
	}
	require.Equal(t, "Remembered cat: Mimi", rememberAs(t, r, "me", "cat", "Mimi").Text)
	require.Contains(t, recallAs(t, r, "me", "cat"), "cat: Mimi", "it is whole again")
	require.NoError(t, s.Close())
	require.ErrorContains(t, recallError(t, r, "me", "dog"), "recalling: ")
}

func FuzzMemoryReference(f *testing.F) {
	for _, seed := range []string{"memory://k3v9x2abqwe7t", "[K3V9X2ABQWE7T].", "İMEMORY://", "see memory://k3v9x2abqwe7t!", "\xffmemory://\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, written string) {
		ref, explicit := memoryReference(written)
		if parsed, ok := lifecycle.ParseRef(ref); ok {
			require.True(t, parsed == ref || explicit && ref == written)
		} else {
			require.True(t, ref == "" && !explicit || ref == written && explicit)
		}
		require.Equal(t, strings.ReplaceAll(string([]rune(written)), " ", ""), strings.ReplaceAll(hanApart(written), " ", ""), "only spaces are added")
	})
}
