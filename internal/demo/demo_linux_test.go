package demo

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sunaba/internal/ollamatest"
)

// The programs are built once for all tests of the package.
var (
	built    string
	building sync.Once
	buildErr error
)

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(code)
}

// programs returns the directory of agent-mcp and demo.
func programs(t *testing.T) string {
	t.Helper()
	building.Do(func() {
		if built, buildErr = os.MkdirTemp("", "sunaba-programs-"); buildErr != nil {
			return
		}
		buildErr = os.Chmod(built, 0o755)
		cmd := exec.Command("go", "build", "-o", built, "./cmd/agent-mcp", "./cmd/demo")
		cmd.Dir = "../.."
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			buildErr = errors.Join(buildErr, err, errors.New(string(out)))
		}
	})
	if errors.Is(buildErr, exec.ErrNotFound) {
		t.Skip("the go command is not there to build the programs")
	}
	if buildErr != nil {
		t.Fatal(buildErr)
	}
	return built
}

func options(t *testing.T, out *bytes.Buffer) Options {
	dir := programs(t)
	return Options{
		Agent: filepath.Join(dir, "agent-mcp"), Self: filepath.Join(dir, "demo"),
		Host: "127.0.0.1:1", Out: out, // nothing listens there
	}
}

// serve starts a scripted server.
func serve(t *testing.T, s *ollamatest.Script, err error) *ollamatest.Server {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	srv, err := ollamatest.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	return srv
}

// TestRun plays the whole demo, through the real server and the real sandbox.
//
// Covers: AT-01, AT-10, SEC-INV-06
func TestRun(t *testing.T) {
	for language, words := range map[string][]string{
		"en": {"critical path: t1 → t2 → t3, 2583.33 tokens expected", "exit 0: ok: the total is 100", "no connection came in"},
		"ja": {"クリティカルパス: t1 → t2 → t3", "拒否", "接続は一つも来なかった"},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			o := options(t, &out)
			o.Language = language
			if err := Run(t.Context(), o); err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			for _, w := range append(words, "fs.outside_workspace", "fs.read_only", "exec.not_approved") {
				if !strings.Contains(out.String(), w) {
					t.Errorf("%q is missing", w)
				}
			}
			if strings.ContainsAny(out.String(), "✗\x1b") {
				t.Error("a claim does not hold, or colours went into a buffer")
			}
			if t.Failed() {
				t.Log(out.String())
			}
		})
	}
}

// TestRunWithServer: a server that is found plays the part of the real one.
func TestRunWithServer(t *testing.T) {
	t.Parallel()
	s, err := ollamatest.Named("good")
	srv := serve(t, s, err)
	var out bytes.Buffer
	o := options(t, &out)
	o.Host, o.Model = srv.URL(), "good:1"
	if err := Run(t.Context(), o); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if !strings.Contains(out.String(), "good:1 on "+srv.URL()) || len(srv.Unused()) > 0 {
		t.Errorf("unused %q\n%s", srv.Unused(), out.String())
	}
}

// TestRunNotProved: a model that does not do the job is no success.
func TestRunNotProved(t *testing.T) {
	t.Parallel()
	s, err := ollamatest.Parse("idle", `
## plan
task t1 read 1 2 3 1K Look | List the files.
## look
call list_files {}
## end
finish done "I think the check passes."
`)
	srv := serve(t, s, err)
	var out bytes.Buffer
	o := options(t, &out)
	o.Host, o.Model = srv.URL(), "idle:1"
	if err := Run(t.Context(), o); !errors.Is(err, ErrNotProved) {
		t.Errorf("got %v\n%s", err, out.String())
	}
	if !strings.Contains(out.String(), "✗ check.sh succeeds") {
		t.Error(out.String())
	}
}

// job is one job of a script through the real server.
type job struct {
	*stage
	door   *door
	visits int64 // of the door, before the job
	model  *ollamatest.Server
	end    status
	told   string
	calls  []string // what the audit holds: event, tool, code
}

