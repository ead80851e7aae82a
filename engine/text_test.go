package engine

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// track pushes pieces until a stop and returns the deltas.
func track(stops []string, isJSON bool, pieces ...string) (deltas []string, stopped bool) {
	t := textTracker{stops: stops}
	if isJSON {
		t.json = &jsonEnd{}
	}
	for _, p := range pieces {
		if d := t.push([]byte(p)); d != "" {
			deltas = append(deltas, d)
		}
		if t.stopped {
			break
		}
	}
	if rest := t.flush(); rest != "" {
		deltas = append(deltas, rest)
	}
	return deltas, t.stopped
}

func TestTextTracker(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		stops   []string
		pieces  []string
		want    []string
		stopped bool
	}{
		{name: "ASCII passes at once", pieces: []string{"a", "b"}, want: []string{"a", "b"}},
		{name: "a llama in two halves", pieces: []string{"\xF0\x9F", "\xA6\x99"}, want: []string{"🦙"}},
		{name: "one byte at a time", pieces: []string{"x\xE6", "\xBC", "\xA2", "\xC3", "\xA9"}, want: []string{"x", "漢", "é"}},
		{name: "an unfinished tail is dropped", pieces: []string{"a\xF0\x9F\xA6"}, want: []string{"a"}},
		{name: "a tail that was no character", pieces: []string{"a\xF0\x9F", "b"}, want: []string{"a", "\uFFFD\uFFFDb"}},
		{name: "bytes of no character", pieces: []string{"\xFF", "\xFF"}, want: []string{"\uFFFD", "\uFFFD"}},
		{name: "a U+FFFD of the model's own", pieces: []string{"\uFFFD"}, want: []string{"\uFFFD"}},
		{name: "stop word", stops: []string{"END"}, pieces: []string{"abENDcd"}, want: []string{"ab"}, stopped: true},
		{name: "stop word in pieces", stops: []string{"END"}, pieces: []string{"abE", "N", "D"}, want: []string{"ab"}, stopped: true},
		{name: "nearly a stop word", stops: []string{"END"}, pieces: []string{"E", "N", "X"}, want: []string{"ENX"}},
		{name: "held back to the end", stops: []string{"END"}, pieces: []string{"aEN"}, want: []string{"a", "EN"}},
		{name: "the first that is complete", stops: []string{"abc", "b"}, pieces: []string{"abc"}, want: []string{"a"}, stopped: true},
		{name: "the longest that ends there", stops: []string{"c", "bc"}, pieces: []string{"abc"}, want: []string{"a"}, stopped: true},
		{name: "stop word after half a character", stops: []string{"S"}, pieces: []string{"a\xF0\x9F", "S"}, want: []string{"a"}, stopped: true},
		{name: "empty stop words mean nothing", stops: []string{""}, pieces: []string{"a"}, want: []string{"a"}},
		{name: "stop word at the very start", stops: []string{"\n"}, pieces: []string{"\n"}, stopped: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, stopped := track(c.stops, false, c.pieces...)
			require.Equal(t, c.want, got)
			require.Equal(t, c.stopped, stopped)
		})
	}
}

func TestTextTrackerJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pieces  []string
		want    string
		stopped bool
	}{
		{[]string{`{"a":`, `1}`, `tail`}, `{"a":1}`, true},
		{[]string{`{"a":{"b":[1,{}]}}{"c":2}`}, `{"a":{"b":[1,{}]}}`, true},
		{[]string{`{"a":"}"`, `}`}, `{"a":"}"}`, true},
		{[]string{`{"a":"\"}`, `","b":1}x`}, `{"a":"\"}","b":1}`, true},
		{[]string{`{"a":"\\`, `"}`, `"`}, `{"a":"\\"}`, true},
		{[]string{`{"a":"\`, `\"}x`}, `{"a":"\\"}`, true},
		{[]string{`[1,[2]]x`}, `[1,[2]]`, true},
		{[]string{`{"a":"[[["`, `}`}, `{"a":"[[["}`, true},
		{[]string{`{"a":"cut`}, `{"a":"cut`, false},
	} {
		got, stopped := track(nil, true, c.pieces...)
		require.Equal(t, c.want, strings.Join(got, ""))
		require.Equal(t, c.stopped, stopped, c.want)
		if stopped {
			require.True(t, json.Valid([]byte(c.want)), c.want)
		}
	}
}

// Bytes near each other on purpose: stop words and characters must often begin and break.
var spiky = rapid.SliceOfN(rapid.SampledFrom([]string{
	"a", "b", "ab", "\xF0", "\x9F", "\xA6", "\x99", "\xC3", "\xA9", "🦙", "é", "\xFF", "\xE6\xBC", "{", "}", `"`, `\`, "\uFFFD",
}), 0, 12)

func TestTextTrackerIsIndependentOfCuts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(spiky.Draw(rt, "text"), "")
		var stops []string
		for range rapid.IntRange(0, 3).Draw(rt, "stops") {
			stops = append(stops, strings.Join(spiky.Draw(rt, "stop"), ""))
		}
		isJSON := rapid.Bool().Draw(rt, "json")
		whole, wholeStopped := track(stops, isJSON, text)

		var pieces []string
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "cut")
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		deltas, stopped := track(stops, isJSON, pieces...)
		require.Equal(rt, strings.Join(whole, ""), strings.Join(deltas, ""))
		require.Equal(rt, wholeStopped, stopped)
		for _, d := range deltas {
			require.True(rt, utf8.ValidString(d), "%q", d)
		}
		if utf8.ValidString(text) && len(stops) == 0 && !isJSON {
			require.Equal(rt, text, strings.Join(deltas, ""))
		}
	})
}

// No delta may hold anything of a stop word, however it was cut.
func TestStopWordsNeverLeak(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		stop := rapid.StringMatching(`[ab]{1,4}`).Draw(rt, "stop")
		text := rapid.StringMatching(`[abc]{0,20}`).Draw(rt, "text")
		deltas, stopped := track([]string{stop}, false, strings.Split(text, "")...)
		before, _, found := strings.Cut(text, stop)
		require.Equal(rt, before, strings.Join(deltas, ""))
		require.Equal(rt, found, stopped)
	})
}
