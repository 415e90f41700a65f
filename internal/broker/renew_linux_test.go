package broker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sunaba/fault"
	"sunaba/policy"
	"sunaba/tool"
)

// A host program that replaces a protected file stops the command that runs and
// costs nothing else: the Task goes on in a new sandbox that protects the new
// file.
// Covers: C-84
func TestReplacedProtectedFile(t *testing.T) {
	f := newFixture(t, func(e *policy.Effective) {
		e.Protected = append(e.Protected, policy.Protected{Path: filepath.Join(e.Workspace.Root, "key"), Hidden: true, Why: "config"})
	})
	swap := func() {
		t.Helper()
		f.write(f.root+"/key.new", "s3cret")
		if err := os.Rename(f.root+"/key.new", f.root+"/key"); err != nil {
			t.Fatal(err)
		}
	}
	f.write(f.root+"/wait", "#!/bin/sh\necho x > running\nsleep 30\n")
	f.write(f.root+"/steal", "#!/bin/sh\ncat key\n")
	steal := func(what string) {
		t.Helper()
		r, err := f.call(tool.RunCommand, map[string]any{"argv": []string{"./steal"}})
		if err != nil || !r.OK || strings.Contains(r.Text, "s3cret") || r.Effects[0].ExitCode == 0 {
			t.Errorf("%s: %+v %v", what, r, err)
		}
		if r, err := f.call(tool.ReadFile, map[string]any{"path": "key"}); err != nil || r.OK {
			t.Errorf("%s: %+v %v", what, r, err)
		}
	}
	steal("at first")
	swap() // nothing runs: nobody notices
	steal("replaced between calls")

	go func() {
		for range 500 {
			if _, err := os.Stat(f.root + "/running"); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		f.write(f.root+"/key.new", "s3cret")
		_ = os.Rename(f.root+"/key.new", f.root+"/key") // what comes of it is looked at below
	}()
	r, err := f.call(tool.RunCommand, map[string]any{"argv": []string{"./wait"}})
	if err != nil || r.OK || r.Error.Code != fault.PlatformReplaced || !strings.HasSuffix(r.Error.Args["path"], "/key") {
		t.Errorf("while a command ran: %+v %v", r, err)
	}
	steal("replaced while a command ran")
}
