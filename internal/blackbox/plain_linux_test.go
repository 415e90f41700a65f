package blackbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// withoutNamespaces makes this house a machine that gives no user namespaces; as
// root it becomes one of an ordinary user's.
func (h *house) withoutNamespaces() {
	h.t.Helper()
	if os.Geteuid() == 0 {
		const user = 61009
		h.within = []string{"setpriv", "--reuid=61009", "--regid=61009", "--clear-groups"}
		if err := os.Chmod(filepath.Dir(h.dir), 0o755); err != nil {
			h.t.Fatal(err)
		}
		err := filepath.WalkDir(h.dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(path, user, user)
		})
		if err != nil {
			h.t.Fatal(err)
		}
	}
	h.within = append(h.within, "unshare", "--user", "--map-current-user", "--keep-caps",
		"/bin/sh", "-c", `echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"`, "sh")
}

// TestFileToolsAlone: on a machine without user namespaces a policy that starts
// no program is approved and served, by name; what was approved with namespaces
// is not served without them, and what needs them is refused with both ways out.
//
// Covers: S1-096, SD-27
func TestFileToolsAlone(t *testing.T) {
	const readonly = "sandbox:\n  profile: readonly\n  workspace: { root: ./project }\n"
	h := newHouse(t, "")
	h.write("note.txt", "seven o'clock")
	h.mkdir(h.state)

	h.withoutNamespaces()
	h.apply()
	code, _, errs := h.agent(h.config)
	for _, part := range []string{"platform.unavailable", "user namespaces", "max_user_namespaces", "allowed_commands: []"} {
		if code != 2 || !strings.Contains(errs, part) {
			t.Errorf("with programs: exit %d, no %s\n%s", code, part, errs)
		}
	}

	within := h.within
	h.within = within[:slices.Index(within, "unshare")] // the same user, with namespaces
	h.configure(readonly)
	if code, out, errs := h.agent("apply", "--yes", h.config); code != 0 || strings.Contains(out, "no program can be started") {
		t.Fatalf("with namespaces: exit %d\n%s%s", code, out, errs)
	}
	h.within = within
	if code, _, errs := h.agent(h.config); code != 2 || !strings.Contains(errs, "confinement") {
		t.Errorf("approved with namespaces: exit %d\n%s", code, errs)
	}
	if code, out, errs := h.agent("apply", "--yes", h.config); code != 0 || !strings.Contains(out, "no program can be started") {
		t.Fatalf("apply: exit %d\n%s%s", code, out, errs)
	}
	if code, out, _ := h.agent("show", h.config); code != 0 || !strings.Contains(out, "namespaces: weaker here (there are none") {
		t.Errorf("show: exit %d\n%s", code, out)
	}
	c := h.serve()
	h.model.play("read",
		do("read_file", map[string]any{"path": "note.txt"}),
		do("read_file", map[string]any{"path": "/etc/passwd"}),
		do("write_file", map[string]any{"path": "note.txt", "content": "eight"}),
		do("run_command", map[string]any{"argv": []string{"/bin/true"}}),
	)
	if status, text := c.job("when?"); status["status"] != "completed" {
		t.Fatalf("%v\n%s", status, text)
	}
	for i, want := range []string{"seven o'clock", "fs.outside_workspace", "fs.", "exec."} {
		head, body := h.model.result(i)
		if !strings.Contains(fmt.Sprint(head, body), want) {
			t.Errorf("call %d: %v\n%s", i, head, body)
		}
	}
	if got := h.read("note.txt"); got != "seven o'clock" {
		t.Errorf("written: %s", got)
	}
}
