package benchmark

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// writeResults writes a folder of results.
func writeResults(t *testing.T, r *Results) string {
	t.Helper()
	dir := t.TempDir()
	manifest, err := json.MarshalIndent(r.Manifest, "", "  ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, manifestFile), manifest, 0o644))
	var lines strings.Builder
	for i := range r.Samples {
		require.NoError(t, json.NewEncoder(&lines).Encode(&r.Samples[i]))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, samplesFile), []byte(lines.String()), 0o644))
	return dir
}

// edit replaces text in a file of the folder; old "" appends.
func edit(t *testing.T, dir, file, old, replacement string) {
	t.Helper()
	path := filepath.Join(dir, file)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	text := string(data) + replacement
	if old != "" {
		require.Contains(t, string(data), old)
		text = strings.Replace(string(data), old, replacement, 1)
	}
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func small() *Results {
	return resultsOf(2, sampleOf("a", "R0", 0, 100, true), sampleOf("a", "R1", 0, 50, true), sampleOf("a", "R0", 1, 100, true))
}

func TestLoadResults(t *testing.T) {
	t.Parallel()
	want := small()
	dir := writeResults(t, want)
	got, err := LoadResults(dir)
	require.NoError(t, err)
	require.Equal(t, want.Manifest, got.Manifest)
	require.Len(t, got.Samples, 3)
	require.Equal(t, 50, got.Samples[1].InputTokens)
	require.Empty(t, got.Notes)
	require.Equal(t, 1, got.incomplete())

	edit(t, dir, samplesFile, "", "\n\n")
	got, err = LoadResults(dir)
	require.NoError(t, err)
	require.Len(t, got.Samples, 3, "empty lines are nothing")

	edit(t, dir, samplesFile, "", `{"suite":"made","case_id":"a","round":"R1","repeti`)
	got, err = LoadResults(dir)
	require.NoError(t, err)
	require.Len(t, got.Samples, 3)
	require.Len(t, got.Notes, 1)
	require.Contains(t, got.Notes[0], "(line 6, 50 bytes) has no end")
}

func TestLoadResultsWithoutSamples(t *testing.T) {
	t.Parallel()
	r := small()
	r.Samples = nil
	got, err := LoadResults(writeResults(t, r))
	require.NoError(t, err)
	require.Empty(t, got.Samples)
	require.Equal(t, 4, got.incomplete())
}

func TestResultsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	manifest := func(old, replacement string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { edit(t, dir, manifestFile, old, replacement) }
	}
	samples := func(old, replacement string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { edit(t, dir, samplesFile, old, replacement) }
	}
	remove := func(file string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, file))) }
	}
	folder := func(file string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, file)))
			require.NoError(t, os.Mkdir(filepath.Join(dir, file), 0o755))
		}
	}
	for name, c := range map[string]struct {
		change func(*testing.T, string)
		file   string
		line   int
		field  string
		err    error
		parts  []string
	}{
		"no manifest":      {remove(manifestFile), manifestFile, 0, "", os.ErrNotExist, []string{"name a folder that benchmark"}},
		"no samples":       {remove(samplesFile), samplesFile, 0, "", os.ErrNotExist, []string{"go on with benchmark --resume "}},
		"a folder":         {folder(manifestFile), manifestFile, 0, "", errNoFile, []string{"name a folder that benchmark"}},
		"samples a folder": {folder(samplesFile), samplesFile, 0, "", errNoFile, []string{"check that the file can be read"}},
		"another version":  {manifest(`"schema_version": 1`, `"schema_version": 2, "cases": 7`), manifestFile, 0, "schema_version", ErrSchemaVersion, []string{"it is 2, this program reads 1", "use the llama-agent that wrote it"}},
		"no version":       {manifest(`"schema_version"`, `"version"`), manifestFile, 0, "schema_version", nil, []string{"is missing"}},
		"no JSON":          {manifest(`"run": "run-1",`, `"run": "run-1"`), manifestFile, 4, "", nil, []string{"it is no JSON"}},
		"half a manifest":  {manifest("\n  \"run\"", "\x00"), manifestFile, 2, "", nil, []string{"it is no JSON"}},
		"wrong type":       {manifest(`"measured_runs": 2`, `"measured_runs": "2"`), manifestFile, 27, "measured_runs", nil, []string{"it is a JSON string, expected is int"}},
		"no runs":          {manifest(`"measured_runs": 2`, `"measured_runs": 0`), manifestFile, 0, "measured_runs", nil, []string{"at least 1"}},
		"no cases":         {manifest("[\n    \"a\"\n  ]", "[]"), manifestFile, 0, "cases", nil, []string{"is empty"}},
		"a case twice":     {manifest(`"a"`, `"a", "a"`), manifestFile, 0, "cases", nil, []string{`has "a" twice`}},
		"a round unnamed":  {manifest(`"name": "R1"`, `"name": ""`), manifestFile, 0, "rounds", nil, []string{"has an empty name"}},
		"sample no JSON":   {samples(`{"suite":"made","case_id":"a","category":"","round":"R1"`, `{"suite"`), samplesFile, 2, "", nil, []string{"it is no JSON", "remove the line, and measure what is missing with benchmark --resume "}},
		"sample type":      {samples(`"repetition":1`, `"repetition":"1"`), samplesFile, 3, "repetition", nil, []string{"it is a JSON string, expected is int"}},
		"sample twice":     {samples(`"repetition":1`, `"repetition":0`), samplesFile, 3, "", ErrDuplicateSample, []string{`case "a", round "R0", repetition 0 is in line 1`}},
		"unknown case":     {samples(`"case_id":"a"`, `"case_id":"b"`), samplesFile, 1, "case_id", nil, []string{`"b" is no case of manifest.json, which has a`}},
		"no case":          {samples(`"case_id":"a"`, `"case_id":""`), samplesFile, 1, "case_id", nil, []string{"is missing"}},
		"unknown round":    {samples(`"round":"R1"`, `"round":"R7"`), samplesFile, 2, "round", nil, []string{`"R7" is no round of manifest.json, which has R0, R1`}},
		"another suite":    {samples(`"suite":"made"`, `"suite":"other"`), samplesFile, 1, "suite", nil, []string{`is "other"`}},
		"repetition":       {samples(`"repetition":1`, `"repetition":2`), samplesFile, 3, "repetition", nil, []string{"with measured_runs 2 it is 0 to 1"}},
		"more right":       {samples(`"right":1`, `"right":2`), samplesFile, 1, "right", nil, []string{"is 2 of 1 judged"}},
		"nothing judged":   {samples(`"right":1,"judged":1`, `"right":0,"judged":0`), samplesFile, 1, "judged", nil, []string{"is 0 although there is no error_class"}},
		"below nothing":    {samples(`"input_tokens":50`, `"input_tokens":-50`), samplesFile, 2, "input_tokens", nil, []string{"is -50"}},
		"number too large": {samples(`"input_tokens":50`, `"input_tokens":5e400`), samplesFile, 2, "input_tokens", nil, []string{"it is a JSON number 5e400"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := writeResults(t, small())
			c.change(t, dir)
			_, err := LoadResults(dir)
			var found *ResultsError
			require.ErrorAs(t, err, &found)
			require.Equal(t, filepath.Join(dir, c.file), found.Path)
			require.Equal(t, c.line, found.Line, err)
			require.Equal(t, c.field, found.Field, err)
			if c.err != nil {
				require.ErrorIs(t, err, c.err)
			}
			for _, part := range append(c.parts, found.Path, found.Remedy) {
				require.ErrorContains(t, err, part)
			}
			require.Error(t, WriteReport(dir))
			require.NoFileExists(t, filepath.Join(dir, reportFile), "no report of what cannot be used")
		})
	}
}

