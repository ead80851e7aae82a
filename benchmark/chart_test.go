package benchmark

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawn is an element of a picture with its attributes and text.
type drawn struct {
	name, text string
	attributes map[string]string
}

func (d drawn) number(t require.TestingT, name string) float64 {
	n, err := strconv.ParseFloat(d.attributes[name], 64)
	require.NoError(t, err, "%s of %v", name, d)
	return n
}

func (d drawn) is(class string) bool {
	for word := range strings.FieldsSeq(d.attributes["class"]) {
		if word == class {
			return true
		}
	}
	return false
}

// parseSVG reads a picture, which must be well-formed and hold nothing that acts.
func parseSVG(t require.TestingT, data []byte) []drawn {
	var all []drawn
	var open []int
	dec := xml.NewDecoder(strings.NewReader(string(data)))
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err, "%s", data)
		switch token := token.(type) {
		case xml.StartElement:
			e := drawn{name: token.Name.Local, attributes: map[string]string{}}
			require.Contains(t, []string{"svg", "title", "desc", "style", "rect", "text", "line", "path", "g"}, e.name)
			for _, a := range token.Attr {
				require.False(t, strings.HasPrefix(a.Name.Local, "on"))
				e.attributes[a.Name.Local] = a.Value
			}
			open = append(open, len(all))
			all = append(all, e)
		case xml.CharData:
			if len(open) > 0 {
				all[open[len(open)-1]].text += string(token)
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
	require.Empty(t, open)
	require.Equal(t, "svg", all[0].name)
	require.Equal(t, "title desc", all[0].attributes["aria-labelledby"])
	return all
}

func having(all []drawn, name, class string) []drawn {
	var found []drawn
	for _, d := range all {
		if d.name == name && d.is(class) {
			found = append(found, d)
		}
	}
	return found
}

func barOf(value, low, high float64) bar {
	return bar{Estimate: Estimate{Number(value), Number(low), Number(high)}, text: fixed(Number(value), 0), about: fmt.Sprintf("about %v", value)}
}

func TestBarsAreProportional(t *testing.T) {
	t.Parallel()
	gone := bar{Estimate: noEstimate(), text: "not measured", about: "nothing"}
	c := barChart{title: "T", axis: "s", series: []string{"R0", "R1"}, groups: []barGroup{
		{label: "a", bars: []bar{barOf(400, 300, 800), barOf(100, 100, 100)}}, {label: "b", bars: []bar{barOf(0, 0, 0), gone}},
	}}
	all := parseSVG(t, c.svg())
	bars := having(all, "rect", "bar")
	require.Len(t, bars, 3, "nothing is drawn for what is not known")
	require.InDelta(t, 4*bars[1].number(t, "width"), bars[0].number(t, "width"), 0.05)
	require.Zero(t, bars[2].number(t, "width"))
	whiskers := having(all, "path", "whisker")
	require.Len(t, whiskers, 1, "an interval without width is none")
	var low, high, y1, y2, y3, y4, y5 float64
	_, err := fmt.Sscanf(whiskers[0].attributes["d"], "M%f %fV%fM%f %fH%fM%f %fV%f", &low, &y1, &y2, new(float64), &y3, &high, new(float64), &y4, &y5)
	require.NoError(t, err)
	left := bars[0].number(t, "x")
	require.InDelta(t, bars[0].number(t, "width")*0.75, low-left, 0.05)
	require.InDelta(t, bars[0].number(t, "width")*2, high-left, 0.05)
	values := having(all, "text", "value")
	require.Len(t, values, 4)
	require.Greater(t, values[0].number(t, "x"), high, "the value stands behind the whisker")
	require.Equal(t, "not measured", values[3].text)
	require.True(t, values[3].is("muted"))
	var texts []string
	for _, tick := range having(all, "text", "tick") {
		texts = append(texts, tick.text)
	}
	require.Equal(t, []string{"0", "200", "400", "600", "800"}, texts)
	require.Equal(t, "0.3", tickText(3*0.1))
	require.Equal(t, "15,000", tickText(15_000))
	require.Contains(t, all[2].text, "about 400; about 100; about 0; nothing;")
}

func TestAxes(t *testing.T) {
	t.Parallel()
	for most, want := range map[float64][2]float64{0: {1, 1}, 1: {1, 0.2}, 100: {100, 20}, 13_647: {15_000, 5000}, 43.4: {50, 10}, 7: {8, 2}, 0.03: {0.03, 0.005}} {
		end, step := axisOf(most)
		require.InDelta(t, want[0], end, 1e-9, "%v", most)
		require.InDelta(t, want[1], step, 1e-9, "%v", most)
	}
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.Float64Range(1e-6, 1e12).Draw(t, "most")
		end, step := axisOf(most)
		require.GreaterOrEqual(t, end, most*(1-1e-8))
		require.LessOrEqual(t, end/step, 7.0)
		require.LessOrEqual(t, end-step, most)
	})
}

