package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// smallDisk is a workspace on a file system of its own.
func smallDisk(t *testing.T, options string) *fixture {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: to mount a small file system")
	}
	return newFixture(t, func(f *fixture) {
		if err := unix.Mount("none", f.root, "tmpfs", 0, "mode=0755,"+options); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { // after the sandbox's
			if err := unix.Unmount(f.root, 0); err != nil {
				t.Error(err)
			}
		})
	})
}

// TestDiskFloor: who fills the workspace's file system is stopped, by name,
// while there is room left for others; within the floor the same succeeds.
//
// Covers: SD-28
func TestDiskFloor(t *testing.T) {
	for name, row := range map[string]struct{ options, fills, twin string }{
		"bytes": {
			"size=64m",
			"dd if=/dev/zero of=big bs=1M count=40 && exec sleep 20",
			"dd if=/dev/zero of=big bs=1M count=20 && exec sleep 0.3",
		},
		"inodes": {
			"size=64m,nr_inodes=2000",
			"i=0; while [ $i -lt 1200 ]; do : > f$i; i=$((i+1)); done; exec sleep 20",
			"i=0; while [ $i -lt 400 ]; do : > f$i; i=$((i+1)); done; exec sleep 0.3",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := smallDisk(t, row.options)
			if r := f.sh("echo before; " + row.fills); r.Stopped != "disk" || r.Ended || r.Out[:7] != "before\n" {
				t.Errorf("%+v", r)
			}
			if err := os.WriteFile(f.root+"/other", make([]byte, 1<<20), 0o644); err != nil {
				t.Errorf("no room for others: %v", err)
			}
			if err := exec.Command("/bin/true").Run(); err != nil {
				t.Errorf("the host cannot start anything: %v", err)
			}
			// Beneath the floor commands may look and make room.
			if r := f.sh("sleep 0.3; rm -f big f*; sleep 0.3"); !r.Ended || r.ExitCode != 0 {
				t.Errorf("making room: %+v", r)
			}
			if r := f.sh(row.twin); !r.Ended || r.ExitCode != 0 {
				t.Errorf("the twin: %+v", r)
			}
		})
	}
}

// TestFileSize: a file that grows past the limit stops its writer, by name.
func TestFileSize(t *testing.T) {
	f := newFixture(t, func(f *fixture) { f.p.Resources.FileSizeBytes = 1 << 20 })
	write := func(kib int) report {
		return f.sh(fmt.Sprintf("echo before; dd if=/dev/zero of=big bs=1k count=%d 2>/dev/null", kib))
	}
	if r := write(1025); r.Stopped != "file_size" || r.Ended || r.Out != "before\n" {
		t.Errorf("%+v", r)
	}
	if r := write(1024); !r.Ended || r.ExitCode != 0 || r.Stopped != "" {
		t.Errorf("the twin: %+v", r)
	}
	if r := f.sh("exit 3"); !r.Ended || r.ExitCode != 3 {
		t.Errorf("%+v", r)
	}
}

// TestRefusingLimits: the limits that refuse instead of stopping say so in the
// system's words, from which the result's hint is made; within them the same
// succeeds.
//
// Covers: SD-28
func TestRefusingLimits(t *testing.T) {
	f := newFixture(t, func(f *fixture) { f.p.Resources.ScratchBytes = 8 << 20 })
	for name, row := range map[string]struct{ script, says, twin string }{
		"scratch": {
			"dd if=/dev/zero of=$TMPDIR/big bs=1M count=9",
			"No space left on device",
			"rm -f $TMPDIR/big; dd if=/dev/zero of=$TMPDIR/big bs=1M count=4; rm $TMPDIR/big",
		},
		"inodes of scratch": {
			"i=0; while [ $i -lt 5000 ]; do : > $TMPDIR/f$i || exit 1; i=$((i+1)); done",
			"No space left on device",
			"rm -f $TMPDIR/f*; i=0; while [ $i -lt 200 ]; do : > $TMPDIR/f$i || exit 1; i=$((i+1)); done; rm $TMPDIR/f*",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if r := f.sh(row.script + " 2>&1"); r.ExitCode == 0 || !r.Ended || !strings.Contains(r.Out, row.says) {
				t.Errorf("%+v", r)
			}
			if r := f.sh(row.twin); r.ExitCode != 0 {
				t.Errorf("the twin: %+v", r)
			}
		})
	}
}
