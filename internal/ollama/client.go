package ollama

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"sunaba/fault"
	"sunaba/internal/agent"
)

// Client talks to one model on one Ollama server. It never logs, never follows
// a redirect, never uses a proxy, and may be used by several goroutines.
type Client struct {
	cfg  Config
	http *http.Client

	mu     sync.Mutex
	think  string // falls back when the model refuses the configured value
	vision *bool  // nil: not asked yet
}

var (
	_ agent.Model  = (*Client)(nil)
	_ agent.Vision = (*Client)(nil)
)

const connectTimeout = 10 * time.Second

// New checks cfg and returns a Client; it does no I/O.
func New(cfg Config) (*Client, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: connectTimeout}
	return &Client{cfg: cfg, think: cfg.Think, http: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: nil, DialContext: dialer.DialContext, TLSHandshakeTimeout: connectTimeout,
			DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
			MaxIdleConns: 4, IdleConnTimeout: 30 * time.Second,
		},
	}}, nil
}

// Close lets go of idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Chat sends r and returns the whole reply. A failure of the transport, a cut
// stream or a busy or broken server is tried again as configured (OLL-12);
// what a repetition cannot mend is returned at once. When ctx has ended, the
// error is ctx's. Images for a model that takes none are refused beforehand,
// because older servers ignore them in silence (OLL-09).
func (c *Client) Chat(ctx context.Context, r agent.ChatRequest) (agent.Reply, error) {
	for _, m := range r.Messages {
		if len(m.Images) == 0 {
			continue
		}
		if ok, err := c.Vision(ctx); err != nil {
			return agent.Reply{}, err
		} else if !ok {
			return agent.Reply{}, fault.New(fault.LLMNoVision, "chat", "model", c.cfg.Model)
		}
		break
	}
	var reply agent.Reply
	err := c.retrying(ctx, func() *failure {
		think := c.thinking()
		f := c.chatOnce(ctx, r, think, &reply)
		for f != nil && f.fault.Code == fault.LLMNoThinking {
			lower, ok := c.lowerThinking(think)
			if !ok {
				break
			}
			think = lower
			f = c.chatOnce(ctx, r, think, &reply)
		}
		return f
	})
	return reply, err
}

// retrying runs attempt until it succeeds, fails for good, or has used up the
// retries. Waits double, with jitter, and honour the server's wish.
func (c *Client) retrying(ctx context.Context, attempt func() *failure) error {
	wait := c.cfg.Backoff
	for n := 0; ; n++ {
		f := attempt()
		if f == nil {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if !f.retry || n == c.cfg.Retries {
			return c.complete(f.fault, n+1)
		}
		jittered := wait*3/4 + rand.N(wait/2+1)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(max(jittered, f.after)):
		}
		wait *= 2
	}
}

// complete adds the facts every text of the family may name.
func (c *Client) complete(f *fault.Error, attempts int) *fault.Error {
	args := fault.Args{"base_url": c.cfg.BaseURL, "model": c.cfg.Model, "attempts": strconv.Itoa(attempts)}
	for k, v := range f.Args {
		args[k] = v
	}
	if f.Code == fault.LLMOverflow && args["n"] == "" {
		args["n"], args["n_ctx"] = ">"+strconv.Itoa(c.cfg.NumCtx), strconv.Itoa(c.cfg.NumCtx)
	}
	return &fault.Error{Code: f.Code, Op: f.Op, Args: args, Err: f.Err}
}

// thinking returns the think value in force.
func (c *Client) thinking() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.think
}

// lowerThinking remembers that the model refused think: a level falls back to
// plain true, true to false (OLL-14a). False when nothing lower exists.
func (c *Client) lowerThinking(think string) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch think {
	case "low", "medium", "high":
		c.think = "true"
	case "true":
		c.think = "false"
	default:
		return think, false
	}
	return c.think, true
}

// chatOnce is one attempt, bounded as a whole, until its first chunk, and
// between chunks.
func (c *Client) chatOnce(ctx context.Context, r agent.ChatRequest, think string, reply *agent.Reply) *failure {
	body, err := c.body(r, think)
	if err != nil {
		return &failure{fault: fault.Wrap(err, fault.LLMFailed, "chat", "detail", "request")}
	}
	ctx, watch := watch(ctx, c.cfg)
	defer watch.stop()
	resp, err := c.post(ctx, "/api/chat", body)
	if err != nil {
		return watch.judge(unavailable(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return watch.judge(readError(resp))
	}
	whole, f := readReply(resp.Body, watch.progress)
	if f != nil {
		return watch.judge(f)
	}
	*reply = whole
	return nil
}

func (c *Client) post(ctx context.Context, path string, body []byte) (*http.Response, error) {
	return c.do(ctx, http.MethodPost, path, body)
}

func (c *Client) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.cfg.BaseURL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	return c.http.Do(req)
}

const maxErrorBody = 256 << 10

func readError(resp *http.Response) *failure {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil && len(body) == 0 {
		return unavailable(errors.Join(errCut, err))
	}
	return classifyBody(resp.StatusCode, body, resp.Header)
}
