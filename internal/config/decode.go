package config

import (
	"net/netip"
	"net/url"
	"strings"
	"time"

	"sunaba/fault"
)

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

// decode fills s from the merged tree, in the order of CONTRACT §2. What is
// wrong is collected; a field that is wrong keeps its default.
func (d *decoder) decode(s *Settings, root *node) {
	top := cursor{d: d, node: root}.object()
	if !d.version(top) {
		return
	}
	before := len(d.problems)
	d.versionOne(root)
	if len(d.problems) > before {
		top.node = withoutVersionOne(root)
	}
	d.application(&s.Application, top.at("application").object())
	d.mcp(&s.MCP, top.at("mcp").object())
	d.ollama(&s.Ollama, top.at("ollama").object())
	d.agent(&s.Agent, top.at("agent").object())
	d.skills(&s.Skills, top.at("skills").object())
	d.sandbox(&s.Sandbox, top.at("sandbox").holdsRequired().object())
	d.approval(&s.Approval, top.at("approval").object())
	d.logging(&s.Logging, top.at("logging").object())
	top.done()
	if s.Sandbox.Workspace.Policy == "approve_outside" && len(s.Approval.Channels) > 0 {
		d.policy.unavailable("approve_outside")
	}
}

func (d *decoder) application(a *Application, o *object) {
	c := o.at("language")
	a.Language = c.line("en")
	if a.Language == "" || strings.ContainsAny(a.Language, `/\. `) {
		c.problem(fault.ConfigValue, "language", "value", a.Language)
		a.Language = ""
	}
	o.done()
}

func (d *decoder) mcp(m *MCP, o *object) {
	m.Transport = o.at("transport").word("stdio", "stdio", "http")
	h := o.at("http").object()
	m.HTTP.Listen = listen(h.at("listen"))
	m.HTTP.Peer = h.at("peer").word("same_user", "same_user", "any")
	h.done()
	t := o.at("tasks").object()
	m.Tasks.TTL = t.at("ttl").duration(24*time.Hour, time.Minute, 30*24*time.Hour)
	m.Tasks.PollInterval = t.at("poll_interval").duration(2*time.Second, 100*time.Millisecond, time.Minute)
	t.done()
	o.done()
}

// listen reads the addresses of the HTTP transport: literal loopback addresses
// only, since a name could come to mean something else (S1-245).
func listen(c cursor) []string {
	if !c.given() {
		cursor{d: c.d, path: c.path + "[0]"}.note("127.0.0.1:8765")
		return []string{"127.0.0.1:8765"}
	}
	var out []string
	seen := map[netip.AddrPort]bool{}
	for _, item := range c.items() {
		text, ok := item.rawText()
		addr, err := netip.ParseAddrPort(text)
		switch {
		case !ok: // reported
		case err != nil:
			item.problem(fault.ConfigValue, "listen_form", "value", text)
		case !addr.Addr().IsLoopback() || addr.Addr().Is4In6() || addr.Addr().Zone() != "":
			item.problem(fault.ConfigValue, "listen_loopback", "value", text)
		case addr.Port() != 0 && seen[addr]:
			item.problem(fault.ConfigValue, "twice", "value", text)
		default:
			seen[addr] = true
			out = append(out, addr.String())
			item.note(addr.String())
		}
	}
	if c.node.kind == sequence && len(c.node.items) == 0 {
		c.problem(fault.ConfigValue, "listen_none")
	}
	return out
}

func (d *decoder) ollama(m *Ollama, o *object) {
	m.BaseURL = baseURL(o.at("base_url"))
	model := o.at("model")
	m.Model = model.line("qwen3:8b")
	if m.Model == "" || strings.ContainsAny(m.Model, " ") {
		model.problem(fault.ConfigValue, "model", "value", m.Model)
	}
	m.Think = think(o.at("think"))
	m.KeepAlive = o.at("keep_alive").duration(10*time.Minute, 0, 365*24*time.Hour)
	m.RequestTimeout = o.at("request_timeout").duration(10*time.Minute, time.Second, 24*time.Hour)
	r := o.at("retry").object()
	m.Retry.Retries = r.at("retries").count(3, 0, 100)
	m.Retry.Backoff = r.at("backoff").duration(500*time.Millisecond, 0, time.Minute)
	r.done()
	d.options(m, o.at("options"), o.at("extra_options"))
	v := o.at("vision").object()
	m.Vision.MaxImages = v.at("max_images").count(4, 0, 1000)
	m.Vision.MaxImageBytes = v.at("max_image_bytes").size(5*mib, 1, gib)
	m.Vision.MaxRequestBytes = v.at("max_request_bytes").size(16*mib, 1, gib)
	v.done()
	o.done()
}