// TestNothingOverlaps draws charts of all sizes with names of all kinds.
func TestNothingOverlaps(t *testing.T) {
	t.Parallel()
	name := rapid.OneOf(rapid.StringMatching(`[a-z0-9_]{1,64}`), rapid.StringMatching(`[一-龥]{1,40}`), rapid.String(), rapid.Just(`<script>alert("x")</script>`), rapid.Just("a\nb'&]]>"))
	rapid.Check(t, func(t *rapid.T) {
		c := barChart{title: name.Draw(t, "title"), axis: "s"}
		for range rapid.IntRange(1, 4).Draw(t, "rounds") {
			c.series = append(c.series, name.Draw(t, "round"))
		}
		for range rapid.IntRange(1, 20).Draw(t, "cases") {
			g := barGroup{label: name.Draw(t, "case"), apart: rapid.Bool().Draw(t, "apart")}
			for range c.series {
				low := rapid.Float64Range(0, 1e9).Draw(t, "low")
				value := low + rapid.Float64Range(0, 1e9).Draw(t, "value")
				g.bars = append(g.bars, barOf(value, low, value+rapid.Float64Range(0, 1e9).Draw(t, "high")))
			}
			c.groups = append(c.groups, g)
		}
		all := parseSVG(t, c.svg())
		height := all[0].number(t, "height")
		require.Len(t, having(all, "rect", "bar"), len(c.groups)*len(c.series))
		require.Len(t, having(all, "text", "label"), len(c.groups))
		for _, d := range all {
			switch d.name {
			case "text":
				x, wide := d.number(t, "x"), float64(columnWidth*columnsOf(d.text))
				switch d.attributes["text-anchor"] {
				case "end":
					x -= wide
				case "middle":
					x -= wide / 2
				}
				if !d.is("title") {
					require.GreaterOrEqual(t, x, 0.0, "%v", d)
					require.LessOrEqual(t, x+wide, float64(chartWidth), "%v", d)
				}
				require.LessOrEqual(t, d.number(t, "y"), height)
			case "rect":
				if d.is("bar") {
					require.LessOrEqual(t, d.number(t, "y")+barHeight, height)
				}
			}
		}
		for _, class := range []string{"value", "label"} {
			before := 0.0
			for _, d := range having(all, "text", class) {
				require.GreaterOrEqual(t, d.number(t, "y")-before, float64(barHeight), "lines of text are apart")
				before = d.number(t, "y")
			}
		}
		for i, d := range having(all, "text", "label") {
			require.Less(t, d.number(t, "x"), having(all, "rect", "bar")[i].number(t, "x"), "names stand left of the bars")
		}
	})
}

func TestChartsOfTheReport(t *testing.T) {
	t.Parallel()
	r := resultsOf(1, sampleOf("a", "R0", 0, 1000, true), sampleOf("a", "R1", 0, 400, false), sampleOf("证据", "R0", 0, 3000, true), brokenOf("证据", "R1", 0, Crash))
	var files []string
	for _, c := range r.Summarize().charts() {
		files = append(files, c.file)
		all := parseSVG(t, c.svg())
		var labels []string
		for _, d := range having(all, "text", "label") {
			labels = append(labels, d.text)
		}
		require.Equal(t, []string{"all cases", "a", "证据"}, labels, c.file)
	}
	require.Equal(t, []string{"success.svg", "latency.svg", "input_tokens.svg", "evaluated_tokens.svg", "peak_kv.svg", "memory.svg", "checkpoints.svg"}, files)
	charts := r.Summarize().charts()
	var texts []string
	for _, d := range having(parseSVG(t, charts[0].svg()), "text", "value") {
		texts = append(texts, d.text)
	}
	require.Equal(t, []string{"100 % (2 of 2)", "0 % (0 of 1)", "100 % (1 of 1)", "0 % (0 of 1)", "100 % (1 of 1)", "none judged"}, texts)
	require.Contains(t, charts[0].story(), "证据, R1: none judged, 1 harness error")
	require.Contains(t, charts[0].story(), "a, R0: 100 % (1 of 1), 95 % interval 21 to 100 %")
	texts = nil
	for _, d := range having(parseSVG(t, charts[2].svg()), "text", "value") {
		texts = append(texts, d.text)
	}
	require.Equal(t, []string{"none right", "none right", "1,000", "none right", "3,000", "none right"}, texts)
	require.NotContains(t, resultsOf(1, sampleOf("a", "R0", 0, 1, true)).Summarize().charts()[0].story(), allCases, "one case is all cases")
}
