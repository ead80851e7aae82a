package tools

import (
	"cmp"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// maxSkills bounds the skills that are looked at, broken ones included.
const maxSkills = 200

// SkillOptions say where skills are and under which rules their commands run. Zero fields take the defaults.
type SkillOptions struct {
	// Dirs are the folders with skills, in the order in which their names are given out. Relative ones are below the
	// workspace. A folder that does not exist holds no skills.
	Dirs []string
	// Shell holds the workspace, and the rules that the commands of skills obey: those of execute_shell_command. Its
	// Timeout is not used.
	Shell   ShellOptions
	Timeout time.Duration // of one command of a skill that says nothing else; 15 s
	// Taken are tool names that no skill may have.
	Taken []string
}

// A SkillSet is what the folders hold. Tools and Skills have the same order and length.
type SkillSet struct {
	Tools    []Tool
	Skills   []SkillInfo
	Problems []SkillProblem
}

// MaxTimeout returns the longest time limit of a command in the set; 0 when there is none.
func (s SkillSet) MaxTimeout() time.Duration {
	var longest time.Duration
	for _, skill := range s.Skills {
		longest = max(longest, skill.Timeout)
	}
	return longest
}

// SkillKind tells the two kinds of skills apart.
type SkillKind string

// The kinds of skills.
const (
	SkillKindCommand SkillKind = "command" // a command line with slots, from a YAML file; its Data is a ShellResult
	SkillKindGuide   SkillKind = "guide"   // instructions for the model, from a SKILL.md; its Data is a SkillGuide
)

// SkillInfo describes a skill that works. Its tool has the rest.
type SkillInfo struct {
	Name        string // as its author wrote it
	Tool        string // the name of its tool: dashes are underscores there
	Kind        SkillKind
	Description string
	Origin      string        // its file, relative to the workspace when inside
	Timeout     time.Duration // of its command; 0 for a guide
}

// SkillProblem says why a skill, or a folder of skills, is left out.
type SkillProblem struct {
	File   string `json:"file"`           // relative to the workspace when inside
	Line   int    `json:"line,omitempty"` // 1-based; 0 when unknown
	Reason string `json:"reason"`
	Fix    string `json:"fix"` // what to do
}

// String returns the problem in one inert line: skills/a.yaml:3: reason; fix.
func (p SkillProblem) String() string {
	place := p.File
	if p.Line > 0 {
		place = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return strings.Join(strings.Fields(InertText(fmt.Sprintf("%s: %s; %s", place, p.Reason, p.Fix))), " ")
}

// A skillFault is a problem of a skill whose file is known elsewhere.
type skillFault struct {
	line        int // 0 when unknown
	reason, fix string
}

func fault(line int, fix, format string, args ...any) *skillFault {
	return &skillFault{line: line, reason: fmt.Sprintf(format, args...), fix: fix}
}

// LoadSkills reads the skills in the folders: *.yaml and *.yml files that describe a command, and folders with a SKILL.md
// that holds instructions. The order is that of the folders, and by file name within each. A broken skill becomes a
// problem and keeps no other from working. Files are read now and not looked at again. At most 200 are.
func LoadSkills(o SkillOptions) SkillSet {
	o.Timeout = cmp.Or(o.Timeout, 15*time.Second)
	l := &skillLoader{options: o, shell: newShell(o.Shell), taken: map[string]string{}, seen: map[string]bool{}}
	for _, name := range o.Taken {
		l.taken[name] = "a tool of the program"
	}
	for _, dir := range o.Dirs {
		if !l.folder(dir) {
			break
		}
	}
	return l.set
}

type skillLoader struct {
	options SkillOptions
	shell   *shell
	set     SkillSet
	taken   map[string]string // tool names, with who has them
	seen    map[string]bool   // folders, links resolved
	count   int
}

func (l *skillLoader) report(file string, f *skillFault) {
	l.set.Problems = append(l.set.Problems, SkillProblem{File: file, Line: f.line, Reason: f.reason, Fix: f.fix})
}

// folder loads the skills of one folder. It returns false when there are too many.
func (l *skillLoader) folder(dir string) bool {
	w := l.shell.w
	abs := w.abs(dir)
	folder, problem := openSkillFolder(w, abs)
	if problem != nil {
		l.report(w.show(abs), problem)
		return true
	}
	if folder == nil {
		return true
	}
	defer folder.root.Close()
	if l.seen[folder.real] {
		return true
	}
	l.seen[folder.real] = true
	entries, err := fs.ReadDir(folder.root.FS(), ".")
	if err != nil {
		l.report(folder.show, fault(0, "check its permissions", "listing the folder: %s", plainReason(err)))
	}
	for _, entry := range entries {
		load, problem := l.candidate(folder, entry.Name())
		if load == nil && problem == nil {
			continue
		}
		if l.count++; l.count > maxSkills {
			l.report(folder.show, fault(0, "remove some, or name fewer folders in tools.skills.dirs",
				"there are more than %d skills; those from %s on are left out", maxSkills, entry.Name()))
			return false
		}
		file := joinShown(folder.show, entry.Name())
		if problem == nil {
			file, problem = load(folder, entry.Name())
		}
		if problem != nil {
			l.report(file, problem)
		}
	}
	return true
}

// candidate returns what loads an entry of a folder, or nil when the entry is no skill. The function returned gives the file
// for messages.
func (l *skillLoader) candidate(folder *skillFolder, name string) (load func(*skillFolder, string) (string, *skillFault), problem *skillFault) {
	if strings.HasPrefix(name, ".") {
		return nil, nil
	}
	extension := strings.ToLower(filepath.Ext(name))
	isYAML := extension == ".yaml" || extension == ".yml"
	info, err := folder.root.Stat(name)
	switch {
	case err != nil && (isYAML || folder.leadsToFolder(name)):
		return nil, folder.unreadable(name, err)
	case err != nil:
		return nil, nil
	case info.IsDir():
		if _, err := folder.root.Lstat(filepath.Join(name, guideFile)); err == nil {
			return l.loadGuide, nil
		}
	case isYAML:
		return l.loadCommand, nil
	}
	return nil, nil
}

var skillName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,47}$`)

const skillNameFix = "use up to 48 lower case letters, digits, _ and -, starting with a letter"

// maxSkillDescription is in characters: it stands in every prompt.
const maxSkillDescription = 1024

// newSkillInfo checks what both kinds of skills have. The lines are where name and description were given.
func (l *skillLoader) newSkillInfo(name string, nameLine int, description string, descriptionLine int) (SkillInfo, *skillFault) {
	description = strings.Join(strings.Fields(InertText(description)), " ")
	info := SkillInfo{Name: name, Tool: strings.ReplaceAll(name, "-", "_"), Description: description}
	switch owner := l.taken[info.Tool]; {
	case name == "":
		return info, fault(nameLine, "add a line such as: name: count_errors", "it has no name")
	case !skillName.MatchString(name):
		return info, fault(nameLine, skillNameFix, "the name %q is not allowed", clip(name, 60))
	case owner != "":
		return info, fault(nameLine, "give the skill another name", "the name %q is taken by %s", name, owner)
	case description == "":
		return info, fault(descriptionLine, "add a line such as: description: what the skill does, in one sentence", "it has no description")
	}
	if n := utf8.RuneCountInString(description); n > maxSkillDescription {
		return info, fault(descriptionLine, "say it in one sentence", "the description has %s; at most %d are allowed", plural(n, "character"), maxSkillDescription)
	}
	return info, nil
}

// add takes a skill into the set.
func (l *skillLoader) add(info SkillInfo, tool Tool) {
	l.taken[info.Tool] = "the skill in " + info.Origin
	l.set.Tools = append(l.set.Tools, tool)
	l.set.Skills = append(l.set.Skills, info)
}
