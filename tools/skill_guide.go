package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	guideFile     = "SKILL.md"
	maxGuideBytes = 256 << 10
	maxGuideChars = 16_000 // of the text for the model
	maxGuideFiles = 100
)

// A SkillGuide is the Data of a skill with instructions.
type SkillGuide struct {
	Name         string   `json:"name"`
	Description  string   `json:"description"`
	Instructions string   `json:"instructions"` // Markdown, byte for byte, without blank lines around it
	Dir          string   `json:"dir"`          // the skill's folder, relative to the workspace when inside, else absolute
	Files        []string `json:"files"`        // the other files there, relative to Dir; at most 100
}

// loadGuide loads a folder with a SKILL.md. It returns the file for messages.
func (l *skillLoader) loadGuide(folder *skillFolder, name string) (string, *skillFault) {
	dir := joinShown(folder.show, name)
	origin := joinShown(dir, guideFile)
	text, problem := folder.read(filepath.Join(name, guideFile), maxGuideBytes)
	if problem != nil {
		return origin, problem
	}
	info, body, problem := l.parseGuide(text, name)
	if problem != nil {
		return origin, problem
	}
	files, err := folder.files(name, guideFile, maxGuideFiles)
	if err != nil {
		return origin, fault(0, "check its permissions", "listing its folder: %s", plainReason(err))
	}
	info.Kind, info.Origin = SkillKindGuide, origin
	l.add(info, guideTool(info, SkillGuide{Name: info.Name, Description: info.Description, Instructions: body, Dir: dir, Files: files}))
	return origin, nil
}

// parseGuide splits a SKILL.md into what its front matter says and the instructions.
func (l *skillLoader) parseGuide(text, folderName string) (SkillInfo, string, *skillFault) {
	header, body, ok := splitFrontMatter(text)
	if !ok {
		return SkillInfo{}, "", fault(1, "begin it with a line ---, then lines with name: and description:, then a line ---", "it has no front matter")
	}
	if len(header) > maxSkillYAML {
		return SkillInfo{}, "", fault(1, "shorten it", "its front matter has more than %s", byteSize(maxSkillYAML))
	}
	node, problem := parseYAML(header)
	if problem != nil {
		return SkillInfo{}, "", problem.below(1)
	}
	fields := newYAMLFields(node, "the front matter", nil)
	name, nameLine, description := folderName, 0, fields.text("description")
	if fields.has("name") {
		name, nameLine = fields.text("name"), fields.lineOf("name")+1
	}
	if fields.fault != nil {
		return SkillInfo{}, "", fields.fault.below(1)
	}
	info, problem := l.newSkillInfo(name, nameLine, description, fields.lineOf("description")+1)
	if problem == nil && body == "" {
		problem = fault(0, "write them below the front matter", "it has no instructions")
	}
	return info, body, problem
}

// below moves a fault down by some lines.
func (f *skillFault) below(lines int) *skillFault {
	if f.line > 0 {
		f.line += lines
	}
	return f
}

// splitFrontMatter returns the lines between the first line and the next one that is ---, and what follows without blank
// lines around it.
func splitFrontMatter(text string) (header, body string, ok bool) {
	text = strings.TrimPrefix(text, "\ufeff")
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t\r") != "---" {
		return "", "", false
	}
	at := 0
	for line := range strings.Lines(rest) {
		if strings.TrimRight(line, " \t\r\n") == "---" {
			return rest[:at], withoutBlankLines(rest[at+len(line):]), true
		}
		at += len(line)
	}
	return "", "", false
}

// withoutBlankLines drops the blank lines at both ends. The first line keeps its indentation.
func withoutBlankLines(text string) string {
	text = strings.TrimRight(text, " \t\r\n")
	for {
		line, rest, more := strings.Cut(text, "\n")
		if !more || strings.TrimSpace(line) != "" {
			return text
		}
		text = rest
	}
}

func guideTool(info SkillInfo, guide SkillGuide) Tool {
	spec := Spec{
		Name: info.Tool, Description: info.Description, Origin: info.Origin,
		Parameters: closedObject(nil, map[string]*jsonschema.Schema{}, nil), Takes: []Subject{SubjectNone}, ReadOnly: true,
		Limits: []string{fmt.Sprintf("instructions; the first %d characters are shown", maxGuideChars)},
	}
	result := Result{Data: guide, Text: guideText(guide.Instructions)}
	return funcTool{spec: spec, call: func(context.Context, json.RawMessage) (Result, error) { return result, nil }}
}

// guideText cuts instructions after a whole line where there is one, and says how much is left out.
func guideText(body string) string {
	head := cutChars(body, maxGuideChars)
	if len(head) == len(body) {
		return body
	}
	if i := strings.LastIndexByte(head, '\n'); i > 0 {
		head = head[:i+1]
	}
	rest := body[len(head):]
	return fmt.Sprintf("%s\n[%s left out, %s]", strings.TrimRight(head, "\r\n"),
		plural(utf8.RuneCountInString(rest), "more character"), plural(strings.Count(rest, "\n")+1, "line"))
}

// closedObject is a schema of exactly these properties.
func closedObject(order []string, properties map[string]*jsonschema.Schema, required []string) *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: "object", Properties: properties, PropertyOrder: order, Required: required,
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
}
