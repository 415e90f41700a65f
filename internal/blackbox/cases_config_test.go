package blackbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// invalid applies what must be refused: exit 2, a place in the file, nothing
// stored, nothing made.
func (h *house) invalid(what, yaml string, says ...string) string {
	h.t.Helper()
	h.write(h.config, yaml)
	code, out, errs := h.agent("apply", "--yes", h.config)
	if code != 2 || !strings.Contains(errs, filepath.Base(h.config)+":") && !strings.Contains(errs, "agent.local.yaml:") {
		h.t.Errorf("%s: exit %d\n%s%s", what, code, out, errs)
	}
	for _, part := range says {
		if !strings.Contains(errs, part) {
			h.t.Errorf("%s: the complaint lacks %q:\n%s", what, part, errs)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(h.state, "agent-mcp", "applied*", "*")); len(left) != 0 {
		h.t.Errorf("%s: stored all the same: %v", what, left)
	}
	return errs
}

// TestCasesConfig: what the owner wrote is what holds, or it is refused.
func TestCasesConfig(t *testing.T) {
	h := newHouse(t, "")
	base := "schema_version: 2\nollama: { model: m }\n"
	with := func(root string) string { return base + "sandbox:\n  workspace: { root: " + root + " }\n" }

	t.Run("CONF-002", func(t *testing.T) {
		h.t = t
		for _, root := range []string{"$UNSET_X/p", "${UNSET_X}/p", "'%UNSET_X%\\p'", "./no/such/dir", `"C:\Users\u\p"`, `'C:\Users\u\p'`, `""`, "~", "$HOME"} {
			h.invalid(root, with(root))
		}
		h.invalid("bad escape", with(`"C:\Users\u\p"`), "single quotes")
		for _, made := range []string{"$UNSET_X", "${UNSET_X}", "no", "p", "~", "$HOME"} {
			if _, err := os.Lstat(filepath.Join(h.dir, made)); err == nil {
				t.Errorf("%q was made", made)
			}
		}
		// A configuration that is not there is no empty configuration.
		for _, config := range []string{h.dir + "/absent.yaml", h.dir, h.dir + "/agent.yaml/x"} {
			for _, args := range [][]string{{config}, {"apply", "--yes", config}, {"show", config}} {
				if code, out, errs := h.agent(args...); code != 2 || out != "" || !strings.Contains(errs, config) {
					t.Errorf("%v: exit %d\n%s%s", args, code, out, errs)
				}
			}
		}
	})

	t.Run("CONF-004", func(t *testing.T) {
		h.t = t
		sandbox := "sandbox:\n  workspace: { root: ./project }\n"
		h.invalid("twice", base+sandbox+"sandbox:\n  profile: readonly\n", "agent.yaml:5:", "3:1")
		h.invalid("quoted", base+sandbox+"\"sandbox\": { profile: readonly }\n", "agent.yaml:5:")
		h.invalid("nested", base+"sandbox:\n  workspace: { root: ./project, root: ./other }\n", "agent.yaml:4:")
		h.invalid("merge", base+"x: &x { profile: readonly }\nsandbox:\n  <<: *x\n  workspace: { root: ./project }\n", "agent.yaml:")
		h.invalid("alias", base+"sandbox:\n  workspace: { root: &r ./project }\n  mounts: [ { path: *r, access: read_only } ]\n", "agent.yaml:4")
		h.invalid("tag", base+"sandbox:\n  workspace: { root: !!binary Li9wcm9qZWN0 }\n", "agent.yaml:4")
		h.invalid("second document", base+sandbox+"---\n"+base+sandbox, "agent.yaml:")
		h.invalid("unknown key", base+sandbox+"sandboks: {}\n", "agent.yaml:5:1", "sandbox")
		h.invalid("case", base+"Sandbox:\n  workspace: { root: ./project }\n", "agent.yaml:3:1", "sandbox")
		h.invalid("all at once", base+"sandbox:\n  workspace: { root: ./project, polici: x }\n  profile: wild\nmpc: {}\n", "agent.yaml:4", "agent.yaml:5", "agent.yaml:6")
		h.write(h.dir+"/agent.local.yaml", "ollama: { model: a }\nollama: { model: b }\n")
		h.invalid("local", base+sandbox, "agent.local.yaml:2:1")
		_ = os.Remove(h.dir + "/agent.local.yaml")
	})

	// Also what 007 says of globs: they yield to C-73, and are refused by name.
	t.Run("PATH-007", func(t *testing.T) {
		h.t = t
		for _, target := range []string{"'**/.env'", "'*.key'", "'sec/[ab]'", "'a?'", "'{a,b}'"} {
			h.invalid(target, base+"sandbox:\n  workspace: { root: ./project }\n  scope: { deny: [ { target: "+target+", permission: read } ] }\n", "agent.yaml:5", strings.Trim(target, "'"))
		}
	})

	t.Run("CONF-006", func(t *testing.T) {
		h.t = t
		sandbox := func(more string) string {
			return base + "sandbox:\n  workspace: { root: ./project" + more + " }\n"
		}
		for _, value := range []string{"no", "on", "y", "Yes", "OFF", "true", "null", "~", "1e10", "1.10", "0755", "2026-12-01", "12:30:45", "0x1F", ".inf"} {
			h.invalid("name: "+value, sandbox(", name: "+value), "agent.yaml:4")
			h.invalid("allowed_commands: "+value, sandbox(", properties: { allowed_commands: [ls, "+value+"] }"), "agent.yaml:4")
			h.invalid("model: "+value, "schema_version: 2\nollama: { model: "+value+" }\nsandbox: { workspace: { root: ./project } }\n", "agent.yaml:2")
		}
		for _, value := range []string{"yes", "on", "y", "1", "\"true\"", "no", "0"} {
			h.invalid("must_read_first: "+value, sandbox("")+"agent: { must_read_first: "+value+" }\n", "agent.yaml:5")
		}
		for _, value := range []string{"0755", "1_000", "0o17", "0x10", "1e3", "\"5\"", "5.0", "+5", "-1", "٣"} {
			h.invalid("max_tasks: "+value, sandbox("")+"agent: { max_tasks: "+value+" }\n", "agent.yaml:5")
		}
		for _, value := range []string{"1_000", "90", "1.5 m", "-5s", "0755s"} {
			if value == "0755s" {
				continue // Go's durations have no octal
			}
			h.invalid("request_timeout: "+value, "schema_version: 2\nollama: { model: m, request_timeout: "+value+" }\nsandbox: { workspace: { root: ./project } }\n", "agent.yaml:2")
		}
		// The twin: quoted, they are text, and show tells the value with its type.
		h.write(h.config, "schema_version: 2\nollama: { model: \"no\" }\nsandbox:\n  workspace: { root: ./project, name: \"1.10\" }\n  execution: { entries: [ { alias: \"on\", path: /bin/sh } ] }\nagent: { max_tasks: 7, must_read_first: false }\n")
		h.apply()
		if _, out, _ := h.agent("show", h.config); !strings.Contains(out, "1.10") || !strings.Contains(out, "no") {
			t.Errorf("show:\n%s", out)
		}
	})
}

// TestCasesApply: what was approved is content, not a name.
//
// Covers: AT-08, AT-09, PRC-02, SEC-INV-05, C-82
func TestCasesApply(t *testing.T) {
	h := newHouse(t, "")
	h.write(h.dir+"/tools/prog", "#!/bin/sh\necho one\n")
	h.write(h.dir+"/tools/evil", "#!/bin/sh\necho two\n")
	for _, name := range []string{"prog", "evil"} {
		if err := os.Chmod(h.dir+"/tools/"+name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h.mkdir(h.dir + "/other")
	h.link("tools", h.dir+"/current")
	h.link("project", h.dir+"/ws")
	h.configure("sandbox:\n  workspace: { root: ./ws }\n  execution: { entries: [ { alias: sh, path: /bin/sh }, { alias: prog, path: ./current/prog } ] }\n")
	h.apply()
	config := h.read(h.config)
	relink := func(target, path string) {
		h.t.Helper()
		if err := os.Remove(path); err != nil {
			h.t.Fatal(err)
		}
		h.link(target, path)
	}
	swap := func() { // the same name, size, mode and modification time
		info, err := os.Stat(h.dir + "/tools/prog")
		if err == nil {
			h.write(h.dir+"/tools/new", strings.Replace(h.read(h.dir+"/tools/prog"), "one", "two", 1))
			err = os.Chmod(h.dir+"/tools/new", info.Mode())
		}
		if err == nil {
			err = os.Chtimes(h.dir+"/tools/new", info.ModTime(), info.ModTime())
		}
		if err == nil {
			err = os.Rename(h.dir+"/tools/new", h.dir+"/tools/prog")
		}
		if err != nil {
			h.t.Fatal(err)
		}
	}
	t.Run("APPLY-001", func(t *testing.T) {
		for _, c := range []struct {
			name         string
			change, undo func()
			says         string
		}{
			{"a value", func() { h.write(h.config, strings.Replace(config, "backoff: 10ms", "backoff: 11ms", 1)) }, func() { h.write(h.config, config) }, "backoff"},
			{"a local file", func() { h.write(h.dir+"/agent.local.yaml", "ollama: { model: another }\n") }, func() { _ = os.Remove(h.dir + "/agent.local.yaml") }, "model"},
			{"the executable", swap, func() { h.write(h.dir+"/tools/prog", "#!/bin/sh\necho one\n") }, "prog"},
			{"a link to it", func() {
				h.write(h.dir+"/other/prog", "#!/bin/sh\necho one\n")
				_ = os.Chmod(h.dir+"/other/prog", 0o755)
				relink("other", h.dir+"/current")
			}, func() { relink("tools", h.dir+"/current") }, "other/prog"},
			{"the workspace's link", func() { relink("other", h.dir+"/ws") }, func() { relink("project", h.dir+"/ws") }, "other"},
			{"the executable gone", func() { _ = os.Rename(h.dir+"/tools/prog", h.dir+"/tools/gone") }, func() { _ = os.Rename(h.dir+"/tools/gone", h.dir+"/tools/prog") }, "prog"},
		} {
			t.Run(c.name, func(t *testing.T) {
				h.t = t
				c.change()
				code, out, errs := h.agent(h.config)
				if code != 2 || out != "" || !strings.Contains(errs, "apply") && c.name != "the executable gone" || !strings.Contains(errs, c.says) {
					t.Errorf("exit %d\n%s%s", code, out, errs)
				}
				c.undo()
				if code, _, errs := h.agent(h.config); code != 0 { // end of input at once
					t.Errorf("the twin: exit %d\n%s", code, errs)
				}
			})
		}
		// While it serves, too: the bytes that were approved, or nothing.
		h.t = t
		b := &box{house: h, c: h.serve()}
		b.is(t)
		if got := b.must("run_command", args{"argv": []string{"prog"}}); got.text != "one\n" {
			t.Error(got.raw)
		}
		swap()
		b.refuse("run_command", args{"argv": []string{"prog"}}, "exec.hash_mismatch")
		b.refuse("run_command", args{"argv": []string{h.dir + "/current/prog"}}, "exec.hash_mismatch")
		h.write(h.dir+"/other/prog", "#!/bin/sh\necho two\n")
		relink("other", h.dir+"/current")
		if got := b.try("run_command", args{"argv": []string{"prog"}}); got.ok {
			t.Error(got.raw)
		}
	})
}

// TestCasesRoots: a mount of everything is loud or refused, never a mistake of
// arithmetic.
func TestCasesRoots(t *testing.T) {
	h := newHouse(t, "")
	t.Run("PATH-021", func(t *testing.T) {
		h.t = t
		for _, access := range []string{"read_only", "read_write", "read_write_delete"} {
			h.invalid("a mount of /", "schema_version: 2\nollama: { model: m }\nsandbox:\n  workspace: { root: ./project }\n  mounts: [ { path: /, access: "+access+" } ]\n", "agent.yaml:5", "whole file system")
		}
		// What apply grants can be read.
		for _, mount := range []string{"/usr/share", "/var", "/etc", "/opt"} {
			h.configure("sandbox:\n  workspace: { root: ./project }\n  mounts: [ { path: " + mount + ", access: read_only } ]\n")
			if code, _, errs := h.agent("apply", "--yes", h.config); code != 0 {
				if code != 2 || !strings.Contains(errs, mount) {
					t.Errorf("%s: exit %d\n%s", mount, code, errs)
				}
				continue
			}
			b := &box{house: h, c: h.serve()}
			b.is(t)
			names, err := os.ReadDir(mount)
			got := b.must("list_files", args{"path": mount})
			if err != nil || got.head["entries"] != nil && strings.Count(got.text, "\n") < len(names)/2 {
				t.Errorf("%s: %d names, but %s", mount, len(names), clip(got.raw))
			}
			for _, name := range names {
				if len(names) > 0 && !strings.Contains(got.text, name.Name()) {
					t.Errorf("%s lacks %s", mount, name.Name())
					break
				}
			}
			b.c.stop()
		}
		// A rule for / covers everything the other layers grant.
		h.configure("sandbox:\n  workspace: { root: ./project }\n  scope: { allow: [ { target: /, permission: read } ] }\n")
		h.write("f.txt", "inside\n")
		h.apply()
		b := &box{house: h, c: h.serve()}
		b.is(t)
		b.has("read", b.must("read_file", args{"path": "f.txt"}).text, "inside")
		b.refuse("write_file", args{"path": "g.txt", "content": "x"}, "fs.read_only")
		b.refuse("read_file", args{"path": "/etc/hostname"}, "fs.outside_workspace")
	})
}

// TestCasesLocale: a text that lost a placeholder, or is missing, is no text.
//
// Covers: I18N-09, I18N-11
func TestCasesLocale(t *testing.T) {
	h := newHouse(t, "application: { language: xx }\n")
	dir := h.dir + "/config/agent-mcp/locales"
	_, en, _ := h.agent("--help")
	if en == "" {
		t.Fatal("no help")
	}
	t.Run("I18N-002", func(t *testing.T) {
		h.t = t
		shipped, err := os.ReadFile("../locale/locales/en.json")
		if err != nil {
			t.Fatal(err)
		}
		line := func(key, text string) string {
			all := strings.Split(string(shipped), "\n")
			for i, l := range all {
				if strings.HasPrefix(l, fmt.Sprintf("  %q: ", key)) {
					all[i] = fmt.Sprintf("  %q: %q,", key, text)
				}
			}
			return strings.Join(all, "\n")
		}
		for name, c := range map[string]struct{ text, says string }{
			"whole":           {string(shipped), ""},
			"a lost path":     {line("fs.read_only", "May not be changed."), "fs.read_only"},
			"another name":    {line("fs.read_only", "{resolwed} may not be changed ({rule} {source})."), "fs.read_only"},
			"an unknown key":  {strings.Replace(string(shipped), "{\n", "{\n  \"no.such\": \"x\",\n", 1), "no.such"},
			"not JSON":        {"{", "xx.json"},
			"a key given two": {strings.Replace(string(shipped), "{\n", "{\n  \"agent.cancelled\": \"x\",\n", 1), "agent.cancelled"},
		} {
			h.write(dir+"/xx.json", c.text)
			code, out, errs := h.agent("apply", "--yes", h.config)
			if c.says == "" && code != 0 || c.says != "" && (code != 2 || !strings.Contains(errs, c.says)) {
				t.Errorf("%s: exit %d\n%s%s", name, code, out, errs)
			}
		}
	})
}
