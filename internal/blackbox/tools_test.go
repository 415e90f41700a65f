package blackbox

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestEachTool has the model issue each tool once where it is allowed, and
// looks at the result it is told and at the file system.
//
// Covers: UC-01, UC-02, UC-08, AT-01, AT-04, AT-17, AGT-05, S1-059, S1-060, S1-061, SEC-INV-12, S1-223
func TestEachTool(t *testing.T) {
	h := newHouse(t, "")
	h.write("in.txt", "one\ntwo\nthree\n")
	h.write("old.txt", "old")
	h.write("src/a.go", "package a\n// needle\n")
	h.write("prog.sh", "#!/bin/sh\necho from prog $1\n")
	h.apply()
	c := h.serve()
	for _, step := range []struct {
		tool  string
		args  map[string]any
		field string // a field of the first line that must be there
		text  string // must be within the text
	}{
		{"read_file", map[string]any{"path": "in.txt"}, "", "2\ttwo"},
		{"write_file", map[string]any{"path": "new/out.txt", "content": "hello"}, "", ""},
		{"edit_file", map[string]any{"path": "in.txt", "old_string": "two", "new_string": "zwei"}, "", ""},
		{"list_files", map[string]any{}, "", "in.txt"},
		{"inspect_file", map[string]any{"path": "in.txt"}, "sha256", ""},
		{"make_directory", map[string]any{"path": "deep/er"}, "", ""},
		{"remove_path", map[string]any{"path": "old.txt"}, "", ""},
		{"move_file", map[string]any{"from": "src/a.go", "to": "src/b.go"}, "", ""},
		{"find_files", map[string]any{"pattern": "**/*.go"}, "", "src/b.go"},
		{"search_file", map[string]any{"pattern": "needle"}, "", "needle"},
		{"run_command", map[string]any{"argv": []string{"sh", "-c", "echo $((6*7)); exit 3"}}, "exit_code", "42"},
		{"run_command", map[string]any{"command": "pwd"}, "exit_code", h.ws},
	} {
		t.Run(step.tool, func(t *testing.T) {
			h.t = t
			h.model.play("none", do(step.tool, step.args))
			status, text := c.job("use " + step.tool)
			if status["status"] != "completed" {
				t.Fatalf("%v\n%s", status, text)
			}
			head, body := h.model.result(0)
			if head["ok"] != true || (head["scope"] != "workspace" && head["scope"] != "none") {
				t.Errorf("first line: %v", head)
			}
			if step.field != "" && head[step.field] == nil {
				t.Errorf("no field %s: %v", step.field, head)
			}
			if !strings.Contains(body, step.text) {
				t.Errorf("text %q lacks %q", body, step.text)
			}
		})
	}
	for path, want := range map[string]string{"in.txt": "one\nzwei\nthree\n", "new/out.txt": "hello", "old.txt": "<missing>", "src/a.go": "<missing>"} {
		if got := h.read(path); got != want {
			t.Errorf("%s = %q, want %q", path, got, want)
		}
	}
	if code := c.stop(); code != 0 {
		t.Errorf("exit %d at the end of input", code)
	}
	if left, _ := filepath.Glob(filepath.Join(h.ws, ".*")); len(left) != 0 {
		t.Errorf("left on the host: %v", left)
	}
}
