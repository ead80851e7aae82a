package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRecordsComeBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "results.jsonl")
	require.NoError(t, os.WriteFile(path, []byte("of an earlier run\n"), 0o600))
	r, err := newResults(path)
	require.NoError(t, err)
	one := task(nodeLlama, trunk, 12.5, 7, 1, 2)
	one.Faults, one.Answer, one.PeakRSSBytes = []string{"the answer lacks \"x\""}, "line\nline", 5
	with := one
	with.Results = []string{"long"}
	require.NoError(t, r.add(with))
	require.NoError(t, r.add(record{Kind: kindKill, System: own, Layout: ownLayout, Error: "gone"}))
	require.NoError(t, r.close())

	list, err := readRecords(path)
	require.NoError(t, err)
	require.Equal(t, []record{one, {Kind: kindKill, System: own, Layout: ownLayout, Error: "gone"}}, list)
}

func TestRecordsOfARunThatWasStopped(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "results.jsonl")
	require.NoError(t, os.WriteFile(path, []byte("{\"kind\":\"task\"}\n{\"kind\":\"ta"), 0o600))
	list, err := readRecords(path)
	require.NoError(t, err)
	require.Len(t, list, 1)

	require.NoError(t, os.WriteFile(path, []byte("{\"kind\":\"task\"}\n{\"kind\":\n"), 0o600))
	_, err = readRecords(path)
	require.ErrorContains(t, err, "results.jsonl:2: ")

	_, err = readRecords(filepath.Join(filepath.Dir(path), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
