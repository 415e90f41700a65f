package cli_test

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"sunaba/internal/cli"
	"sunaba/sandbox"
)

func TestMain(m *testing.M) {
	if sandbox.InWorker() { // a sandbox that a test of this binary has made
		if err := sandbox.Serve(func(sandbox.Inside) (sandbox.Handler, error) { return nil, nil }); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	testscript.Main(m, map[string]func(){
		"agent-mcp": func() {
			os.Exit(cli.Run(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
		},
	})
}

// Covers: S1-075, S1-076, S1-077, S1-078, S1-080, S1-081, S1-092, S1-093, S1-094
// Covers: UC-05, UC-06, S1-082, S1-083, S1-086, S1-087, S1-088, S1-089, S1-163, S1-221
// Covers: PRC-02, FS-03, I18N-05, I18N-07, UC-04
//
// The scripts in testdata, one for each promise of the command line.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir+"/home")
			env.Setenv("XDG_STATE_HOME", env.WorkDir+"/state")
			env.Setenv("ESC", "\x1b")
			env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/xdg")
			return os.MkdirAll(env.WorkDir+"/home", 0o700)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			// exits CODE PROGRAM ARGS... runs a program that has to end so.
			"exits": func(ts *testscript.TestScript, neg bool, args []string) {
				want, err := strconv.Atoi(args[0])
				if err != nil || neg {
					ts.Fatalf("usage: exits CODE PROGRAM ARGS...")
				}
				got := 0
				if err := ts.Exec(args[1], args[2:]...); err != nil {
					exit, ok := errors.AsType[*exec.ExitError](err)
					if !ok {
						ts.Fatalf("%v", err)
					}
					got = exit.ExitCode()
				}
				if got != want {
					ts.Fatalf("exit code %d, want %d", got, want)
				}
			},
		},
	})
}
