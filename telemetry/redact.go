package telemetry

import (
	"cmp"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Redacted stands where a secret was.
const Redacted = "[redacted]"

// Bounds of texts, in bytes.
const (
	maxText   = 500     // of a text in a record
	maxLooked = 8 << 10 // of a text that is searched for secrets, or twice the longest secret; what is behind is dropped
	maxShape  = 4 << 10 // no secret without an end of its own is taken to be longer
	minShape  = 15      // no text below this has the shape of a secret, unless it has a name or a blank in it
	minSecret = 4       // shorter ones are too likely to be part of something else
)

// Redact replaces in a text everything that has the shape of a secret, and every one of secrets. It is pure, takes time linear in
// the text, and accepts any bytes.
//
// Shapes: keys and tokens of well-known services (sk-…, ghp_…, AKIA…, …), bearer tokens and Authorization headers, JSON Web Tokens,
// private keys in PEM, values of names such as password or api_key, and users with passwords in URLs.
//
// Each of secrets is also found as JSON and as URLs write it. Secrets of less than 4 bytes, or of blanks, are ignored.
func Redact(text string, secrets ...string) string { return newRedactor(secrets).redact(text) }

// A redactor is immutable.
type redactor struct {
	secrets *strings.Replacer
	longest int // bytes of the longest secret
}

func newRedactor(secrets []string) redactor {
	var forms []string
	for _, s := range secrets {
		if len(s) < minSecret || strings.TrimSpace(s) == "" {
			continue
		}
		query := url.QueryEscape(s)
		forms = append(forms, s, strings.TrimSpace(s), query, strings.ReplaceAll(query, "+", "%20"), url.PathEscape(s))
		if quoted, err := json.Marshal(s); err == nil {
			forms = append(forms, string(quoted[1:len(quoted)-1]))
		}
	}
	forms = slices.DeleteFunc(forms, func(s string) bool { return len(s) < minSecret })
	// Where two begin at the same place, the longer one is replaced.
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	forms = slices.Compact(forms)
	r := redactor{longest: maxShape}
	pairs := make([]string, 0, 2*len(forms))
	for _, s := range forms {
		pairs = append(pairs, s, Redacted)
		r.longest = max(r.longest, len(s))
	}
	r.secrets = strings.NewReplacer(pairs...)
	return r
}

// A value is what follows a name: text in quotes, in quotes that are escaped, or up to a blank or separator.
const value = `(?:\[redacted\]|\\+"[^"]*"?|"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[^\s"',;&}\])]+)`

// shapes are replaced in this order. What their groups match is kept.
var shapes = []*regexp.Regexp{
	regexp.MustCompile(`(?s)()-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z0-9 ]*-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY[A-Z0-9 ]*-----|\z)`),
	// user:password@ of a URL. A password may hold "@", so the last one before the path counts.
	regexp.MustCompile(`(?i)(\b[a-z][a-z0-9+.-]*://)[^\s/@:"']*:[^\s/"']*(@)`),
	regexp.MustCompile(`()\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*)*`),
	regexp.MustCompile(`()\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}`),
	regexp.MustCompile(`()(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,}|(?:AKIA|ASIA)[A-Z0-9]{16}` +
		`|xox[abeoprs]-[A-Za-z0-9-]{10,}|AIza[A-Za-z0-9_-]{30,}|\bya29\.[A-Za-z0-9_-]{16,}|\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}` +
		`|\b(?:hf|npm|gsk|dop_v1)_[A-Za-z0-9]{20,}|\b(?:xai|nvapi|pypi)-[A-Za-z0-9_-]{20,})`),
	regexp.MustCompile(`(?i)(\bbearer\s+)[A-Za-z0-9._~+/=-]{6,}`),
	regexp.MustCompile(`(?i)(\bauthorization\\*["']?\s*[:=]\s*\\*["']?(?:(?:basic|bearer|digest|token|negotiate)\s+)?)[^\s"',;\\]+`),
	regexp.MustCompile(`(?is)(` + secretName + `[\w.-]*\\*["']?\s*[:=]\s*)` + value),
	// "token" alone, but not counts of tokens.
	regexp.MustCompile(`(?is)((?:\b|[_.-])token\\*["']?\s*[:=]\s*)` + value),
	regexp.MustCompile(`(?is)(-(?:` + secretName + `|token)\s+)` + value),
}

const secretName = `(?:passwo?r?d|passphrase|pwd|secret|credential|api[_-]?key|access[_-]?key|private[_-]?key|(?:auth|access|refresh|session|id)[_-]?token)`

// isSecretName tells names whose value is a secret, whatever it looks like.
var isSecretName = regexp.MustCompile(`(?i)` + secretName + `|authorization|(?:^|[_.-])token$`)

// redact first replaces what is known to be secret: a shape could match a part of it and leave the rest.
func (r redactor) redact(text string) string {
	text = r.secrets.Replace(text)
	if len(text) < minShape && !strings.ContainsAny(text, ":= \t\n\f\r") {
		return text // most names
	}
	for _, shape := range shapes {
		text = shape.ReplaceAllString(text, "${1}"+Redacted+"${2}")
	}
	return text
}

// text makes a text fit for a record: without secrets, valid UTF-8, at most maxText bytes.
func (r redactor) text(s string) string {
	looked := max(maxLooked, 2*r.longest)
	cut := len(s) > looked
	if cut {
		s = s[:looked]
	}
	s = r.redact(s)
	if cut { // the end may be a part of a secret
		s = s[:max(len(s)-r.longest, 0)]
	}
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= maxText {
		return s
	}
	n := maxText - len("…")
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