func baseURL(c cursor) string {
	const def = "http://127.0.0.1:11434"
	text := c.line(def)
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", u.RawQuery != "", u.Fragment != "":
		c.problem(fault.ConfigValue, "base_url")
		return def
	case u.User != nil:
		c.problem(fault.ConfigValue, "base_url_credentials")
		return def
	}
	return strings.TrimRight(text, "/")
}

// think reads false, true or a level; YAML's other booleans are refused.
func think(c cursor) string {
	v := "false"
	if t, ok := c.scalar(); ok {
		switch {
		case c.node.plain && (t == "true" || t == "false"), t == "low", t == "medium", t == "high":
			v = t
		default:
			c.problem(fault.ConfigValue, "word", "value", t, "allowed", "false, true, low, medium, high")
		}
	}
	c.note(v)
	return v
}

func (d *decoder) agent(a *Agent, o *object) {
	a.MaxIterations = o.at("max_iterations").count(128, 1, 100000)
	a.MaxRepeatedFailures = o.at("max_repeated_failures").count(5, 1, 1000)
	a.MaxReplans = o.at("max_replans").count(3, 0, 100)
	a.MaxTasks = o.at("max_tasks").count(32, 1, 1000)
	compact := o.at("compact_at")
	if a.CompactAt = compact.number(0.80, 0.1, 1); a.CompactAt != 0.80 {
		compact.unavailable("only_default", "default", "0.80")
	}
	a.MustReadFirst = o.at("must_read_first").boolean(true)
	a.UserSystemPrompt, a.UserPromptText = o.at("user_system_prompt").prompt()
	r := o.at("results").object()
	a.Results = Results{
		ReadLines:    r.at("read_lines").count(2000, 1, 1000000),
		ReadBytes:    r.at("read_bytes").size(16*kib, 256, gib),
		Entries:      r.at("entries").count(1000, 1, 1000000),
		Matches:      r.at("matches").count(250, 1, 1000000),
		CommandLines: r.at("command_lines").count(80, 1, 1000000),
		CommandBytes: r.at("command_bytes").size(12*kib, 256, gib),
	}
	r.done()
	a.EditMemoryLimit = o.at("edit_memory_limit").size(8*mib, kib, 16*gib)
	o.done()
}

func (d *decoder) skills(s *Skills, o *object) {
	c := o.at("directories")
	for _, item := range c.items() {
		s.Directories = append(s.Directories, item.filePath())
	}
	if len(s.Directories) > 0 {
		c.unavailable("skills")
	}
	o.done()
}

func (d *decoder) approval(a *Approval, o *object) {
	c := o.at("channels")
	a.Channels = []string{"local"}
	if c.given() {
		a.Channels = nil
		for _, item := range c.items() {
			switch w := item.word("local", "local", "client"); {
			case w == "client":
				item.unavailable("channel_client")
			case len(a.Channels) > 0:
				item.problem(fault.ConfigValue, "twice", "value", w)
			default:
				a.Channels = append(a.Channels, w)
			}
		}
	} else {
		cursor{d: d, path: c.path + "[0]"}.note("local")
	}
	a.Timeout = o.at("timeout").duration(300*time.Second, time.Second, 24*time.Hour)
	o.done()
}

func (d *decoder) logging(l *Logging, o *object) {
	l.Level = o.at("level").word("info", "debug", "info", "warn", "error")
	l.LLM = o.at("llm").boolean(true)
	o.done()
}