func TestResultsAreBounded(t *testing.T) {
	t.Parallel()
	dir := writeResults(t, small())
	require.NoError(t, os.Truncate(filepath.Join(dir, manifestFile), maxManifestBytes+1))
	_, err := LoadResults(dir)
	require.ErrorContains(t, err, "at most 16777216 are read")

	dir = writeResults(t, small())
	require.NoError(t, os.Truncate(filepath.Join(dir, samplesFile), maxSampleBytes+1<<20))
	_, err = LoadResults(dir)
	require.ErrorContains(t, err, "task_results.jsonl:4: it is longer than 67108864 bytes")
}

func FuzzReadSamples(f *testing.F) {
	line, err := json.Marshal(sampleOf("a", "R0", 0, 1, true))
	require.NoError(f, err)
	f.Add(string(line) + "\n")
	f.Add(string(line) + "\n" + string(line[:40]))
	f.Add("{}\n")
	f.Add("[]\n\n{")
	f.Fuzz(func(t *testing.T, text string) {
		r := &Results{Manifest: small().Manifest}
		if err := r.read(strings.NewReader(text), "file", "dir"); err != nil {
			var found *ResultsError
			require.True(t, errors.As(err, &found))
			require.Positive(t, found.Line)
			return
		}
		seen := map[sampleKey]bool{}
		for _, s := range r.Samples {
			require.False(t, seen[s.key()])
			seen[s.key()] = true
			require.True(t, s.Case == "a" && s.Repetition < 2 && (s.Judged > 0 || s.ErrorClass != ""), "%+v", s)
		}
	})
}
