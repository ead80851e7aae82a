package gbnf

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// ErrUnsupported is returned by Parse for grammars that name tokens: what they allow depends on a vocabulary.
var ErrUnsupported = errors.New("gbnf: the grammar names tokens")

// SyntaxError says where a text is no grammar.
type SyntaxError struct {
	Offset int // bytes
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("gbnf: at byte %d: %s", e.Offset, e.Reason)
}

const (
	// mostRepeats is llama.cpp's bound: a larger upper limit means none, and a larger lower one is refused.
	mostRepeats = 2000
	// maxNesting of groups.
	maxNesting = 500
)

// Parse reads a grammar whose first rule is "root", wherever it stands. Left recursion is not looked for: a [Machine]
// that meets it knows nothing.
func Parse(text string) (*Grammar, error) {
	p := &parser{text: text, rules: map[string]*rule{}}
	p.blanks(true)
	for p.at < len(p.text) {
		if err := p.rule(); err != nil {
			return nil, err
		}
	}
	for _, r := range p.order {
		if !r.defined {
			return nil, p.fail("rule %q is not defined", r.name)
		}
	}
	root := p.rules["root"]
	if root == nil {
		return nil, p.fail("no rule is called root")
	}
	return &Grammar{root: root}, nil
}

type parser struct {
	text    string
	at      int
	nesting int
	rules   map[string]*rule
	order   []*rule // as they are first named
}

func (p *parser) fail(format string, args ...any) error {
	return &SyntaxError{Offset: p.at, Reason: fmt.Sprintf(format, args...)}
}

// peek returns the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) skip(s string) bool {
	if len(p.text)-p.at >= len(s) && p.text[p.at:p.at+len(s)] == s {
		p.at += len(s)
		return true
	}
	return false
}

// blanks skips blanks and comments.
func (p *parser) blanks(newlines bool) {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == ' ' || c == '\t' || newlines && (c == '\r' || c == '\n'):
			p.at++
		case c == '#':
			for p.at < len(p.text) && p.text[p.at] != '\r' && p.text[p.at] != '\n' {
				p.at++
			}
		default:
			return
		}
	}
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || isDigit(c)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func (p *parser) name() (string, error) {
	start := p.at
	for isWord(p.peek()) {
		p.at++
	}
	if p.at == start {
		return "", p.fail("a name is missing")
	}
	return p.text[start:p.at], nil
}

// named returns the rule of a name, which may be defined later.
func (p *parser) named(name string) *rule {
	r := p.rules[name]
	if r == nil {
		r = &rule{name: name}
		p.rules[name] = r
		p.order = append(p.order, r)
	}
	return r
}

// rule reads one definition; a second one of the same name replaces the first.
func (p *parser) rule() error {
	name, err := p.name()
	if err != nil {
		return err
	}
	p.blanks(false)
	if !p.skip("::=") {
		return p.fail("::= is missing")
	}
	p.blanks(true)
	alts, err := p.alternatives(false)
	if err != nil {
		return err
	}
	r := p.named(name)
	r.alts, r.defined = alts, true
	if c := p.peek(); p.at < len(p.text) && c != '\r' && c != '\n' {
		return p.fail("the end of the line is missing")
	}
	p.blanks(true)
	return nil
}

func (p *parser) alternatives(nested bool) ([]*sequence, error) {
	var alts []*sequence
	for {
		seq, err := p.sequence(nested)
		if err != nil {
			return nil, err
		}
		alts = append(alts, &seq)
		if p.peek() != '|' {
			return alts, nil
		}
		p.at++
		p.blanks(true)
	}
}

func (p *parser) sequence(nested bool) (sequence, error) {
	var seq sequence
	symbol := 0 // where what a repetition repeats begins
	for p.at < len(p.text) {
		c := p.text[p.at]
		var add sequence
		var err error
		switch {
		case c == '"':
			add, err = p.literal()
		case c == '[':
			add, err = p.class()
		case c == '.':
			p.at++
			add = sequence{{chars: &charSet{inverted: true}}}
		case c == '(':
			add, err = p.group()
		case isWord(c):
			var name string
			name, err = p.name()
			add = sequence{{rule: p.named(name), least: 1, most: 1}}
		case c == '<' || c == '!':
			return nil, ErrUnsupported
		case c == '*' || c == '+' || c == '?' || c == '{':
			least, most, err := p.repetition(nested)
			if err != nil {
				return nil, err
			}
			if symbol == len(seq) {
				return nil, p.fail("there is nothing to repeat")
			}
			body := append(sequence(nil), seq[symbol:]...)
			seq = append(seq[:symbol], element{rule: &rule{defined: true, alts: []*sequence{&body}}, least: least, most: most})
			continue
		default:
			return seq, nil
		}
		if err != nil {
			return nil, err
		}
		p.blanks(nested)
		symbol = len(seq)
		seq = append(seq, add...)
	}
	return seq, nil
}

