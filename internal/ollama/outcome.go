package ollama

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"sunaba/fault"
)

// failure is how one attempt failed: its fault, and whether the same request
// may be sent again, after how long at least.
type failure struct {
	fault *fault.Error
	retry bool
	after time.Duration
}

func unavailable(cause error) *failure {
	return &failure{fault: fault.Wrap(cause, fault.LLMUnavailable, "chat"), retry: true}
}

func final(code fault.Code, text string, pairs ...string) *failure {
	return &failure{fault: fault.Wrap(errors.New(text), code, "chat", pairs...)}
}

// finally makes the failures of one code that no repetition mends.
func finally(code fault.Code) func(text string) *failure {
	return func(text string) *failure { return final(code, text) }
}

// rules map a wording of the server, in lower case and on whatever status it
// comes, to a failure. The first rule with a matching phrase holds. A wording
// that quotes model output stays out of the fault's facts.
var rules = []struct {
	phrases []string
	make    func(text string) *failure
}{
	{[]string{"does not support tools"}, finally(fault.LLMNoTools)},
	{[]string{"does not support thinking", "think value"}, finally(fault.LLMNoThinking)},
	{[]string{
		"does not support image", "does not support vision", "does not support multimodal",
		"image input is not supported", "missing data required for image",
	}, finally(fault.LLMNoVision)},
	{[]string{"exceed_context_size_error", "exceeds the context length", "exceeds the available context size"}, overflow},
	{[]string{"failed to parse", "error parsing", "xml syntax error", "unexpected end of json"}, finally(fault.LLMBadOutput)},
	{[]string{
		"runner process has terminated", "runner process no longer running", "runner has unexpectedly stopped",
		"connection refused", "connection reset", "server busy", `": eof`,
	}, func(text string) *failure { return unavailable(errors.New(text)) }},
	{[]string{"eof"}, finally(fault.LLMBadOutput)},
	{[]string{"must be of type", "more system memory", "unable to load model"}, func(text string) *failure {
		return final(fault.LLMFailed, text, "detail", printable(text))
	}},
}

// classify turns an answer that is no reply into a failure, by its wording
// first and its status second: versions differ in the status, less in the words.
func classify(status int, text string, h http.Header) *failure {
	switch status {
	case http.StatusUnauthorized:
		return final(fault.LLMAuth, text, "signin_url", "ollama signin")
	case http.StatusTooManyRequests:
		f := final(fault.LLMRateLimited, text)
		f.after = retryAfter(h)
		f.retry = f.after <= maxRetryAfter
		return f
	}
	lower := strings.ToLower(text)
	for _, r := range rules {
		for _, p := range r.phrases {
			if strings.Contains(lower, p) {
				f := r.make(text)
				f.after = min(retryAfter(h), maxRetryAfter)
				return f
			}
		}
	}
	switch {
	case status == http.StatusNotFound && strings.Contains(text, "model"):
		return final(fault.LLMModelMissing, text)
	case status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout,
		status >= 500 && text == "":
		f := unavailable(errors.New(strconv.Itoa(status) + " " + text))
		f.after = min(retryAfter(h), maxRetryAfter)
		return f
	default:
		detail := strconv.Itoa(status)
		if text != "" {
			detail += " " + printable(text)
		}
		f := final(fault.LLMFailed, text, "detail", detail)
		f.retry = status >= 500
		return f
	}
}

// classifyBody is classify for an answer whose body is at hand.
func classifyBody(status int, body []byte, h http.Header) *failure {
	var e struct {
		Error     json.RawMessage `json:"error"`
		SigninURL string          `json:"signin_url"`
	}
	if json.Unmarshal(body, &e) != nil || len(e.Error) == 0 {
		return classify(status, strings.TrimSpace(string(body)), h)
	}
	f := classify(status, errorText(e.Error), h)
	if f.fault.Code == fault.LLMAuth && strings.HasPrefix(e.SigninURL, "https://") && len(e.SigninURL) <= 1024 {
		f.fault.Args["signin_url"] = printable(e.SigninURL)
	}
	return f
}

// errorText is the server's "error" member: a string, or (passed through from
// elsewhere) an object, which is kept as it is.
func errorText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// overflow reads how many tokens there were and how many fit. Newer servers
// put a JSON object with both into the error's string; older ones name neither.
func overflow(text string) *failure {
	type numbers struct {
		N    json.Number `json:"n_prompt_tokens"`
		NCtx json.Number `json:"n_ctx"`
	}
	var v struct {
		numbers
		Error numbers `json:"error"`
	}
	f := final(fault.LLMOverflow, text, "n", "", "n_ctx", "")
	if start := strings.IndexByte(text, '{'); start >= 0 {
		_ = json.NewDecoder(strings.NewReader(text[start:])).Decode(&v) // no numbers: both stay empty
	}
	for _, n := range []numbers{v.numbers, v.Error} {
		if n.N != "" {
			f.fault.Args["n"], f.fault.Args["n_ctx"] = n.N.String(), n.NCtx.String()
		}
	}
	return f
}

// maxRetryAfter bounds how long a server may make the client wait.
const maxRetryAfter = 60 * time.Second

// retryAfter reads the header in seconds; dates are not used by the server.
func retryAfter(h http.Header) time.Duration {
	s, err := strconv.Atoi(strings.TrimSpace(h.Get("Retry-After")))
	if err != nil || s < 0 {
		return 0
	}
	return time.Duration(min(s, 24*60*60)) * time.Second
}

// printable makes the server's words fit to be shown: one line, no control or
// bidi characters, at most 200 characters.
func printable(s string) string {
	var b bytes.Buffer
	n := 0
	for _, r := range s {
		if n == 200 {
			b.WriteString("…")
			break
		}
		switch {
		case unicode.IsSpace(r):
			r = ' '
		case !unicode.IsPrint(r):
			continue
		}
		b.WriteRune(r)
		n++
	}
	return strings.TrimSpace(b.String())
}
