package blackbox

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A host that lacks something is told what, and what to do about it: exit 2,
// and nothing on standard output. Where nothing is changed the same files serve.
//
// Covers: SD-27, S1-096
func TestRemedies(t *testing.T) {
	for _, tt := range []struct{ name, change, remedy string }{
		{"covered /proc", "mount --bind /dev/null /proc/kallsyms", "systempaths=unconfined"},
		{"no more user namespaces", "echo 0 > /proc/sys/user/max_user_namespaces", "sysctl user.max_user_namespaces"},
		{"nothing changed", "true", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse(t, "")
			h.apply()
			own := []string{"--mount"} // of mounts alone, or, where that needs rights, of users too
			if os.Geteuid() != 0 || strings.Contains(tt.change, "/user/") {
				own = append(own, "--user", "--map-current-user", "--keep-caps")
			}
			c := exec.Command("unshare", append(own, "/bin/sh", "-c", tt.change+` && exec "$@"`, "sh", program, h.config)...)
			c.Env, c.Dir = h.environ(), h.dir
			var out, errs bytes.Buffer
			c.Stdout, c.Stderr = &out, &errs
			err := c.Run()
			code := 0
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				code = exit.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if out.Len() > 0 {
				t.Errorf("standard output: %s", &out)
			}
			switch {
			case tt.remedy == "" && code != 0:
				t.Errorf("exit %d\n%s", code, &errs)
			case tt.remedy != "" && (code != 2 || !strings.Contains(errs.String(), tt.remedy) || !strings.Contains(errs.String(), "platform.unavailable")):
				t.Errorf("exit %d\n%s", code, &errs)
			}
		})
	}
}
