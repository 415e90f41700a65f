package audit

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Case AUD-004 and its kind: credentials in the forms in which they travel.
func TestRedact(t *testing.T) {
	const secret = "p@ss w0rd/&\"quoted\""
	quoted, _ := json.Marshal(secret)
	multi := "{\n \"token\": \"t4-long-enough\"\n}"
	r := NewRedactor(secret, multi, "on", "")
	for name, row := range map[string]struct{ text, want string }{
		"configured":      {"x " + secret + " y", "x [redacted] y"},
		"within a word":   {"x" + secret + "y", "x[redacted]y"},
		"JSON":            {`{"a":` + string(quoted) + `}`, `{"a":"[redacted]"}`},
		"in a query":      {"?a=" + url.QueryEscape(secret) + "&b", "?a=[redacted]&b"},
		"a line of it":    {`out:  "token": "t4-long-enough"`, "out:  [redacted]"},
		"short values":    {"on and on", "on and on"},
		"header":          {"Authorization: Bearer abc.def", "Authorization: Bearer [redacted]"},
		"header, basic":   {"authorization:Basic dXNlcjpwdw==\nHost: x", "authorization:Basic [redacted]\nHost: x"},
		"header, bare":    {"Proxy-Authorization: abcdef", "Proxy-Authorization: [redacted]"},
		"header in JSON":  {`{"Authorization": "Bearer abc.def", "a": 1}`, `{"Authorization": "Bearer [redacted]", "a": 1}`},
		"header, escaped": {`{\"Authorization\":\"Bearer abc.def\"}`, `{\"Authorization\":\"Bearer [redacted]\"}`},
		"bearer alone":    {"curl with bearer abc.def-ghi", "curl with bearer [redacted]"},
		"PEM":             {"a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nb", "a\n[redacted]\nb"},
		"PEM, cut":        {"a -----BEGIN PRIVATE KEY-----\nMIIE", "a [redacted]"},
		"PEM, two":        {"-----BEGIN A-----x-----END A----- y -----BEGIN A-----z-----END A-----", "[redacted] y [redacted]"},
		"URL":             {"git clone https://user:pw@host/x:y@z", "git clone https://[redacted]@host/x:y@z"},
		"URL, no user":    {"redis://:pw@host:6379/0", "redis://[redacted]@host:6379/0"},
		"URL without":     {"https://host:8080/a@b ssh://git@host/x", "https://host:8080/a@b ssh://git@host/x"},
		"environment":     {"HOME=/root\nAPI_KEY=abcd1234\nAWS_SECRET_ACCESS_KEY='x/y+zz'", "HOME=/root\nAPI_KEY=[redacted]\nAWS_SECRET_ACCESS_KEY='[redacted]'"},
		"known prefix":    {"use ghp_0123456789abcdefghijABCDEFGHIJ now", "use [redacted] now"},
		"behind an escape": {`{"a":"x\nBearer abc.defg\tghp_0123456789abcdefghijABCDEFGHIJ\rAPI_KEY=abcd1234 \u003csk-0123456789abcdefghij"}`,
			`{"a":"x\nBearer [redacted]\t[redacted]\rAPI_KEY=[redacted] \u003c[redacted]"}`},
		"within other words": {"nghp_0123456789abcdefghijABCDEFGHIJ forbearer abcdefgh", "nghp_0123456789abcdefghijABCDEFGHIJ forbearer abcdefgh"},
		"ordinary text":      {"token := next(); secret = 5; the bearer of it", "token := next(); secret = 5; the bearer of it"},
		"Japanese":           {"鍵は Authorization: Bearer abc.def です", "鍵は Authorization: Bearer [redacted] です"},
		"nothing":            {"", ""},
		"base64, one line":   {"x " + base64.StdEncoding.EncodeToString([]byte(secret)) + " y", ""},
	} {
		got := r.Redact(row.text)
		if name == "base64, one line" {
			if strings.Contains(got, base64.StdEncoding.EncodeToString([]byte(secret))[4:20]) {
				t.Errorf("%s: %q", name, got)
			}
			continue
		}
		if got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
	var none *Redactor
	if got := none.Redact("Authorization: Bearer abc.def"); got != "Authorization: Bearer [redacted]" {
		t.Errorf("nil: %q", got)
	}
}

// A configured value is found in a Base64 text wherever it stands in what was
// encoded, and nothing of it can be decoded again.
func TestBase64AtEveryOffset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-zA-Z0-9+/=!]{12,40}`).Draw(t, "secret")
		before := rapid.StringMatching(`[a-z ]{0,7}`).Draw(t, "before")
		after := rapid.StringMatching(`[a-z ]{0,7}`).Draw(t, "after")
		r := NewRedactor(secret)
		for name, e := range map[string]*base64.Encoding{
			"std": base64.StdEncoding, "url": base64.URLEncoding, "raw": base64.RawStdEncoding,
		} {
			text := e.EncodeToString([]byte(before + secret + after))
			if got := r.Redact(text); !strings.Contains(got, removed) {
				t.Fatalf("%s: %q of %q", name, got, text)
			}
		}
	})
}

// Redacting twice is redacting once, and no configured value survives.
func TestRedactLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[A-Z0-9]{6,20}`).Draw(t, "secret")
		parts := rapid.SliceOf(rapid.SampledFrom([]string{
			secret, "Authorization: ", "Bearer ", "https://", "user:pw@", "host", " ", "\n", `"`, "API_KEY=",
			"-----BEGIN X-----", "-----END X-----", "=", "日", secret[:3],
		})).Draw(t, "parts")
		r := NewRedactor(secret)
		once := r.Redact(strings.Join(parts, ""))
		if strings.Contains(once, secret) {
			t.Fatalf("%q survives in %q", secret, once)
		}
		if twice := r.Redact(once); twice != once {
			t.Fatalf("%q, then %q", once, twice)
		}
	})
}
