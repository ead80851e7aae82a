package benchmark

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

// restore returns the samples of a plan that the folder holds, and makes its files what they would be if nothing else had ever
// been begun: what a crash left of a sample goes. So do samples whose model could not be loaded: they say nothing about their case,
// and are done again. The notes tell what was left out.
func (f *folder) restore(p *Plan) (samples []Sample, notes []string, err error) {
	planned := map[label]bool{}
	for _, j := range p.jobs() {
		planned[j.label()] = true
	}
	data, err := os.ReadFile(f.join(samplesFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("reading the results: %w", err)
	}
	whole := map[label]bool{}
	var kept bytes.Buffer
	again := 0
	lines := slices.Collect(bytes.Lines(data))
	for i, text := range lines {
		var s Sample
		err := json.Unmarshal(text, &s)
		last := i == len(lines)-1
		switch {
		case last && (err != nil || !bytes.HasSuffix(text, []byte("\n"))):
			notes = append(notes, fmt.Sprintf("the last line of %s was cut off; its sample is done again", samplesFile))
			continue
		case err != nil:
			return nil, nil, fmt.Errorf("reading %q: line %d is no sample: %w; remove the line to do the sample again", f.join(samplesFile), i+1, err)
		case !planned[s.label()]:
			return nil, nil, fmt.Errorf("reading %q: line %d is of case %q, round %q, repetition %d, which is no part of this run; remove the line",
				f.join(samplesFile), i+1, s.Case, s.Round, s.Repetition)
		case whole[s.label()]:
			return nil, nil, fmt.Errorf("reading %q: line %d is of case %q, round %q, repetition %d, which an earlier line is of, too; remove one of them",
				f.join(samplesFile), i+1, s.Case, s.Round, s.Repetition)
		case s.ErrorClass == ModelLoad:
			again++
			continue
		}
		whole[s.label()] = true
		samples = append(samples, s)
		kept.Write(text)
	}
	if again > 0 {
		notes = append(notes, fmt.Sprintf("samples that are done again because the model could not be loaded: %d", again))
	}
	if err := f.replace(samplesFile, data, kept.Bytes()); err != nil {
		return nil, nil, err
	}
	for _, name := range append([]string{failuresFile}, telemetryFiles...) {
		if err := f.keepOnly(name, whole); err != nil {
			return nil, nil, err
		}
	}
	return samples, notes, nil
}

// keepOnly removes from a file what does not belong to one of the samples, and lines that are not whole.
func (f *folder) keepOnly(name string, samples map[label]bool) error {
	data, err := os.ReadFile(f.join(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the results: %w", err)
	}
	labelOf := jsonLabel
	if isCSV(name) {
		labelOf = csvLabel
	}
	var kept bytes.Buffer
	for text := range bytes.Lines(data) {
		header := isCSV(name) && kept.Len() == 0
		of, ok := labelOf(text)
		if bytes.HasSuffix(text, []byte("\n")) && (header || ok && samples[of]) {
			kept.Write(text)
		}
	}
	return f.replace(name, data, kept.Bytes())
}

// replace writes a file when its content becomes another one.
func (f *folder) replace(name string, was, is []byte) error {
	if bytes.Equal(was, is) {
		return nil
	}
	if err := swapIn(f.join(name), bytes.NewReader(is)); err != nil {
		return fmt.Errorf("repairing %q: %w", f.join(name), err)
	}
	return nil
}

func jsonLabel(line []byte) (label, bool) {
	var l label
	err := json.Unmarshal(line, &l)
	return l, err == nil
}

func csvLabel(line []byte) (label, bool) {
	row, err := csv.NewReader(strings.NewReader(string(line))).Read()
	if err != nil || len(row) < 3 {
		return label{}, false
	}
	repetition, err := strconv.Atoi(row[2])
	return label{row[0], row[1], repetition}, err == nil
}