func (p *parser) group() (sequence, error) {
	if p.nesting++; p.nesting > maxNesting {
		return nil, p.fail("groups are nested more than %d deep", maxNesting)
	}
	defer func() { p.nesting-- }()
	p.at++
	p.blanks(true)
	alts, err := p.alternatives(true)
	if err != nil {
		return nil, err
	}
	if !p.skip(")") {
		return nil, p.fail(") is missing")
	}
	return sequence{{rule: &rule{defined: true, alts: alts}, least: 1, most: 1}}, nil
}

func (p *parser) literal() (sequence, error) {
	p.at++
	var seq sequence
	for p.peek() != '"' {
		c, err := p.char()
		if err != nil {
			return nil, err
		}
		seq = append(seq, element{chars: &charSet{ranges: []span{{c, c}}}})
	}
	p.at++
	return seq, nil
}

func (p *parser) class() (sequence, error) {
	p.at++
	set := &charSet{}
	if p.peek() == '^' {
		p.at++
		set.inverted = true
	}
	for p.peek() != ']' {
		lo, err := p.char()
		if err != nil {
			return nil, err
		}
		hi := lo
		if p.peek() == '-' && p.at+1 < len(p.text) && p.text[p.at+1] != ']' {
			p.at++
			if hi, err = p.char(); err != nil {
				return nil, err
			}
		}
		set.ranges = append(set.ranges, span{lo, hi})
	}
	if len(set.ranges) == 0 {
		return nil, p.fail("a set of characters is empty")
	}
	p.at++
	return sequence{{chars: set}}, nil
}

// char reads a character of a literal or set.
func (p *parser) char() (rune, error) {
	if p.at >= len(p.text) {
		return 0, p.fail("the text ends too early")
	}
	if p.text[p.at] != '\\' {
		c, n := utf8.DecodeRuneInString(p.text[p.at:])
		if c == utf8.RuneError && n <= 1 {
			return 0, p.fail("not UTF-8")
		}
		p.at += n
		return c, nil
	}
	if p.at+1 >= len(p.text) {
		return 0, p.fail("the text ends too early")
	}
	c := p.text[p.at+1]
	switch c {
	case 'x':
		return p.hex(2)
	case 'u':
		return p.hex(4)
	case 'U':
		return p.hex(8)
	case 't', 'r', 'n':
		p.at += 2
		return map[byte]rune{'t': '\t', 'r': '\r', 'n': '\n'}[c], nil
	case '\\', '"', '[', ']', '-':
		p.at += 2
		return rune(c), nil
	}
	return 0, p.fail("an unknown escape")
}

func (p *parser) hex(digits int) (rune, error) {
	from := p.at + 2
	if from+digits > len(p.text) {
		return 0, p.fail("an escape ends too early")
	}
	v, err := strconv.ParseUint(p.text[from:from+digits], 16, 31)
	if err != nil {
		return 0, p.fail("not %d hexadecimal digits", digits)
	}
	p.at = from + digits
	return rune(v), nil
}

func (p *parser) number() (int, error) {
	start := p.at
	for isDigit(p.peek()) {
		p.at++
	}
	n, err := strconv.Atoi(p.text[start:p.at])
	if err != nil {
		return 0, p.fail("a number is missing or too large")
	}
	return n, nil
}

// repetition reads *, +, ?, {n}, {n,} or {n,m}; most < 0: without a limit.
func (p *parser) repetition(nested bool) (least, most int, err error) {
	c := p.peek()
	p.at++
	p.blanks(nested)
	switch c {
	case '*':
		return 0, -1, nil
	case '+':
		return 1, -1, nil
	case '?':
		return 0, 1, nil
	}
	if least, err = p.number(); err != nil {
		return 0, 0, err
	}
	p.blanks(nested)
	most = least
	if p.skip(",") {
		p.blanks(nested)
		most = -1
		if isDigit(p.peek()) {
			if most, err = p.number(); err != nil {
				return 0, 0, err
			}
			p.blanks(nested)
		}
	}
	if !p.skip("}") {
		return 0, 0, p.fail("} is missing")
	}
	p.blanks(nested)
	if least > mostRepeats || most >= 0 && most < least {
		return 0, 0, p.fail("a repetition of %d to %d times", least, most)
	}
	if most > mostRepeats {
		most = -1
	}
	return least, most, nil
}
