package benchmark

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rivo/uniseg"
)

// barChart is horizontal bars in groups, with the same series in each group, as an SVG picture that needs nothing else: no
// font, no script. It is for light and dark pages.
type barChart struct {
	title    string
	subtitle string
	axis     string // what the axis shows, with its unit
	end      float64
	series   []string
	groups   []barGroup
}

// barGroup is the bars of one label, one for each series.
type barGroup struct {
	label string
	apart bool // a line sets it apart from what comes after it
	bars  []bar
}

// bar is one value. One that is not known has no bar, and its text says so.
type bar struct {
	Estimate
	text  string // at its end
	about string // the whole story, for readers of screens and pointers
}

// Measures in pixels. A column is a Latin letter of 12 px in the widest of the usual fonts; CJK signs take two.
const (
	chartWidth   = 860
	chartMargin  = 16
	columnWidth  = 7
	barHeight    = 14
	barStep      = 17 // from bar to bar
	groupGap     = 12
	labelColumns = 38 // longer labels are cut
	mostSeries   = 4  // colours
)

// chartStyle has the colours of Okabe and Ito (Color Universal Design, 2008), which people of any colour vision can tell apart,
// on grounds of their own, so that a page behind does not matter.
const chartStyle = `
text{font-family:system-ui,-apple-system,"Segoe UI","Noto Sans","Noto Sans CJK SC","PingFang SC","Microsoft YaHei",Arial,sans-serif;font-size:12px;fill:#1f2328}
.title{font-size:16px;font-weight:600}
.muted{fill:#59636e}
.ground{fill:#ffffff}
.grid{stroke:#d8dee4}
.axis{stroke:#59636e}
.whisker{stroke:#1f2328;stroke-width:1.5}
.s0{fill:#0072b2}
.s1{fill:#e69f00}
.s2{fill:#009e73}
.s3{fill:#cc79a7}
@media (prefers-color-scheme:dark){
text{fill:#f0f6fc}
.muted{fill:#9198a1}
.ground{fill:#0d1117}
.grid{stroke:#30363d}
.axis{stroke:#9198a1}
.whisker{stroke:#f0f6fc}
.s0{fill:#3fa0dc}
}
`

// columnsOf is the room that a text takes.
func columnsOf(text string) int { return uniseg.StringWidth(text) }

// cutTo shortens a text to columns, with an ellipsis.
func cutTo(text string, columns int) string {
	if columnsOf(text) <= columns {
		return text
	}
	var b strings.Builder
	room := columns - 1
	for g := uniseg.NewGraphemes(text); g.Next(); {
		if room -= g.Width(); room < 0 {
			break
		}
		b.WriteString(g.Str())
	}
	return b.String() + "…"
}

// xmlText escapes a text for elements and attributes. What XML cannot hold becomes U+FFFD.
func xmlText(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(plain(text))) // a buffer takes everything
	return b.String()
}

// px writes a coordinate.
func px(x float64) string { return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64) }

// chartLayout is where things are.
type chartLayout struct {
	left, right float64 // of the axis
	top, bottom float64
	height      float64
	end, step   float64 // of the axis, and between its ticks
	legend      [][]int // series in each line
}

func (c *barChart) layout() chartLayout {
	labels, texts, most := 4, 0, c.end
	bars := 0.0
	for _, g := range c.groups {
		labels = max(labels, min(columnsOf(plain(g.label)), labelColumns))
		bars += groupGap + barStep*float64(len(g.bars))
		for _, b := range g.bars {
			texts = max(texts, columnsOf(b.text))
			for _, n := range []Number{b.Value, b.High} {
				if n.Known() && c.end == 0 {
					most = max(most, float64(n))
				}
			}
		}
	}
	l := chartLayout{left: chartMargin + float64(labels*columnWidth) + 10}
	l.end, l.step = axisOf(most)
	// Behind the axis is room for the texts of the longest bars, and for half of the last tick's.
	l.right = chartWidth - chartMargin - max(float64(texts*columnWidth)+8, float64(columnsOf(tickText(l.end))*columnWidth)/2)
	room := 0
	for i := range c.series {
		wide := 36 + columnWidth*columnsOf(c.seriesName(i))
		if room -= wide; room < 0 {
			l.legend = append(l.legend, nil)
			room = chartWidth - 2*chartMargin - wide
		}
		l.legend[len(l.legend)-1] = append(l.legend[len(l.legend)-1], i)
	}
	l.top = 62 + 20*float64(len(l.legend))
	l.bottom = l.top + bars + groupGap/2
	l.height = l.bottom + 48
	return l
}

// seriesName is a name as the legend has it.
func (c *barChart) seriesName(i int) string { return cutTo(plain(c.series[i]), labelColumns) }

// axisOf is the end of an axis on which most fits, and the step between its ticks: 1, 2 or 5 times a power of ten.
func axisOf(most float64) (end, step float64) {
	if most <= 0 {
		return 1, 1
	}
	step = math.Pow(10, math.Floor(math.Log10(most)))
	for _, finer := range []float64{5, 2} {
		if most/(step/finer) <= 6 {
			step /= finer
			break
		}
	}
	if most/step > 6 {
		step *= 2
	}
	return step * math.Ceil(most/step-1e-9), step
}

