package blackbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRefused has a hostile model try what the policy does not allow, by tool
// and by command, and looks at the code it is told, at the audit, and at what
// did not happen.
//
// Covers: AT-07, AT-10, AT-22, SEC-INV-01, SEC-INV-02, SEC-INV-04, SEC-INV-06, SEC-INV-08, SEC-INV-09, PRC-05, FS-03, C-71
func TestRefused(t *testing.T) {
	h := newHouse(t, "")
	// The configuration lies in the workspace itself: the worst place for it.
	h.ws = h.dir
	h.configure("sandbox:\n  workspace: { root: . }\n  execution: { entries: [ { alias: sh, path: /bin/sh } ] }\n" +
		"  mounts: [ { path: ../kept, access: read_write }, { path: ../shown, access: read_only } ]\n")
	kept, shown := filepath.Join(filepath.Dir(h.dir), "kept"), filepath.Join(filepath.Dir(h.dir), "shown")
	h.write(kept+"/f", "f")
	h.write(shown+"/f", "f")
	outside, err := os.MkdirTemp("", "outside")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(outside) })
	secret := filepath.Join(outside, "secret")
	h.write(secret, "s3cr3t of the person")
	for name, target := range map[string]string{"abs": secret, "rel": "../../../../../../../../" + secret, "dir": outside, "dangling": outside + "/made"} {
		if err := os.Symlink(target, filepath.Join(h.ws, name)); err != nil {
			t.Fatal(err)
		}
	}
	// The state store may not lie in the workspace.
	h.state = filepath.Join(outside, "state")
	h.apply()
	c := h.serve()

	for _, step := range []struct {
		tool string
		args map[string]any
		code string // "" for a command that must end with a failure
	}{
		{"read_file", map[string]any{"path": secret}, "fs.outside_workspace"},
		{"read_file", map[string]any{"path": "../" + filepath.Base(outside) + "/secret"}, "fs.outside_workspace"},
		{"read_file", map[string]any{"path": "abs"}, "fs.outside_workspace"},
		{"read_file", map[string]any{"path": "dir/secret"}, "fs.outside_workspace"},
		{"read_file", map[string]any{"path": "/etc/passwd"}, "fs.outside_workspace"},
		{"read_file", map[string]any{"path": "/proc/self/environ"}, "fs.outside_workspace"},
		{"write_file", map[string]any{"path": outside + "/made", "content": "x"}, "fs.outside_workspace"},
		{"write_file", map[string]any{"path": "dangling", "content": "x"}, "fs.outside_workspace"},
		{"write_file", map[string]any{"path": "dir/made", "content": "x"}, "fs.outside_workspace"},
		{"list_files", map[string]any{"path": outside}, "fs.outside_workspace"},
		{"write_file", map[string]any{"path": "agent.yaml", "content": "x"}, "fs.read_only"},
		{"write_file", map[string]any{"path": "agent.local.yaml", "content": "x"}, "fs.read_only"},
		{"write_file", map[string]any{"path": ".git/hooks/pre-commit", "content": "x"}, "fs.read_only"},
		{"remove_path", map[string]any{"path": "agent.yaml"}, "fs.read_only"},
		{"remove_path", map[string]any{"path": kept + "/f"}, "fs.no_delete"},
		{"write_file", map[string]any{"path": shown + "/f", "content": "x"}, "fs.read_only"},
		{"move_file", map[string]any{"from": "agent.yaml", "to": "b.yaml"}, "fs.read_only"},
		{"run_command", map[string]any{"argv": []string{"python3", "-c", "1"}}, "exec.unknown_alias"},
		{"run_command", map[string]any{"argv": []string{"/usr/bin/env", "true"}}, "exec.not_approved"},
		{"run_command", map[string]any{"argv": []string{"/bin/bash", "-c", "true"}}, "exec.shell_not_approved"},
		{"run_command", map[string]any{"argv": []string{"sh"}, "working_dir": outside}, "fs.outside_workspace"},
		{"run_command", map[string]any{"argv": []string{"sh", "-c", "true"}, "sandbox": false}, "tool.arguments"},
		{"run_command", map[string]any{"command": "cat " + secret}, ""},
		{"run_command", map[string]any{"command": "cat abs dir/secret"}, ""},
		{"run_command", map[string]any{"command": "echo x > " + outside + "/made"}, ""},
		{"run_command", map[string]any{"command": "echo x > agent.yaml"}, ""},
		{"run_command", map[string]any{"command": "echo x > agent.local.yaml"}, ""},
		{"run_command", map[string]any{"command": "mkdir -p .git/hooks && echo x > .git/hooks/pre-commit"}, ""},
		{"run_command", map[string]any{"command": "env | grep -q SUNABA_TEST_SECRET"}, ""},
		{"run_command", map[string]any{"command": "exec 3<>/dev/tcp/127.0.0.1/80"}, ""},
		{"no_such_tool", map[string]any{}, "tool.unknown"},
	} {
		name := step.tool + " " + step.code
		t.Run(name, func(t *testing.T) {
			h.t = t
			h.model.play("none", do(step.tool, step.args))
			c.job("do it")
			head, _ := h.model.result(0)
			if step.code == "" {
				if head["ok"] != true || head["exit_code"] == 0.0 {
					t.Errorf("%v: %v", step.args, head)
				}
				return
			}
			e, _ := head["error"].(map[string]any)
			if head["ok"] != false || e["code"] != step.code || e["message"] == "" {
				t.Errorf("%v: got %v, want %s", step.args, head, step.code)
			}
		})
	}
	h.t = t
	if got := h.read(secret); got != "s3cr3t of the person" {
		t.Errorf("the secret is now %q", got)
	}
	if !strings.HasPrefix(h.read("agent.yaml"), "schema_version: 2\n") {
		t.Error("agent.yaml was changed")
	}
	for _, p := range []string{outside + "/made", "agent.local.yaml", "b.yaml", ".git"} {
		if got := h.read(p); got != "<missing>" {
			t.Errorf("%s exists: %q", p, got)
		}
	}
	for _, body := range h.model.bodies {
		if strings.Contains(body, "s3cr3t") {
			t.Error("a secret reached the model")
			break
		}
	}
	denied := map[string]int{}
	for _, r := range h.audit() {
		if r["event"] == "tool.denied" {
			denied[r["code"].(string)]++
		}
	}
	for _, code := range []string{"fs.outside_workspace", "fs.read_only", "fs.no_delete", "exec.unknown_alias", "exec.not_approved", "exec.shell_not_approved"} {
		if denied[code] == 0 {
			t.Errorf("the audit has no denial with %s: %v", code, denied)
		}
	}
}
