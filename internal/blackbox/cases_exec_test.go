package blackbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestCasesExec: a command is one program, bounded in everything.
//
// Covers: PRC-05, C-79, C-87
func TestCasesExec(t *testing.T) {
	t.Parallel()
	b := open(t, "", "", func(h *house) {
		h.write(h.dir+"/kept/x", "x")
		h.configure("sandbox:\n  workspace: { root: ./project }\n  mounts: [ { path: ./kept, access: read_write } ]\n" +
			"  resources: { timeout_seconds: 60, processes: 6, scratch: 4MiB }\n" +
			"  execution: { entries: [ { alias: sh, path: /bin/sh }, { alias: env, path: /usr/bin/env }, { alias: find, path: /usr/bin/find }, { alias: xargs, path: /usr/bin/xargs } ] }\n")
		for _, name := range []string{"ls", "cat", "git", "sh"} {
			h.write(name, "#!/bin/sh\necho planted > planted\n")
			if err := os.Chmod(h.path(name), 0o755); err != nil {
				h.t.Fatal(err)
			}
		}
	})

	// No name of a program and no wrapper decides on deleting: the kernel does.
	b.run(t, "EXEC-003", func(t *testing.T) {
		at := func(argv ...string) turn {
			return do("run_command", args{"argv": argv, "working_dir": b.dir + "/kept"})
		}
		for i, got := range b.tries(at("env", "rm", "x"), at("env", "nice", "rm", "x"), at("find", ".", "-delete"), at("find", ".", "-exec", "rm", "{}", ";"),
			at("sh", "-c", "rm -f x"), at("sh", "-c", "echo x | xargs rm"), at("xargs", "rm"), at("env", "-i", "/bin/sh", "-c", "mv x y"), at("sh", "-c", "unlink x"), at("sh", "-c", "ln -f /etc/passwd x")) {
			if !got.ok {
				t.Errorf("%d: %s", i, got.raw)
			}
		}
		b.holds(b.dir+"/kept/x", "x")
		_, shown, warned := b.agent("show", b.config)
		for _, alias := range []string{"env", "find", "xargs"} { // what runs anything it is told to
			b.has("the warnings", shown+warned, alias+" (")
		}
		b.write("free", "x")
		if _, code := b.shell("rm free"); code != 0 || b.read("free") != "<missing>" {
			t.Error("the twin: nothing is deleted where it is granted")
		}
	})

	// The environment is a list of what is given, whatever the names are.
	b.run(t, "EXEC-005", func(t *testing.T) {
		got, _ := b.shell("env; cat /proc/self/environ; cat /proc/1/environ; cat /proc/*/environ; true")
		if strings.Contains(got.raw, "s3cr3t") || strings.Contains(got.raw, "APP_KEYS") {
			t.Errorf("%s", got.raw)
		}
		names, _ := b.shell("env | cut -d= -f1 | sort")
		for name := range strings.Lines(names.text) {
			switch strings.TrimSpace(name) {
			case "PATH", "HOME", "TMPDIR", "LANG", "TZ", "TERM", "NO_COLOR", "GOFLAGS", // where Git's directory is covered
				"PWD", "OLDPWD", "SHLVL", "_": // the shell's own
			default:
				t.Errorf("in the environment: %s", name)
			}
		}
	})

	// Endless output costs neither memory nor the timer, and is said to be cut.
	b.run(t, "EXEC-009", func(t *testing.T) {
		before := b.peak()
		for i, got := range b.tries(do("run_command", args{"argv": []string{"sh", "-c", "yes"}, "timeout_seconds": 1}), do("run_command", args{"command": `cat /dev/zero | tr '\0' A`, "timeout_seconds": 1}),
			do("run_command", args{"command": "cat /dev/zero >&2", "timeout_seconds": 1}), do("run_command", args{"command": "cat /dev/urandom", "timeout_seconds": 1}), do("run_command", args{"command": "yes | head -c 100000000; echo the end"})) {
			if i < 4 {
				b.refused(fmt.Sprint("call ", i), got, "exec.timeout", "exec.limit")
			} else if !strings.HasSuffix(got.text, "the end\n") {
				t.Errorf("no tail: %s", clip(got.raw))
			}
			if len(got.raw) > 20<<10 || got.head["truncated"] != true || !strings.Contains(got.text, "bytes left out") || strings.Contains(got.text, "\x00") {
				t.Errorf("call %d: %d bytes, %v", i, len(got.raw), got.head)
			}
		}
		if after := b.peak(); after-before > 32<<20 {
			t.Errorf("the server grew from %d to %d bytes", before, after)
		}
	})

	// Output and scratch have caps, and nothing is left of them.
	b.run(t, "EXEC-011", func(t *testing.T) {
		before := size(t, b.state)
		flood := do("run_command", args{"command": "yes 0123456789 | head -c 20000000"})
		b.tries(flood, do("run_command", args{"command": "yes a | head -c 20000000"}), do("run_command", args{"command": "yes b | head -c 20000000"}),
			do("run_command", args{"command": "yes c | head -c 20000000 >&2"}))
		if after := size(t, b.state); after-before > 1<<20 {
			t.Errorf("the state grew by %d bytes", after-before)
		}
		got, code := b.shell("echo $TMPDIR; head -c 20000000 /dev/zero > $TMPDIR/big; wc -c < $TMPDIR/big")
		if code != 0 || strings.Contains(got.text, "20000000\n") {
			t.Errorf("scratch has no limit: %s", got.raw)
		}
		if got, _ := b.shell("ls $TMPDIR"); strings.Contains(got.text, "big") {
			t.Error("scratch outlives its Task")
		}
	})

	// Nothing runs because of where it lies.
	b.run(t, "EXEC-013", func(t *testing.T) {
		b.refuse("run_command", args{"argv": []string{"git", "--version"}}, "exec.unknown_alias")
		b.refuse("run_command", args{"argv": []string{"ls"}}, "exec.unknown_alias")
		got, code := b.shell("ls >/dev/null; cat </dev/null; echo $PATH")
		if code != 0 || b.read("planted") != "<missing>" {
			t.Errorf("the planted program ran: %s", got.raw)
		}
		for _, dir := range strings.Split(strings.TrimSpace(got.text), ":") {
			if !filepath.IsAbs(dir) || strings.HasPrefix(dir, b.ws) {
				t.Errorf("PATH %q", got.text)
			}
		}
		b.must("run_command", args{"argv": []string{"./ls"}}) // named as that path, it may run
		b.holds("planted", "planted\n")
		_ = os.Remove(b.path("planted"))
	})

	// (The twin of EXEC-007.)
	b.run(t, "EXEC-007 twin", func(t *testing.T) {
		if got := b.must("run_command", args{"argv": []string{"sh", "-c", "sleep 1.1; echo in time"}, "timeout_seconds": "50"}); got.text != "in time\n" {
			t.Error(got.raw)
		}
	})

	// Both streams are drained at once.
	b.run(t, "EXEC-015", func(t *testing.T) {
		got, code := b.shell("i=0; while [ $i -lt 20000 ]; do echo 0123456789abcdef 1>&2; i=$((i+1)); done; echo done")
		if code != 0 || !strings.HasSuffix(got.text, "done\n") || got.head["truncated"] != true {
			t.Errorf("%s", clip(got.raw))
		}
		b.has("the count", got.text, "bytes left out")
	})

	// A fork bomb stops at the limit; the server answers; nothing is left.
	b.run(t, "EXEC-017", func(t *testing.T) {
		b.model.play("none", do("run_command", args{"command": "i=0; while [ $i -lt 5000 ]; do sleep 987654 & i=$((i+1)); done; wait"}))
		ticket, _ := b.c.tool("agent_run", args{"request": "fork"})
		status := args{}
		for range 200 {
			began := time.Now()
			status, _ = b.c.tool("agent_status", args{"task_id": ticket["task_id"]})
			if took := time.Since(began); took > 5*time.Second { // unloaded: well below 1 s
				t.Errorf("agent_status took %v", took)
			}
			if status["status"] == "completed" || status["status"] == "failed" {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		if status["status"] != "completed" {
			t.Errorf("%v", status)
		}
		b.refused("the bomb", parse(t, b.model.answers[0]), "exec.limit", "exec.timeout")
		for _, pid := range processes(t) {
			line, _ := os.ReadFile("/proc/" + pid + "/cmdline")
			if strings.Contains(string(line), "987654") {
				t.Errorf("process %s is left", pid)
			}
		}
	})

	// Nobody is at the keyboard, and programs see that at once.
	b.run(t, "EXEC-019", func(t *testing.T) {
		got := b.tries(do("run_command", args{"argv": []string{"sh", "-c", "read x; echo got:$x"}}),
			do("run_command", args{"argv": []string{"sh", "-c", "echo q; read x </dev/tty; echo $x"}}),
			do("run_command", args{"argv": []string{"sh", "-c", "printf 'Overwrite? [y/N] '; read x"}}),
			do("run_command", args{"argv": []string{"sh", "-c", "test -t 0 || test -t 1 || test -t 2 || echo none"}}),
			do("run_command", args{"argv": []string{"sh", "-c", "read x; echo got:$x"}, "stdin": "yes\n"}))
		if got[0].text != "got:\n" || !got[1].ok || !strings.HasPrefix(got[1].text, "q\n") || got[3].text != "none\n" || got[4].text != "got:yes\n" {
			t.Errorf("%v", got)
		}
		if got[1].head["hint"] == nil || got[2].head["hint"] == nil || got[3].head["hint"] != nil {
			t.Errorf("hints: %v %v %v", got[1].head, got[2].head, got[3].head)
		}
	})

	// A refusal by the sandbox says so; one by a file's mode is not called that.
	b.run(t, "SBX-001", func(t *testing.T) {
		b.write("closed", "x")
		if err := os.Chmod(b.path("closed"), 0); err != nil {
			t.Fatal(err)
		}
		for command, path := range map[string]string{
			"echo x > /opt/y": "/opt/y", "echo x > /etc/y": "/etc/y", "cp ls " + b.dir + "/outside": b.dir + "/outside",
			"rm " + b.dir + "/kept/x": b.dir + "/kept/x", "mkdir -p .git/hooks/z": ".git/hooks",
		} {
			got, code := b.shell(command)
			if code == 0 || got.head["blocked"] == nil {
				t.Errorf("%s: not marked: %s", command, got.raw)
				continue
			}
			b.has(command, fmt.Sprint(got.head["blocked_path"]), path)
			b.has(command, fmt.Sprint(got.head["hint"]), "agent.yaml")
		}
		for _, command := range []string{"cat closed", "cat no-such-file", "false", "echo Permission denied; false", "./closed"} {
			if got, code := b.shell(command); code == 0 || got.head["blocked"] != nil {
				t.Errorf("%s: marked: %s", command, got.raw)
			}
		}
	})

	// There is no switch within the model's reach.
	b.run(t, "SBX-003", func(t *testing.T) {
		for name, value := range map[string]any{"sandbox": false, "unsafe": true, "env": args{"SANDBOX": "0"}, "dangerously_disable_sandbox": true, "network": "all", "user": "root", "policy": "allow_all", "approved": true} {
			got := b.refuse("run_command", args{"command": "echo ran > ran", name: value}, "tool.arguments")
			b.has("the refusal", got.message, name)
		}
		b.holds("ran", "<missing>")
	})
}

// peak is the most memory the server has used, its Workers not counted.
func (b *box) peak() int64 {
	b.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.c.cmd.Process.Pid))
	if err != nil {
		b.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		b.t.Fatal(err)
	}
	return kib << 10
}

// size adds up the sizes of the files beneath dir.
func size(t *testing.T, dir string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func processes(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		all[i] = filepath.Base(all[i])
	}
	return all
}