// svg draws the chart.
func (c *barChart) svg() []byte {
	l := c.layout()
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title desc" viewBox="0 0 %d %s" width="%d" height="%s">`+"\n",
		chartWidth, px(l.height), chartWidth, px(l.height))
	fmt.Fprintf(&b, "<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n<style>%s</style>\n", xmlText(c.title), xmlText(c.story()), chartStyle)
	fmt.Fprintf(&b, `<rect class="ground" width="%d" height="%s"/>`+"\n", chartWidth, px(l.height))
	fmt.Fprintf(&b, `<text class="title" x="%d" y="26">%s</text>`+"\n", chartMargin, xmlText(c.title))
	fmt.Fprintf(&b, `<text class="muted" x="%d" y="46">%s</text>`+"\n", chartMargin, xmlText(c.subtitle))
	c.drawLegend(&b, l)
	c.drawAxis(&b, l)
	y := l.top
	for _, g := range c.groups {
		y += groupGap
		middle := y + barStep*float64(len(g.bars))/2
		label := plain(g.label)
		fmt.Fprintf(&b, `<g><title>%s</title><text class="label" x="%s" y="%s" text-anchor="end">%s</text></g>`+"\n",
			xmlText(label), px(l.left-10), px(middle+3), xmlText(cutTo(label, labelColumns)))
		for i, each := range g.bars {
			c.drawBar(&b, l, i, y, each)
			y += barStep
		}
		if g.apart {
			fmt.Fprintf(&b, `<line class="axis" x1="%d" y1="%s" x2="%s" y2="%s"/>`+"\n", chartMargin, px(y+groupGap/2), px(l.right), px(y+groupGap/2))
		}
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func (c *barChart) drawLegend(b *bytes.Buffer, l chartLayout) {
	for line, members := range l.legend {
		x, y := float64(chartMargin), 60+20*float64(line)
		for _, i := range members {
			fmt.Fprintf(b, `<rect class="s%d" x="%s" y="%s" width="12" height="12" rx="2"/><text class="legend" x="%s" y="%s">%s</text>`+"\n",
				i%mostSeries, px(x), px(y), px(x+18), px(y+10), xmlText(c.seriesName(i)))
			x += float64(36 + columnWidth*columnsOf(c.seriesName(i)))
		}
	}
}

func (c *barChart) drawAxis(b *bytes.Buffer, l chartLayout) {
	for i := range int(math.Round(l.end/l.step)) + 1 {
		value := float64(i) * l.step
		x := l.at(value)
		class := "grid"
		if i == 0 {
			class = "axis"
		}
		fmt.Fprintf(b, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/><text class="muted tick" x="%s" y="%s" text-anchor="middle">%s</text>`+"\n",
			class, px(x), px(l.top), px(x), px(l.bottom), px(x), px(l.bottom+16), tickText(value))
	}
	fmt.Fprintf(b, `<text class="muted" x="%s" y="%s" text-anchor="middle">%s</text>`+"\n", px((l.left+l.right)/2), px(l.bottom+36), xmlText(c.axis))
}

// tickText is the number at a tick. Steps are round in decimal; ten digits leave out what binary adds.
func tickText(value float64) string {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(value, 'g', 10, 64), 64) // it was just written
	return grouped(strconv.FormatFloat(short, 'f', -1, 64))
}

// at is where a value is on the axis.
func (l chartLayout) at(value float64) float64 {
	return l.left + (l.right-l.left)*min(max(value/l.end, 0), 1)
}

func (c *barChart) drawBar(b *bytes.Buffer, l chartLayout, series int, y float64, each bar) {
	fmt.Fprintf(b, `<g><title>%s</title>`, xmlText(each.about))
	end := l.left
	class := "value"
	if each.Value.Known() {
		end = l.at(float64(each.Value))
		fmt.Fprintf(b, `<rect class="bar s%d" x="%s" y="%s" width="%s" height="%d" rx="1"/>`, series%mostSeries, px(l.left), px(y), px(end-l.left), barHeight)
		if each.Bounded() && each.Low < each.High {
			low, high, middle := l.at(float64(each.Low)), l.at(float64(each.High)), y+barHeight/2.0
			fmt.Fprintf(b, `<path class="whisker" fill="none" d="M%s %sV%sM%s %sH%sM%s %sV%s"/>`,
				px(low), px(middle-4), px(middle+4), px(low), px(middle), px(high), px(high), px(middle-4), px(middle+4))
			end = max(end, high)
		}
	} else {
		class += " muted"
	}
	fmt.Fprintf(b, `<text class="%s" x="%s" y="%s">%s</text></g>`+"\n", class, px(end+6), px(y+barHeight-3), xmlText(each.text))
}

// story is the chart in words.
func (c *barChart) story() string {
	var b strings.Builder
	b.WriteString(c.subtitle)
	for _, g := range c.groups {
		for _, each := range g.bars {
			b.WriteString(" " + each.about + ";")
		}
	}
	return b.String()
}
