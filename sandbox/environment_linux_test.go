package sandbox

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// TestEnvironment compares all that a command gets from its surroundings with
// one value: nothing of the host's environment, descriptors, keys or terminal,
// the parts of /etc that are made for it, and a sane locale and time zone.
//
// Covers: SEC-INV-03, S1-190
func TestEnvironment(t *testing.T) {
	t.Setenv("A_SECRET", "s3cret")
	t.Setenv("SSH_AUTH_SOCK", "/nowhere/agent.sock")
	t.Setenv("LC_ALL", "xx_XX")
	t.Setenv("TZ", "Pacific/Apia")
	fd, err := unix.Open("/etc/passwd", unix.O_RDONLY, 0) // as a careless shell leaves one open
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	// The twin: a plain child of this process has them.
	if out, err := exec.Command("/bin/sh", "-c", "echo $A_SECRET $SSH_AUTH_SOCK $LC_ALL $TZ").Output(); err != nil || string(out) != "s3cret /nowhere/agent.sock xx_XX Pacific/Apia\n" {
		t.Fatalf("the twin: %q, %v", out, err)
	}
	zone, err := exec.Command("/usr/bin/env", "-u", "TZ", "date", "+%Z").Output()
	if err != nil {
		t.Fatal(err)
	}

	f := newFixture(t, func(f *fixture) { f.p.Environment = map[string]string{"GIVEN": "by the policy"} })
	r := f.sh(`
env | grep -v '^\(PWD\|_\|OLDPWD\|SHLVL\)=' | sort
i=0; while [ $i -lt 256 ]; do [ -e /proc/$$/fd/$i ] && echo "descriptor $i"; i=$((i+1)); done # a glob would open one
echo passwd:; sed "s/:x:$(id -u):$(id -g):/:x:UID:GID:/" /etc/passwd
echo group:; sed "s/:x:$(id -g):/:x:GID:/" /etc/group
echo nsswitch.conf:; cat /etc/nsswitch.conf
echo "user: $(id -un) $(id -gn) home: $([ ~agent = $HOME ] && echo its own)"
echo "localhost: $(grep -c localhost /etc/hosts)"
echo "keys: $(cat /proc/keys 2>/dev/null | wc -l)"
echo "controlling terminal: $(cut -d' ' -f7 /proc/self/stat)"
echo "zone: $(date +%Z)"
`)
	home := strings.TrimSpace(f.sh("echo $HOME").Out)
	scratch := strings.TrimSpace(f.sh("echo $TMPDIR").Out)
	want := `GIVEN=by the policy
HOME=` + home + `
LANG=C.UTF-8
NO_COLOR=1
PATH=/usr/local/bin:/usr/bin:/bin
TERM=dumb
TMPDIR=` + scratch + `
descriptor 0
descriptor 1
descriptor 2
passwd:
agent:x:UID:GID::` + home + `:/bin/sh
nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin
group:
agent:x:GID:
nogroup:x:65534:
nsswitch.conf:
passwd: files
group: files
hosts: files
user: agent agent home: its own
localhost: 2
keys: 0
controlling terminal: 0
zone: ` + string(zone)
	if diff := cmp.Diff(want, r.Out); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	for _, host := range []string{"s3cret", "agent.sock", os.Getenv("HOME") + "\n"} {
		if strings.Contains(r.Out, host) {
			t.Errorf("%q of the host is inside", host)
		}
	}
}
