package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Options says where configuration comes from. The zero value reads the files and nothing else.
type Options struct {
	// Path is the configuration file, relative to Dir. When it is empty, FileName is looked for in Dir and then in the
	// folder llama-agent of UserConfigDir, and having none is fine; an explicit file must exist.
	Path string
	// Workspace is relative to Dir and must be a folder. Empty: Dir.
	Workspace string
	// Dir is the current folder. Empty: that of the process.
	Dir string
	// UserConfigDir is the user's configuration folder. Empty: [os.UserConfigDir].
	UserConfigDir string
	// Environ holds "NAME=value" entries, as of os.Environ.
	Environ []string
	// Overrides are applied last, in order.
	Overrides []Override
}

// Override is one value given on the command line.
type Override struct {
	Section, Key string
	Value        string // plain text
	Flag         string // as the user typed it, for messages: "--n-ctx"
}

// ParseOverride reads the argument of --set, "section.key=value". The section may have dots, the value anything.
func ParseOverride(arg string) (Override, error) {
	name, value, ok := strings.Cut(arg, "=")
	name = strings.TrimSpace(name)
	dot := strings.LastIndexByte(name, '.')
	if !ok || dot <= 0 || dot == len(name)-1 {
		return Override{}, fmt.Errorf("--set %s: must be section.key=value, for example --set engine.temperature=0", printable(arg))
	}
	return Override{Section: name[:dot], Key: name[dot+1:], Value: value, Flag: "--set " + name}, nil
}

// Load builds the configuration of opts. Everything that is wrong with its content is reported together as [Problems];
// other errors come from the file system.
func Load(opts Options) (*Config, error) {
	dir := opts.Dir
	if dir == "" {
		var err error
		if dir, err = os.Getwd(); err != nil {
			return nil, fmt.Errorf("finding the current folder: %w", err)
		}
	}
	l := &loader{
		dir:     dir,
		environ: environment(opts.Environ),
		config:  &Config{sources: map[*key]Source{}, written: map[*key]string{}},
	}
	l.config.home = cmp.Or(l.environ.get("HOME"), l.environ.get("USERPROFILE"))
	l.config.Secrets = l.environ.secrets()
	l.defaults()
	l.workspace(opts.Workspace)
	if err := l.file(opts.Path, opts.UserConfigDir); err != nil {
		return nil, err
	}
	l.environment()
	for _, o := range opts.Overrides {
		l.override(o)
	}
	l.paths()
	l.relations()
	if len(l.problems) > 0 {
		return nil, l.problems.sorted()
	}
	return l.config, nil
}

// loader collects the layers of one configuration.
type loader struct {
	dir      string
	environ  environ
	config   *Config
	problems Problems
}

func (l *loader) problem(src Source, key, nearest, format string, args ...any) {
	reason := inert(fmt.Sprintf(format, args...))
	l.problems = append(l.problems, &Problem{Source: src, Key: key, Reason: reason, Nearest: nearest})
}

func (l *loader) notice(src Source, format string, args ...any) {
	l.config.Notices = append(l.config.Notices, inert(src.String()+": "+fmt.Sprintf(format, args...)))
}

func (l *loader) defaults() {
	for _, k := range keys {
		k.reset(l.config)
		l.record(k, Source{Layer: LayerDefault})
	}
}

// record notes where the value that k has now comes from.
func (l *loader) record(k *key, src Source) {
	l.config.sources[k] = src
	l.config.written[k] = k.toml(l.config)
}

func (l *loader) workspace(path string) {
	src := Source{Layer: LayerFlag, Name: "workspace"}
	abs := l.config.resolve(cmp.Or(path, "."), l.dir)
	l.config.Workspace = abs
	switch info, err := os.Stat(abs); {
	case errors.Is(err, fs.ErrNotExist):
		l.problem(src, "", "", "folder %s does not exist; create it or name another with --workspace", printable(abs))
	case err != nil:
		l.problem(src, "", "", "%v", err)
	case !info.IsDir():
		l.problem(src, "", "", "%s is a file, not a folder; name the folder with --workspace", printable(abs))
	}
}

// maxFileBytes bounds a configuration file. The documented file of all keys is far below it.
const maxFileBytes = 1 << 20

// file finds, reads and applies the configuration file.
func (l *loader) file(explicit, userDir string) error {
	if explicit != "" {
		path := l.config.resolve(explicit, l.dir)
		data, err := readFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			l.problem(Source{Layer: LayerFlag, Name: "--config"}, "", "", "configuration file %s does not exist", printable(path))
			return nil
		case err != nil:
			return fmt.Errorf("reading the configuration file %s: %w", printable(path), err)
		}
		l.apply(path, data)
		return nil
	}
	candidates := []string{filepath.Join(l.dir, FileName)}
	if userDir == "" {
		// Without a home there is no such folder, which is no error: the file is optional.
		userDir, _ = os.UserConfigDir()
	}
	if userDir != "" {
		candidates = append(candidates, filepath.Join(userDir, "llama-agent", FileName))
	}
	for _, path := range candidates {
		data, err := readFile(path)
		switch {
		case err == nil:
			l.apply(path, data)
			return nil
		// A home that is no folder (ENOTDIR) holds no file either.
		case errors.Is(err, fs.ErrNotExist), isNotDir(path):
		default:
			return fmt.Errorf("reading the configuration file %s: %w", printable(path), err)
		}
	}
	return nil
}

func isNotDir(path string) bool {
	info, err := os.Stat(filepath.Dir(path))
	return err != nil && !errors.Is(err, fs.ErrPermission) || err == nil && !info.IsDir()
}

