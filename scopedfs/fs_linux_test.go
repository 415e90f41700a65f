package scopedfs

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sunaba/fault"
	"sunaba/policy"
	"sunaba/scope"
)

// world is a directory with a workspace w and things around it.
type world struct {
	testing.TB
	top string // resolved; the workspace is top/w
}

// build makes a tree. Each line is one of
//
//	name = content     a file, and its directories
//	name/              a directory
//	name -> target     a link; $ stands for the top
//	name == other      a hard link to other
//	name |             a FIFO
func build(t testing.TB, lines ...string) *world {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t, top}
	w.add(append([]string{"w/"}, lines...)...)
	return w
}

func (w *world) add(lines ...string) {
	w.Helper()
	for _, line := range lines {
		name, content, isFile := strings.Cut(line, " = ")
		link, target, isLink := strings.Cut(line, " -> ")
		second, first, isHard := strings.Cut(line, " == ")
		fifo, isFIFO := strings.CutSuffix(line, " |")
		path := line
		for _, separator := range []string{" = ", " -> ", " == ", " |"} {
			path, _, _ = strings.Cut(path, separator)
		}
		path = w.path(path)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		switch {
		case err != nil:
		case isFile:
			err = os.WriteFile(w.path(name), []byte(content), 0o644)
		case isLink:
			err = os.Symlink(strings.ReplaceAll(target, "$", w.top), w.path(link))
		case isHard:
			err = os.Link(w.path(first), w.path(second))
		case isFIFO:
			err = unix.Mkfifo(w.path(fifo), 0o644)
		default:
			err = os.MkdirAll(path, 0o755)
		}
		if err != nil {
			w.Fatal(err)
		}
	}
}

func (w *world) path(name string) string { return filepath.Join(w.top, name) }

// content returns what a file holds, and "" with what is wrong otherwise.
func (w *world) content(name string) string {
	data, err := os.ReadFile(w.path(name))
	if err != nil {
		return "(" + err.(*os.PathError).Err.Error() + ")"
	}
	return string(data)
}

func (w *world) missing(name string) bool {
	_, err := os.Lstat(w.path(name))
	return os.IsNotExist(err)
}

// leftovers lists temporary files anywhere in the world.
func (w *world) leftovers() (found []string) {
	filepath.WalkDir(w.top, func(path string, d fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".tmp") && strings.Contains(path, ".sunaba-") {
			found = append(found, path)
		}
		return nil
	})
	return found
}

// effective is a development policy whose workspace is w.
func (w *world) effective() *policy.Effective {
	return &policy.Effective{
		Profile: "development",
		Roots: []policy.Root{{
			Path: w.path("w"), Logical: w.path("w"), Kind: policy.RootWorkspace,
			Capability: scope.All, Source: "agent.yaml:3",
		}},
	}
}

// open opens an FS over a policy; change adjusts it.
func (w *world) open(change ...func(*policy.Effective)) *FS {
	return w.openWith(Options{}, change...)
}

func (w *world) openWith(o Options, change ...func(*policy.Effective)) *FS {
	w.Helper()
	e := w.effective()
	for _, c := range change {
		c(e)
	}
	rules, err := e.Rules()
	if err != nil {
		w.Fatal(err)
	}
	o.Pwd, o.Logical = w.path("w"), rules.Logical
	f, err := Open(rules, o)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { f.Close() })
	return f
}

// mount adds a mount.
func (w *world) mount(name string, c scope.Capability) func(*policy.Effective) {
	return func(e *policy.Effective) {
		e.Roots = append(e.Roots, policy.Root{
			Path: w.path(name), Logical: w.path(name), Kind: policy.RootMount, Capability: c, Source: "agent.yaml:9",
		})
	}
}

// deny adds a deny rule of sandbox.scope.
func (w *world) deny(level scope.Permission, name string) func(*policy.Effective) {
	return func(e *policy.Effective) {
		if e.Scope == nil {
			e.Scope = new(policy.Narrowing)
		}
		e.Scope.Deny = append(e.Scope.Deny, scope.Rule{
			Target: w.path(name), Permission: level, Recursive: true, Source: "agent.yaml:20",
		})
	}
}

// allow adds an allow rule of sandbox.scope; a name that ends in "/." is not
// recursive.
func (w *world) allow(level scope.Permission, name string) func(*policy.Effective) {
	return func(e *policy.Effective) {
		if e.Scope == nil {
			e.Scope = new(policy.Narrowing)
		}
		e.Scope.Allow = append(e.Scope.Allow, scope.Rule{
			Target: w.path(name), Permission: level, Recursive: !strings.HasSuffix(name, "/."),
			Delete: level == scope.Write, Source: "agent.yaml:30",
		})
	}
}

func (w *world) protect(name string) func(*policy.Effective) {
	return func(e *policy.Effective) {
		e.Protected = append(e.Protected, policy.Protected{Path: w.path(name), Why: "config", Source: "agent.yaml:1"})
	}
}

// wants fails the test when err does not have the code; "" is no error.
func wants(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	switch got := fault.CodeOf(err); {
	case got != code:
		t.Errorf("%s: %v, want code %q", what, err, code)
	case code == "" && err != nil:
		t.Errorf("%s: an error without a code: %v", what, err)
	}
}

// args returns the facts of a coded error.
func args(err error) fault.Args {
	if e, ok := err.(*fault.Error); ok {
		return e.Args
	}
	return nil
}

// asOrdinaryUser runs act without the rights of root: as root, on a thread
// whose file system identity is another one.
func asOrdinaryUser(t *testing.T, act func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		act()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err := unix.Setfsuid(65534); err != nil {
			t.Error(err)
			return
		}
		act()
	}()
	<-done
}
