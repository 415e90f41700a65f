package ollama

import (
	"encoding/json"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sunaba/fault"
)

// Config is what a Client needs to know; it never changes afterwards, because
// another num_ctx or num_thread would make the server load the model anew.
type Config struct {
	BaseURL string // http or https, no user info; a path prefix is kept
	Model   string
	Think   string // "false" (also ""), "true", "low", "medium", "high" (OLL-14a)

	KeepAlive      time.Duration // how long the server keeps the model; 0: unloads at once; negative: for ever
	RequestTimeout time.Duration // one attempt as a whole; 0: 10 minutes
	FirstByte      time.Duration // until the first chunk, loading included; 0: as RequestTimeout
	Idle           time.Duration // between chunks; nothing arrives while a tool call is written; 0: 5 minutes
	Retries        int           // after the first attempt (C-86); negative: none
	Backoff        time.Duration // before the first retry, doubled each time; 0: 500 ms

	NumCtx  int            // the window in tokens; 0: Options' num_ctx, else 16384
	Options map[string]any // known options, already typed (OLL-03, OLL-04)
	Extra   map[string]any // passed through; an option the client or Options sets wins (OLL-05)
}

const (
	defaultRequestTimeout = 10 * time.Minute
	defaultIdle           = 5 * time.Minute
	defaultBackoff        = 500 * time.Millisecond
	defaultNumCtx         = 16384
	defaultNumPredict     = 4096
)

// thinkValues maps the configured word to its place on the wire.
var thinkValues = map[string]json.RawMessage{
	"":       json.RawMessage(`false`),
	"false":  json.RawMessage(`false`),
	"true":   json.RawMessage(`true`),
	"low":    json.RawMessage(`"low"`),
	"medium": json.RawMessage(`"medium"`),
	"high":   json.RawMessage(`"high"`),
}

// complete checks c and fills in its defaults.
func (c Config) complete() (Config, error) {
	u, err := url.Parse(c.BaseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return c, fault.New(fault.ConfigValue, "ollama", "key", "ollama.base_url")
	}
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	if c.Model == "" {
		return c, fault.New(fault.ConfigValue, "ollama", "key", "ollama.model")
	}
	if _, known := thinkValues[c.Think]; !known {
		return c, fault.New(fault.ConfigValue, "ollama", "key", "ollama.think")
	}
	if c.NumCtx == 0 {
		c.NumCtx = integer(c.Options["num_ctx"])
	}
	if c.NumCtx <= 0 {
		c.NumCtx = defaultNumCtx
	}
	orDefault(&c.RequestTimeout, defaultRequestTimeout)
	orDefault(&c.FirstByte, c.RequestTimeout)
	orDefault(&c.Idle, min(defaultIdle, c.RequestTimeout))
	orDefault(&c.Backoff, defaultBackoff)
	c.Retries = max(c.Retries, 0)
	return c, nil
}

func orDefault(d *time.Duration, def time.Duration) {
	if *d <= 0 {
		*d = def
	}
}

// numPredict is the upper bound of generated tokens: what the request asks
// for, else what is configured, else a default. It always exists (an endless
// generation would hold the Task until its timeout) and never exceeds the
// window; "unlimited" means half of the window.
func (c Config) numPredict(asked int) int {
	switch n := integer(c.Options["num_predict"]); {
	case asked > 0:
		return min(asked, c.NumCtx)
	case n > 0:
		return min(n, c.NumCtx)
	case n < 0:
		return max(c.NumCtx/2, 1)
	default:
		return max(min(defaultNumPredict, c.NumCtx/2), 1)
	}
}

// keepAlive is KeepAlive as the server reads it.
func (c Config) keepAlive() json.RawMessage {
	switch {
	case c.KeepAlive < 0:
		return json.RawMessage(`-1`)
	case c.KeepAlive == 0:
		return json.RawMessage(`0`)
	default:
		return json.RawMessage(strconv.Quote(c.KeepAlive.String()))
	}
}

// integer reads a whole number out of what a YAML or JSON reader left; 0 when
// v is none.
func integer(v any) int {
	switch n := v.(type) {
	case int:
		return n
	case int64:
		return int(n)
	case uint64:
		if n > math.MaxInt32 {
			return math.MaxInt32
		}
		return int(n)
	case float64:
		if n != math.Trunc(n) || math.Abs(n) > math.MaxInt32 {
			return 0
		}
		return int(n)
	case json.Number:
		i, err := n.Int64()
		if err != nil {
			return 0
		}
		return int(i)
	default:
		return 0
	}
}
