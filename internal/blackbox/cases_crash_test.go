package blackbox

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func (c *client) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// TestCasesCrash: after a crash nothing is done a second time, and no damaged
// file keeps the server from starting.
//
// Covers: REC-06, MCP-2026-07
func TestCasesCrash(t *testing.T) {
	h := newHouse(t, "")
	h.apply()
	var damaged string // a task of a run whose files get damaged

	// During the command: TestKilledServer. Here before it, and after it while
	// nobody knows its result yet.
	t.Run("CRSH-001", func(t *testing.T) {
		h.t = t
		line := do("run_command", args{"command": "echo line >> lines"})
		for name, c := range map[string]struct {
			turns func(hang turn) []turn
			want  string
		}{
			"before": {func(hang turn) []turn { return []turn{hang, line} }, "<missing>"},
			"after":  {func(hang turn) []turn { return []turn{line, hang} }, "line\n"},
		} {
			_ = os.Remove(h.path("lines"))
			b := &box{house: h, c: h.serve()}
			b.is(t)
			reached, release := make(chan struct{}), make(chan struct{})
			b.model.play("execute", c.turns(turn{raw: func(http.ResponseWriter) { close(reached); <-release }})...)
			ticket, _ := b.c.tool("agent_run", args{"request": name})
			<-reached
			b.c.kill()
			close(release)
			b.c = h.serve()
			b.is(t)
			status, _ := b.c.tool("agent_status", args{"task_id": ticket["task_id"], "wait_seconds": 1})
			e, _ := status["error"].(args)
			if status["status"] != "failed" || e["code"] != "agent.server_restarted" {
				t.Errorf("%s: %v", name, status)
			}
			b.holds("lines", c.want)
			b.model.play("none")
			if status, _ := b.c.job("go on"); status["status"] != "completed" {
				t.Errorf("%s: afterwards %v", name, status)
			}
			b.holds("lines", c.want)
			b.c.kill()
			damaged = fmt.Sprint(ticket["task_id"])
		}
	})

	t.Run("CRSH-003", func(t *testing.T) {
		h.t = t
		whole := filepath.Join(h.dir, "whole")
		if err := os.CopyFS(whole, os.DirFS(h.state)); err != nil {
			t.Fatal(err)
		}
		var files []string // one of each kind
		kinds := map[string]bool{}
		_ = filepath.WalkDir(whole, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && !strings.Contains(path, "/log/") {
				rel, _ := filepath.Rel(whole, path)
				kind := filepath.Base(rel)
				if strings.Contains(rel, "/applied/") {
					kind = "applied" + filepath.Ext(rel)
				}
				if !kinds[kind] {
					kinds[kind] = true
					files = append(files, rel)
				}
			}
			return nil
		})
		harm := map[string]func(path string) error{
			"empty": func(p string) error { return os.Truncate(p, 0) },
			"half": func(p string) error {
				info, err := os.Stat(p)
				if err != nil {
					return err
				}
				return os.Truncate(p, info.Size()/2)
			},
			"other": func(p string) error { return os.WriteFile(p, []byte("{\"v\":99,\"schema_version\":99}\n"), 0o600) },
			"noise": func(p string) error { return os.WriteFile(p, []byte("\x00\xff\n{}\n[]\n\"x\"\n"), 0o600) },
			"directory": func(p string) error {
				if err := os.Remove(p); err != nil {
					return err
				}
				return os.Mkdir(p, 0o700)
			},
			"closed": func(p string) error { return os.Chmod(p, 0) },
		}
		restore := func() {
			t.Helper()
			if err := os.RemoveAll(h.state); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(h.state, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			err := filepath.WalkDir(filepath.Join(h.state, "agent-mcp"), func(path string, d fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				return os.Chmod(path, map[bool]os.FileMode{true: 0o700, false: 0o600}[d.IsDir()])
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		healthy := 0
		for _, file := range files {
			for name, damage := range harm {
				restore()
				if err := damage(filepath.Join(h.state, file)); err != nil {
					t.Fatal(err)
				}
				code, _, errs := h.agent(h.config) // serves until the end of input
				switch {
				case strings.Contains(file, "/applied/") && strings.HasSuffix(file, ".json"):
					if code != 2 && !(code == 0 && name == "closed" && os.Geteuid() == 0) || code == 2 && !strings.Contains(errs, "apply") {
						t.Errorf("%s %s: exit %d\n%s", name, file, code, errs)
					}
				case code != 0 && !(code == 2 && strings.Contains(errs, filepath.Dir(file))):
					t.Errorf("%s %s: exit %d\n%s", name, file, code, errs)
				case code == 2: // what may be left, or who may be at work, is not guessed (C-75, C-92)
					if !strings.HasSuffix(file, "journal.jsonl") && !strings.HasSuffix(file, "lock") {
						t.Errorf("%s %s keeps the server from starting\n%s", name, file, errs)
					}
				default:
					healthy++
				}
			}
		}
		if healthy == 0 || len(files) < 4 {
			t.Errorf("%d starts with damaged files of %v: the test shows nothing", healthy, files)
		}
		// A damaged ledger: the job is unknown or interrupted, others go on.
		restore()
		ledgers, _ := filepath.Glob(filepath.Join(h.state, "agent-mcp", "run", "*", "ledger.jsonl"))
		for _, l := range ledgers {
			if err := harm["half"](l); err != nil {
				t.Fatal(err)
			}
		}
		b := &box{house: h, c: h.serve()}
		b.is(t)
		status, text := b.c.tool("agent_status", args{"task_id": damaged})
		if status["status"] != "failed" && status["isError"] != true {
			t.Errorf("%v\n%s", status, text)
		}
		b.must("list_files", args{})
		b.c.stop()
	})

	// A torn last line is never joined to the next record: a process begins a
	// file of its own.
	t.Run("AUD-002", func(t *testing.T) {
		h.t = t
		old, _ := filepath.Glob(filepath.Join(h.state, "agent-mcp", "log", "audit-*.jsonl"))
		if len(old) == 0 {
			t.Fatal("no audit file")
		}
		torn := map[string]string{}
		for _, f := range old {
			torn[f] = h.read(f) + `{"seq":99,"event":"tool.ca`
			if err := os.WriteFile(f, []byte(torn[f]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		b := &box{house: h, c: h.serve()}
		b.is(t)
		b.must("list_files", args{})
		b.c.kill()
		now, _ := filepath.Glob(filepath.Join(h.state, "agent-mcp", "log", "audit-*.jsonl"))
		for _, f := range now {
			text := h.read(f)
			if before, ok := torn[f]; ok {
				if text != before {
					t.Errorf("%s was touched", f)
				}
				_ = os.Remove(f)
			} else if !strings.HasSuffix(text, "\n") || !strings.Contains(text, strings.Repeat("0", 64)) {
				t.Errorf("%s: %s", f, clip(text))
			}
		}
		if len(now) != len(old)+1 || len(h.audit()) == 0 { // audit parses strictly
			t.Errorf("%d files, then %d", len(old), len(now))
		}
	})
}

// TestCasesSecrets: credentials stay out of everything that is kept or told.
//
// Covers: S1-226
func TestCasesSecrets(t *testing.T) {
	const configured = "kf93-configured-value-zz"
	pem := "-----BEGIN PRIVATE KEY-----\nMIIBVQIBADANBgkqhkiG9w0BAQEFAASCAT8\nqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq\n-----END PRIVATE KEY-----\n"
	b := open(t, "sandbox:\n  workspace: { root: ./project, properties: { environment: { BUILD_STAMP: "+configured+" } } }\n  execution: { entries: [ { alias: sh, path: /bin/sh } ] }\n",
		"logging: { level: debug, llm: true }\n", func(h *house) {
			h.write("creds.txt", "Authorization: Bearer abcdef.ghijkl\nurl = https://user:pw-hidden@example.com/x\nAPI_TOKEN=tok-hidden-value\n"+pem)
		})
	b.run(t, "AUD-004", func(t *testing.T) {
		long := "padding " + strings.Repeat("x", 70)
		b.model.play("execute", do("read_file", args{"path": "creds.txt"}),
			do("run_command", args{"command": "env; echo " + strings.Repeat(long+" ", 400) + "$BUILD_STAMP; echo $BUILD_STAMP | base64; printf $BUILD_STAMP | base64"}),
			do("write_file", args{"path": "note.txt", "content": "x\nAPI_KEY=key-hidden\nAuthorization: Basic dXNlcjpwdy1oaWRkZW4="}),
			do("finish_task", args{"summary": "Found Authorization: Bearer abcdef.ghijkl and " + configured, "outcome": "done"}))
		status, text := b.c.job("look at creds.txt")
		if status["status"] != "completed" {
			t.Fatalf("%v\n%s", status, text)
		}
		code := b.c.stop()
		// The applied snapshot holds what apply showed (C-57).
		if err := os.RemoveAll(filepath.Join(b.state, "agent-mcp", "applied")); err != nil {
			t.Fatal(err)
		}
		sinks := map[string]string{"logs and state": b.logs(), "stderr": b.c.stderr.String()}
		for name, sink := range sinks {
			for _, secret := range []string{configured, base64.StdEncoding.EncodeToString([]byte(configured))[:28], "abcdef.ghijkl", "pw-hidden", "tok-hidden", "qqqqqqqq", "dXNlcjpwdy1oaWRkZW4", "key-hidden", "s3cr3t"} {
				if at := strings.Index(sink, secret); at >= 0 {
					t.Errorf("%s hold %q: …%s…", name, secret, sink[max(0, at-100):min(len(sink), at+100)])
				}
			}
		}
		if !strings.Contains(sinks["logs and state"], "[redacted]") || code != 0 {
			t.Error("nothing was redacted: the test shows nothing")
		}
		_ = filepath.WalkDir(filepath.Join(b.state, "agent-mcp"), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				t.Error(err)
				return nil
			}
			if info, err := d.Info(); err == nil && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has mode %v", path, info.Mode())
			}
			return nil
		})
	})
}
