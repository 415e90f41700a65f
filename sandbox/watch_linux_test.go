package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sunaba/fault"
	"sunaba/policy"
)

// watchedFixture has one of each that a cover can lie on.
func watchedFixture(t *testing.T) *fixture {
	return newFixture(t, func(f *fixture) {
		f.write("key", "old")
		f.write("agent.yaml", "old")
		f.write("store/state", "old")
		f.write("deep/er/skill.md", "old")
		for _, p := range []policy.Protected{
			{Path: "key", Hidden: true}, {Path: "agent.yaml"}, {Path: "store", Hidden: true}, {Path: "deep/er/skill.md"}, {Path: "later.yaml"},
		} {
			p.Path = filepath.Join(f.root, p.Path)
			f.p.Protected = append(f.p.Protected, p)
		}
	})
}

// replacements are what host programs do to them, and how a command would use it.
var replacements = map[string]struct {
	host func(f *fixture) error
	use  string
}{
	"a hidden file is saved":    {func(f *fixture) error { return f.swap("key") }, "cat key"},
	"a locked file is saved":    {func(f *fixture) error { return f.swap("agent.yaml") }, "echo x > agent.yaml"},
	"a placeholder is replaced": {func(f *fixture) error { return f.swap("later.yaml") }, "echo x > later.yaml"},
	"a hidden directory is replaced": {func(f *fixture) error {
		if err := os.Rename(f.at("store"), f.at("store.old")); err != nil {
			return err
		}
		f.write("store/state", "new")
		return nil
	}, "cat store/state"},
	"a parent is replaced": {func(f *fixture) error {
		if err := os.Rename(f.at("deep"), f.at("deep.old")); err != nil {
			return err
		}
		f.write("deep/er/skill.md", "new")
		return nil
	}, "echo x > deep/er/skill.md"},
	"a file is removed and made": {func(f *fixture) error {
		err := os.Remove(f.at("key"))
		f.write("key", "new")
		return err
	}, "cat key"},
}

func (f *fixture) at(p string) string { return filepath.Join(f.root, p) }

// swap is an editor's way to save.
func (f *fixture) swap(p string) error {
	f.write(p+".tmp", "new")
	return os.Rename(f.at(p+".tmp"), f.at(p))
}

// tryCall is call for a sandbox that may be lost.
func (f *fixture) tryCall(script string) (report, error) {
	params, err := json.Marshal(order{Argv: []string{"/bin/sh", "-c", script}, Head: 1 << 16})
	if err != nil {
		return report{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	result, err := f.s.Call(ctx, "run", params)
	if err != nil {
		return report{}, err
	}
	var r report
	return r, json.Unmarshal(result, &r)
}

// What a host program puts in the place of a protected path is not for the
// sandbox that stands: a command that runs is stopped, none is started, and the
// next sandbox protects it. Without the watch it stands open.
// Covers: C-84, SEC-INV-02
func TestReplacedOnTheHost(t *testing.T) {
	for name, c := range replacements {
		t.Run(name, func(t *testing.T) {
			f := watchedFixture(t)
			if err := c.host(f); err != nil {
				t.Fatal(err)
			}
			if r, err := f.tryCall(c.use); fault.CodeOf(err) != fault.PlatformReplaced {
				t.Errorf("afterwards: %+v %v", r, err)
			}
			if err := f.s.Close(); err != nil {
				t.Fatal(err)
			}
			f.start() // of the same policy
			if r := f.sh(c.use); r.ExitCode == 0 {
				t.Errorf("in the next sandbox: %+v", r)
			}
		})
		t.Run(name+", while a command runs", func(t *testing.T) {
			f := watchedFixture(t)
			ended := make(chan error, 1)
			go func() {
				_, err := f.tryCall("echo x > running; sleep 30")
				ended <- err
			}()
			for range 500 { // until it runs
				if _, err := os.Stat(f.at("running")); err == nil {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			if err := c.host(f); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; fault.CodeOf(err) != fault.PlatformReplaced {
				t.Errorf("it ended by itself: %v", err)
			}
		})
		t.Run(name+", the twin", func(t *testing.T) {
			f := watchedFixture(t)
			if err := f.s.watch.Close(); err != nil { // nobody looks
				t.Fatal(err)
			}
			f.s.watch = nil
			if err := c.host(f); err != nil {
				t.Fatal(err)
			}
			if r := f.sh(c.use); r.ExitCode != 0 || strings.Contains(r.Out, "old") {
				t.Errorf("the cover is still there: %+v", r)
			}
		})
	}
}

// What replaces nothing stops nothing: other names beside a protected one, a
// protected file written in place, a flood of names by a command.
func TestNotReplaced(t *testing.T) {
	f := watchedFixture(t)
	f.write("other", "x")
	if err := errors.Join(f.swap("other"), os.Chmod(f.at("agent.yaml"), 0o600), os.Remove(f.at("other"))); err != nil {
		t.Fatal(err)
	}
	f.write("agent.yaml", "written in place")
	r := f.sh("i=0; while [ $i -lt 3000 ]; do : > f$i; i=$((i+1)); done; rm f*; cat agent.yaml; echo x > agent.yaml")
	if r.ExitCode == 0 || !strings.HasPrefix(r.Out, "written in place") {
		t.Errorf("%+v", r)
	}
	if err := f.s.Current(); err != nil {
		t.Error(err)
	}
}