func readFile(path string) ([]byte, error) {
	// A FIFO or a device would block or never end.
	if info, err := os.Stat(path); err != nil {
		return nil, withoutPath(err)
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, withoutPath(err)
	}
	if len(data) > maxFileBytes {
		return nil, errors.New("larger than 1 MiB, which is no configuration file")
	}
	return data, nil
}

// withoutPath drops the path from a file error, for messages that name it already.
func withoutPath(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

func (l *loader) environment() {
	known := map[string]*key{}
	names := make([]string, 0, len(keys))
	for _, k := range keys {
		known[k.env()] = k
		names = append(names, k.env())
	}
	for _, e := range l.environ {
		if !strings.HasPrefix(e.name, "AGENT_") {
			continue
		}
		src := Source{Layer: LayerEnvironment, Name: e.name, dir: l.dir}
		k := known[e.name]
		switch {
		case strings.TrimSpace(e.value) == "":
			// Compose files and CI systems pass unset variables on as empty ones.
		case k != nil:
			l.set(k, src, e.value)
		case e.name == "AGENT_CHAT_FORMAT":
			l.notice(src, chatFormatNotice)
		default:
			// Other software uses this prefix too, so an unknown name can't be an error; a likely slip is worth a word.
			if near := Nearest(e.name, names); near != "" && len(near) > len("AGENT_")+4 && distance(e.name, near) <= 2 {
				l.notice(src, "unknown variable, ignored; did you mean %s?", near)
			}
		}
	}
}

func (l *loader) override(o Override) {
	src := Source{Layer: LayerFlag, Name: o.Flag, dir: l.dir}
	if k := find(o.Section, o.Key); k != nil {
		l.set(k, src, o.Value)
		return
	}
	if o.Section == "engine" && o.Key == "chat_format" {
		l.notice(src, chatFormatNotice)
		return
	}
	l.unknown(src, o.Section, o.Key)
}

// set applies plain text.
func (l *loader) set(k *key, src Source, text string) {
	if err := k.setText(l.config, text); err != nil {
		l.problem(src, k.id(), "", "%s = %s: %v", k.id(), printable(text), err)
		return
	}
	l.record(k, src)
}

const chatFormatNotice = "chat_format is no longer needed and has no effect: the model's own chat template is used; chat_template names another file"

// unknown reports a key that does not exist, with what was probably meant.
func (l *loader) unknown(src Source, section, name string) {
	id := strings.TrimPrefix(section+"."+name, ".")
	var here, names, everywhere, homes []string
	for _, k := range keys {
		names, everywhere = append(names, k.name), append(everywhere, k.id())
		if k.section == section {
			here = append(here, k.name)
		}
		if k.name == name {
			homes = append(homes, "["+k.section+"]")
		}
	}
	shown := printable(name)
	switch {
	case section == "" && len(homes) > 0:
		l.problem(src, id, "", "key %s must stand under %s", shown, either(homes))
	case section == "":
		l.problem(src, id, Nearest(name, slices.Concat(names, everywhere)), "key %s must stand under a section such as [agent]", shown)
	case len(here) == 0 && isSection(section):
		l.problem(src, id, "", "[%s] holds sections only, such as [%s]", section, subsection(section))
	case len(here) == 0 && len(homes) > 0:
		l.problem(src, id, "", "there is no section [%s]; key %s belongs in %s", section, shown, either(homes))
	case len(here) == 0:
		l.problem(src, id, Nearest(id, everywhere), "there is no section [%s]", section)
	default:
		near := Nearest(name, here)
		if near == "" && len(homes) > 0 {
			l.problem(src, id, "", "unknown key %s in [%s]; it belongs in %s", shown, section, either(homes))
			return
		}
		if near == "" {
			if near = Nearest(name, names); near != "" {
				near = everywhere[slices.Index(names, near)]
			}
		}
		l.problem(src, id, near, "unknown key %s in [%s]", shown, section)
	}
}

func subsection(section string) string {
	for _, k := range keys {
		if strings.HasPrefix(k.section, section+".") {
			return k.section
		}
	}
	return section
}

func either(names []string) string { return strings.Join(names, " or ") }

func find(section, name string) *key {
	for _, k := range keys {
		if k.section == section && k.name == name {
			return k
		}
	}
	return nil
}

// paths makes every path absolute.
func (l *loader) paths() {
	for _, k := range keys {
		if !k.paths {
			continue
		}
		src := l.config.sources[k]
		k.eachPath(l.config, func(p string) string {
			inWorkspace := l.config.Path(p)
			if !k.input || src.dir == "" || p == "" {
				return inWorkspace
			}
			beside := l.config.resolve(p, src.dir)
			if exists(beside) || !exists(inWorkspace) {
				return beside
			}
			return inWorkspace
		})
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// relations checks what one key demands of another.
func (l *loader) relations() {
	m := l.config.Memory
	if m.LifecycleContext && !m.ArtifactVirtualization {
		src := l.config.sources[find("memory", "lifecycle_context")]
		l.problem(src, "memory.lifecycle_context", "", "memory.lifecycle_context = true needs memory.artifact_virtualization = true")
	}
}

// printable quotes s for a message and bounds its length.
func printable(s string) string {
	const most = 200
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return inert(quote(s))
}

// inert makes s one line of valid text that a terminal shows and does not obey.
func inert(s string) string {
	return strings.Map(func(r rune) rune {
		// C1 controls and direction marks act on terminals although TOML allows them.
		if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}
