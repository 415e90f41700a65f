package sandbox

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sunaba/fault"
	"sunaba/policy"
)

func alone(t *testing.T, script string, change func(in *policy.Input, p *Program)) (Outcome, string, error) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root = filepath.Join(root, "folder")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	in := policy.ForFolder(root)
	in.Entries = []policy.EntryInput{{Alias: "sh", Path: "/bin/sh"}}
	p := Program{Argv: []string{"sh", "-c", script}}
	if change != nil {
		change(&in, &p)
	}
	resolved, err := policy.Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(t.Context(), Options{Policy: resolved.Effective, Placeholders: VolatilePlaceholders(), Config: []byte(`"commands"`)})
	if err != nil {
		t.Fatal(err)
	}
	o, err := s.Run(t.Context(), p)
	if err2 := s.Close(); err2 != nil {
		t.Error(err2)
	}
	return o, root, err
}

// A policy made in code, a program run under it, nothing left.
// Covers: SD-34
func TestUsedAlone(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s3cret"), 0o644); err != nil {
		t.Fatal(err)
	}
	script := "echo made > made; cat made; cat " + secret + "; mkdir -p .git/hooks && echo x > .git/hooks/pre-commit; cat; exit 7"
	o, root, err := alone(t, script, func(_ *policy.Input, p *Program) { p.Stdin = "from outside\n" })
	text := o.Output.Text()
	if err != nil || !o.Ended || o.ExitCode != 7 || !strings.HasPrefix(text, "made\n") || !strings.HasSuffix(text, "from outside\n") || strings.Contains(text, "s3cret") {
		t.Errorf("%+v %v\n%s", o, err, text)
	}
	var left []string
	entries, err := os.ReadDir(root)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if err != nil || strings.Join(left, " ") != "made" {
		t.Errorf("left: %v %v", left, err)
	}
	if out, err := exec.Command("/bin/sh", "-c", "cat "+secret).Output(); err != nil || string(out) != "s3cret" { // the twin
		t.Errorf("%s %v", out, err)
	}
}

func TestUsedAloneRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(in *policy.Input, p *Program)
		code   fault.Code
	}{
		"nothing":       {func(_ *policy.Input, p *Program) { p.Argv = nil }, fault.ExecUnknownAlias},
		"unknown alias": {func(_ *policy.Input, p *Program) { p.Argv = []string{"/bin/sh"} }, fault.ExecUnknownAlias},
		"no directory":  {func(_ *policy.Input, p *Program) { p.Dir = "/nowhere" }, fault.ExecNotAllowed},
	} {
		if o, _, err := alone(t, "true", tt.change); fault.CodeOf(err) != tt.code {
			t.Errorf("%s: %+v %v", name, o, err)
		}
	}
}

// A program that was changed after its bytes were hashed is not started.
func TestUsedAloneChangedProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho approved\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	in := policy.ForFolder(root)
	in.Workspace.ProtectHostTools = false
	in.Entries = []policy.EntryInput{{Alias: "program", Path: program}}
	resolved, err := policy.Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(t.Context(), Options{Policy: resolved.Effective, Config: []byte(`"commands"`)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	run := Program{Argv: []string{"program"}}
	if o, err := s.Run(t.Context(), run); err != nil || o.Output.Text() != "approved\n" { // the twin
		t.Errorf("%+v %v", o, err)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho changed!\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if o, err := s.Run(t.Context(), run); fault.CodeOf(err) != fault.ExecHashMismatch {
		t.Errorf("%+v %v", o, err)
	}
}

// A Run whose context ends, ends.
func TestUsedAloneCancelled(t *testing.T) {
	s, err := Start(t.Context(), Options{Policy: shellPolicy(t), Config: []byte(`"commands"`)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	o, err := s.Run(ctx, Program{Argv: []string{"sh", "-c", "sleep 100"}})
	if err != nil || o.Stopped != "cancelled" {
		t.Errorf("%+v %v", o, err)
	}
	if o, err := s.Run(t.Context(), Program{Argv: []string{"sh", "-c", "exit 3"}}); err != nil || o.ExitCode != 3 {
		t.Errorf("afterwards: %+v %v", o, err)
	}
}

func shellPolicy(t *testing.T) policy.Effective {
	t.Helper()
	in := policy.ForFolder(t.TempDir())
	in.Workspace.ProtectHostTools = false
	in.Entries = []policy.EntryInput{{Alias: "sh", Path: "/bin/sh"}}
	resolved, err := policy.Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	return resolved.Effective
}

// A program that forgets to be a Worker is told so; it does not start itself
// without end.
func TestForgottenHook(t *testing.T) {
	program, folder := filepath.Join(t.TempDir(), "forgetful"), t.TempDir()
	build := exec.Command("go", "build", "-o", program, "./testdata/forgetful")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(program, folder).CombinedOutput()
	if err == nil || !strings.Contains(string(out), string(fault.PlatformWorker)) {
		t.Errorf("%v\n%s", err, out)
	}
}