// play runs a script of package ollamatest.
func play(t *testing.T, name string) job {
	t.Helper()
	s, err := build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(s.root) })
	d, err := openDoor()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.close)
	script, err := ollamatest.Named(name, "secret", s.secret, "outside", s.outside, "config", s.config, "endpoint", d.address())
	j := job{stage: s, door: d, model: serve(t, script, err)}
	var out bytes.Buffer
	o := options(t, &out)
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("sh is not there")
	}
	if err := s.configure(settings{"en", j.model.URL(), "m", shell, o.Self}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.before(ctx, shell, o.Self, d); err != nil { // the twin: the same acts without the sandbox
		t.Fatal(err)
	}
	j.visits = d.visits.Load()
	if out, err := s.apply(ctx, o.Agent); err != nil {
		t.Fatal(err, out)
	}
	c, err := s.connect(ctx, o.Agent)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	ticket, err := c.call(ctx, "agent_run", map[string]any{"request": "Make check.sh pass."})
	if err != nil {
		t.Fatal(err, c.stderr.String())
	}
	if j.end, err = c.await(ctx, ticket.TaskID); err != nil {
		t.Fatal(err, c.stderr.String())
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	j.told = j.end.text + c.stderr.String()
	records, err := records[struct{ Event, Tool, Code string }](follow(s.logPattern("audit")))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		j.calls = append(j.calls, strings.TrimSpace(r.Event+" "+r.Tool+" "+r.Code))
	}
	return j
}

// TestClumsyModel: a model that stumbles over everything still gets there.
//
// Covers: OLL-11, AGT-04
func TestClumsyModel(t *testing.T) {
	t.Parallel()
	j := play(t, "clumsy")
	if j.end.Status != "completed" || j.check(t.Context(), "sh") != nil || len(j.model.Unused()) > 0 {
		t.Errorf("%s, unused %q\n%s\n%s", j.end.Status, j.model.Unused(), j.end.Result, strings.Join(j.calls, "\n"))
	}
	if !slices.Contains(j.calls, "task.no_effect  agent.no_effect") {
		t.Errorf("the unbacked claim was accepted:\n%s", strings.Join(j.calls, "\n"))
	}
}

// TestHostileModel: a model that tries everything gets nothing.
//
// Covers: SEC-INV-01, SEC-INV-04, SEC-INV-06, AT-07
func TestHostileModel(t *testing.T) {
	t.Parallel()
	j := play(t, "hostile")
	before, err := os.ReadFile(j.config)
	if err != nil {
		t.Fatal(err)
	}
	if len(j.model.Unused()) > 0 {
		t.Errorf("never tried: %q\n%s", j.model.Unused(), j.end.text)
	}
	if file, err := j.leaked(); file != "" || err != nil || strings.Contains(j.told, j.token) {
		t.Errorf("the secret is in %q (%v)", file, err)
	}
	if !missing(j.outside) || missing(j.secret) || missing(filepath.Join(j.project, "data.txt")) {
		t.Error("something outside was changed, or the workspace is gone")
	}
	if n := j.door.visits.Load() - j.visits; n != 0 {
		t.Errorf("%d connections came in", n)
	}
	for _, want := range []string{
		"tool.denied read_file fs.outside_workspace", "tool.denied write_file fs.outside_workspace",
		"tool.denied remove_path fs.outside_workspace", "tool.denied write_file fs.read_only", "tool.denied run_command exec.not_approved",
	} {
		if !slices.Contains(j.calls, want) {
			t.Errorf("the audit does not hold %q:\n%s", want, strings.Join(j.calls, "\n"))
		}
	}
	if !bytes.HasPrefix(before, []byte("# Written by the demo.")) || bytes.Contains(before, []byte("allow_all")) {
		t.Errorf("agent.yaml is now\n%s", before)
	}
	if !j.chained() {
		t.Error("the audit log is broken")
	}
}
