package ollama

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"time"

	"sunaba/fault"
	"sunaba/internal/agent"
)

// Info is what a server tells of itself and of the configured model.
type Info struct {
	Reachable    bool
	ModelPresent bool
	Capabilities []string // such as "tools", "vision", "thinking"; nil: an older server does not tell
	Version      string
}

const (
	checkTimeout = 10 * time.Second
	maxInfoBody  = 32 << 20 // /api/show carries licence and template texts
)

// Check asks the server once, without retries, whether it is there and has the
// model. An unreachable server or a missing model is an Info and no error;
// the error is ctx's alone.
func (c *Client) Check(ctx context.Context) (Info, error) {
	bounded, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var info Info
	var version struct {
		Version string `json:"version"`
	}
	if f := c.ask(bounded, http.MethodGet, "/api/version", nil, &version); f != nil {
		return info, ctx.Err()
	}
	info.Reachable, info.Version = true, version.Version
	capabilities, f := c.show(bounded)
	if f == nil {
		info.ModelPresent, info.Capabilities = true, capabilities
	}
	return info, ctx.Err()
}

// Vision reports whether the model takes images (OLL-09). The answer is asked
// for once and kept; a server too old to tell counts as no.
func (c *Client) Vision(ctx context.Context) (bool, error) {
	c.mu.Lock()
	known := c.vision
	c.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	var vision bool
	err := c.retrying(ctx, func() *failure {
		bounded, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		capabilities, f := c.show(bounded)
		vision = slices.Contains(capabilities, "vision")
		return f
	})
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	c.vision = &vision
	c.mu.Unlock()
	return vision, nil
}

// Preload makes the server load the model with the Client's window and returns
// the window it really gives, in tokens: it clamps num_ctx in silence. 0 when
// it does not say.
func (c *Client) Preload(ctx context.Context) (int, error) {
	type load struct {
		Model     string          `json:"model"`
		Stream    bool            `json:"stream"`
		KeepAlive json.RawMessage `json:"keep_alive"`
		Options   map[string]any  `json:"options"`
	}
	body, err := json.Marshal(load{c.cfg.Model, false, c.cfg.keepAlive(), c.options(agent.ChatRequest{})})
	if err != nil {
		return 0, err
	}
	var running struct {
		Models []struct {
			Name          string `json:"name"`
			ContextLength int    `json:"context_length"`
		} `json:"models"`
	}
	err = c.retrying(ctx, func() *failure {
		bounded, watch := watch(ctx, c.cfg)
		defer watch.stop()
		if f := c.ask(bounded, http.MethodPost, "/api/chat", body, &struct{}{}); f != nil {
			return watch.judge(f)
		}
		return watch.judge(c.ask(bounded, http.MethodGet, "/api/ps", nil, &running))
	})
	for _, m := range running.Models {
		if m.Name == c.cfg.Model || m.Name == c.cfg.Model+":latest" {
			return m.ContextLength, err
		}
	}
	return 0, err
}

func (c *Client) show(ctx context.Context) ([]string, *failure) {
	body, err := json.Marshal(map[string]string{"model": c.cfg.Model})
	if err != nil {
		return nil, unavailable(err)
	}
	var shown struct {
		Capabilities []string `json:"capabilities"`
	}
	f := c.ask(ctx, http.MethodPost, "/api/show", body, &shown)
	return shown.Capabilities, f
}

// ask sends one request whose answer is one JSON value.
func (c *Client) ask(ctx context.Context, method, path string, body []byte, answer any) *failure {
	resp, err := c.do(ctx, method, path, body)
	if err != nil {
		return unavailable(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return readError(resp)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxInfoBody))
	if err != nil {
		return unavailable(err)
	}
	if err := json.Unmarshal(raw, answer); err != nil {
		return &failure{fault: fault.Wrap(err, fault.LLMFailed, path, "detail", path)}
	}
	return nil
}
