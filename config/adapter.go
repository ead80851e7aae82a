package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxScale bounds how strongly an adapter is applied; it is trained for 1.
const maxScale = 100

// Adapter is a LoRA adapter and how strongly it is applied. As text it is the path, or "path=scale" for another scale
// than 1.
type Adapter struct {
	Path  string
	Scale float64 // 1: as it was trained; 0: not at all
}

// String returns what parseAdapter reads.
func (a Adapter) String() string {
	if _, scaled := cutScale(a.Path); a.Scale == 1 && !scaled {
		return a.Path
	}
	return a.Path + "=" + strconv.FormatFloat(a.Scale, 'g', -1, 64)
}

// cutScale returns the text behind the last "=", and whether that is a number.
func cutScale(s string) (scale float64, ok bool) {
	i := strings.LastIndexByte(s, '=')
	if i < 0 {
		return 1, false
	}
	scale, err := strconv.ParseFloat(strings.TrimSpace(s[i+1:]), 64)
	return scale, err == nil || errors.Is(err, strconv.ErrRange)
}

func parseAdapter(s string) (Adapter, error) {
	scale, ok := cutScale(s)
	if !ok {
		return Adapter{Path: s, Scale: 1}, nil // a path may hold any character
	}
	path := strings.TrimSpace(s[:strings.LastIndexByte(s, '=')])
	if path == "" {
		return Adapter{}, errors.New("has a scale and no path")
	}
	if !(scale >= -maxScale && scale <= maxScale) { // nor NaN
		return Adapter{}, fmt.Errorf("has a scale that is not in %d to %d", -maxScale, maxScale)
	}
	return Adapter{Path: path, Scale: scale}, nil
}

// adaptersKind holds a list of adapters, written as a list of texts.
type adaptersKind struct{}

// list is how the texts are written.
func (adaptersKind) list() listKind {
	return listKind{`files, each with an optional scale such as "pirate.gguf=0.5"`}
}

func (k adaptersKind) describe() string { return k.list().describe() }

func (k adaptersKind) fromTOML(v any) ([]Adapter, error) { return adaptersOf(k.list().fromTOML(v)) }

func (k adaptersKind) fromText(s string) ([]Adapter, error) { return adaptersOf(k.list().fromText(s)) }

func (k adaptersKind) plain(v []Adapter) any { return adapterTexts(v) }

func (k adaptersKind) toml(v []Adapter) string { return k.list().toml(adapterTexts(v)) }

func adaptersOf(texts []string, err error) ([]Adapter, error) {
	if err != nil {
		return nil, err
	}
	list := make([]Adapter, len(texts))
	for i, s := range texts {
		if list[i], err = parseAdapter(s); err != nil {
			return nil, fmt.Errorf("item %d %w", i+1, err)
		}
	}
	return list, nil
}

func adapterTexts(list []Adapter) []string {
	texts := make([]string, len(list))
	for i, a := range list {
		texts[i] = a.String()
	}
	return texts
}
