package audit

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"sunaba/internal/pattern"
)

// removed stands where a secret stood.
const removed = "[redacted]"

// minSecret is the length in bytes from which a configured value is taken for
// a secret; shorter ones, such as "1" or "on", would blot out ordinary text.
const minSecret = 4

// edge is where a word begins, also behind an escape in a text that is JSON: to
// \b alone "\nghp_" is one word. It is a group, kept in a replacement.
const edge = `(\b|\\[bfnrt]|\\u[0-9A-Fa-f]{4})`

// credential is a form in which credentials travel, whoever owns them.
type credential struct {
	words []string // lower case: a text with none of them need not be searched (the search is slow)
	form  func() *regexp.Regexp
	keep  string // what replaces a match
}

var credentials = []credential{
	{
		[]string{"-----begin"},
		pattern.Lazy(`(?s)-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|\z)`),
		removed,
	},
	{
		[]string{"authorization"},
		pattern.Lazy(`(?i)(authorization\\*["']?\s*[:=]\s*\\*["']?(?:(?:bearer|basic|digest|negotiate|token)\s+)?)[^\s"'\\,;]+`),
		"${1}" + removed,
	},
	{
		[]string{"bearer"},
		pattern.Lazy(`(?i)` + edge + `(bearer\s+)[a-z0-9._~+/=-]{6,}`),
		"${1}${2}" + removed,
	},
	{
		[]string{"://"},
		pattern.Lazy(`(\b[A-Za-z][A-Za-z0-9+.-]*://)[^\s/:@"']*:[^\s/@"']+@`),
		"${1}" + removed + "@",
	},
	{
		[]string{"password", "passwd", "secret", "token", "api_key", "apikey", "access_key", "private_key"},
		pattern.Lazy(edge + `((?:[A-Z0-9]+_)*(?:PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|ACCESS_KEY|PRIVATE_KEY)(?:_[A-Z0-9]+)*\\*["']?\s*[:=]\s*\\*["']?)[^\s"'\\,;]{4,}`),
		"${1}${2}" + removed,
	},
	{
		[]string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "sk-", "xox", "akia"},
		pattern.Lazy(edge + `(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|sk-[A-Za-z0-9_-]{20,}|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[A-Z0-9]{16})`),
		"${1}" + removed,
	},
}

// Redactor removes credentials from text: configured values, also in their
// Base64, JSON and URL forms, and the general patterns. It works on whole
// texts, before they are cut, so that no border splits a secret. It is
// immutable; the nil Redactor knows the patterns only. (AUD-004)
type Redactor struct{ values []string } // longest first

// NewRedactor returns a Redactor for the given secret values. Of a value with
// several lines every line counts by itself, too.
func NewRedactor(secrets ...string) *Redactor {
	var values []string
	for _, s := range secrets {
		values = append(values, forms(s)...)
		if lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }); len(lines) > 1 {
			for _, line := range lines {
				if line = strings.TrimSpace(line); len(line) >= 2*minSecret {
					values = append(values, forms(line)...)
				}
			}
		}
	}
	slices.SortFunc(values, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return &Redactor{values: slices.Compact(values)}
}

// Redact returns text without its secrets.
func (r *Redactor) Redact(text string) string {
	if text == "" {
		return text
	}
	if r != nil {
		for _, v := range r.values {
			text = strings.ReplaceAll(text, v, removed)
		}
	}
	lower := strings.ToLower(text)
	for _, p := range credentials {
		if slices.ContainsFunc(p.words, func(w string) bool { return strings.Contains(lower, w) }) {
			text = p.form().ReplaceAllString(text, p.keep)
		}
	}
	return text
}

// forms returns the shapes in which a value may stand in a text.
func forms(s string) []string {
	if len(s) < minSecret {
		return nil
	}
	all := []string{s, url.QueryEscape(s), url.PathEscape(s)}
	for _, encode := range []func(any) ([]byte, error){json.Marshal, marshal} { // with and without HTML's escapes
		if quoted, err := encode(s); err == nil {
			all = append(all, string(quoted[1:len(quoted)-1]))
		}
	}
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			if b := aligned(e, s, shift); len(b) >= 2*minSecret {
				all = append(all, b)
			}
		}
	}
	return all
}

// aligned is the part of a Base64 text that s alone decides when s stands at
// an offset of shift bytes modulo three within what was encoded.
func aligned(e *base64.Encoding, s string, shift int) string {
	text := e.EncodeToString(append(make([]byte, shift), s...))
	first := (shift*8 + 5) / 6
	last := (shift + len(s)) * 8 / 6
	return text[first:last]
}
