package scopedfs

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sunaba/fault"
	"sunaba/policy"
	"sunaba/scope"
)

// Nothing that could block or act when opened is opened.
func TestSpecialFiles(t *testing.T) {
	w := build(t, "w/fifo |", "w/dir/", "w/null -> /dev/null", "w/l -> fifo")
	socket, err := net.Listen("unix", w.path("w/sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	f := w.open(func(e *policy.Effective) {
		e.Roots = append(e.Roots, policy.Root{Path: "/dev", Kind: policy.RootMount, Capability: scope.R | scope.W})
	})
	for _, name := range []string{"fifo", "l", "sock", "null", "/dev/zero"} {
		_, _, err := f.OpenFile(name)
		wants(t, "open "+name, err, fault.FSSpecialFile)
		_, _, err = f.OpenExec(name)
		if err == nil {
			t.Errorf("%s was opened for execution", name)
		}
		_, err = f.WriteFile(name, []byte("x"), WriteOptions{})
		wants(t, "write "+name, err, fault.FSSpecialFile)
		_, err = f.Update(name, 0, func(b []byte) ([]byte, error) { return b, nil })
		wants(t, "update "+name, err, fault.FSSpecialFile)
		_, _, err = f.OpenDir(name)
		wants(t, "open directory "+name, err, fault.FSNotDirectory)
		_, _, err = f.Stat(name)
		wants(t, "stat "+name, err, "")
	}
}

// Covers: S1-167, FS-10
func TestOpenExec(t *testing.T) {
	w := build(t, "w/run = #!/bin/sh", "w/text = T", "m/run = #!/bin/sh", "rt/bin/tool = X", "w/l -> run")
	for _, name := range []string{"w/run", "m/run", "rt/bin/tool"} {
		if err := os.Chmod(w.path(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	runtime := func(e *policy.Effective) {
		e.Roots = append(e.Roots, policy.Root{Path: w.path("rt"), Kind: policy.RootRuntime, Capability: scope.R | scope.X})
	}
	f := w.open(w.mount("m", scope.R|scope.W), runtime)
	for name, code := range map[string]fault.Code{
		"run": "", "l": "", "text": fault.FSNoExecute, ".": fault.FSIsDirectory, "missing": fault.FSNotFound,
		w.path("m/run"): fault.FSNoExecute, w.path("rt/bin/tool"): outside,
	} {
		file, _, err := f.OpenExec(name)
		wants(t, name, err, code)
		file.Close()
	}
	e := w.effective()
	runtime(e)
	rules, err := e.Rules()
	if err != nil {
		t.Fatal(err)
	}
	wide, err := Open(rules.Executables(), Options{Pwd: w.path("w")})
	if err != nil {
		t.Fatal(err)
	}
	defer wide.Close()
	file, _, err := wide.OpenExec(w.path("rt/bin/tool"))
	wants(t, "a runtime component", err, "")
	file.Close()
}

func TestReadFileBounds(t *testing.T) {
	w := build(t, "w/f = 12345", "w/secret/k = K")
	f := w.open()
	limited := w.openWith(Options{MaxFileBytes: 4})
	for _, c := range []struct {
		fs   *FS
		max  int64
		code fault.Code
	}{{f, 0, ""}, {f, 5, ""}, {f, 4, fault.FSTooLarge}, {limited, 0, fault.FSTooLarge}, {limited, 10, fault.FSTooLarge}} {
		data, _, err := c.fs.ReadFile("f", c.max)
		wants(t, fmt.Sprint("max ", c.max), err, c.code)
		if err == nil && string(data) != "12345" {
			t.Errorf("content %q", data)
		}
	}
	// A file that grows between the look at its size and the reading.
	grown := place{node: node{size: 2}}
	file, err := os.Open(w.path("w/f"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	_, err = grown.read("read", file, 4)
	wants(t, "a growing file", err, fault.FSTooLarge)
}

func TestOpenedHandleIsTheFile(t *testing.T) {
	w := build(t, "w/f = content")
	file, at, err := w.open().OpenFile("f")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if data, err := io.ReadAll(file); err != nil || string(data) != "content" || file.Name() != w.path("w/f") || at.Canonical != w.path("w/f") {
		t.Errorf("read %q, %v from %s", data, err, file.Name())
	}
}

func TestLinksAreSeenAsLinks(t *testing.T) {
	w := build(t, "w/f = F", "w/l -> f", "w/o -> /etc/passwd", "w/d -> nowhere")
	f := w.open()
	for name, target := range map[string]string{"l": "f", "o": "/etc/passwd", "d": "nowhere", "d/": "nowhere"} {
		got, _, err := f.Readlink(name)
		if err != nil || got != target {
			t.Errorf("Readlink(%s) = %q, %v", name, got, err)
		}
		info, at, err := f.Lstat(name)
		if err != nil || info.Mode()&os.ModeSymlink == 0 || at.Canonical != w.path("w/"+strings.TrimSuffix(name, "/")) {
			t.Errorf("Lstat(%s) = %v, %+v, %v", name, info, at, err)
		}
	}
	info, at, err := f.Stat("l")
	if err != nil || !info.Mode().IsRegular() || info.Size() != 1 || info.Name() != "f" || at.Canonical != w.path("w/f") || info.IsDir() || info.ModTime().IsZero() {
		t.Errorf("Stat(l) = %+v, %+v, %v", info, at, err)
	}
	_, _, err = f.Stat("o")
	wants(t, "stat through a link that leads out", err, outside)
	_, _, err = f.Readlink("f")
	wants(t, "readlink of a file", err, fault.FSFailed)
}

// Covers: S0-57, FS-06c
func TestReadDir(t *testing.T) {
	w := build(t, "w/b.txt = BB", "w/a/x = X", "w/l -> b.txt", "w/out -> /etc", "w/secret/k = K", "w/hidden.txt = H", "w/p |", "w/\xff = N")
	f := w.open(w.deny(scope.Read, "w/secret"), w.deny(scope.Read, "w/hidden.txt"))
	entries, more, at, err := f.ReadDir(".", 0)
	if err != nil || more || at.Canonical != w.path("w") {
		t.Fatal(more, at, err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, fmt.Sprintf("%s %s %d %s", e.Name, e.Type, e.Size*int64(b2i(e.Type == 0)), e.Target))
		if e.ModTime.IsZero() || e.Mode.Type() != e.Type {
			t.Errorf("%+v is incomplete", e)
		}
	}
	want := []string{"a d--------- 0 ", "b.txt ---------- 2 ", "l L--------- 0 b.txt", "out L--------- 0 /etc", "p p--------- 0 ", "\xff ---------- 1 "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	entries, more, _, err = f.ReadDir(".", 2)
	if err != nil || !more || len(entries) != 2 || entries[1].Name != "b.txt" {
		t.Errorf("with a bound: %v, %v, %v", entries, more, err)
	}
	for path, code := range map[string]fault.Code{"b.txt": fault.FSNotDirectory, "secret": unruled, "out": outside, "none": fault.FSNotFound, "..": outside} {
		_, _, _, err := f.ReadDir(path, 0)
		wants(t, path, err, code)
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A directory that only a non-recursive rule covers is there and looks empty,
// to listings and walks alike.
//
// Covers: S0-30, SD-07
func TestNonRecursiveRuleEndsListing(t *testing.T) {
	w := build(t, "w/sub/deep/f = F", "w/sub/g = G", "w/top = T")
	s, err := scope.New([]scope.Rule{{Target: w.path("w"), Permission: scope.Write}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(FromScope(s), Options{Pwd: w.path("w")})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if entries, _, _, err := f.ReadDir(".", 0); err != nil || len(entries) != 2 {
		t.Errorf("the target: %v, %v", entries, err)
	}
	if entries, _, _, err := f.ReadDir("sub", 0); err != nil || len(entries) != 0 {
		t.Errorf("its child: %v, %v", entries, err)
	}
	_, _, _, err = f.ReadDir("sub/deep", 0)
	wants(t, "beneath its child", err, unruled)
	if got := walked(t, f, "."); !slices.Equal(got, []string{"sub", "top"}) {
		t.Errorf("walked %q", got)
	}
	_, err = f.MkdirAll("sub/new")
	wants(t, "a directory beneath a child", err, unruled)
	_, err = f.WriteFile("new/file", nil, WriteOptions{})
	wants(t, "a file beneath a new child", err, unruled)
	if !w.missing("w/new") || !w.missing("w/sub/new") {
		t.Error("a refused act made a directory")
	}
	_, err = f.WriteFile("newfile", []byte("x"), WriteOptions{})
	wants(t, "a direct child", err, "")
}

func TestPermissionOfTheSystem(t *testing.T) {
	w := build(t, "w/closed/f = F", "w/unreadable = U", "w/readonly = R", "w/shut/f = S")
	chmod := func(path string, mode os.FileMode) {
		if !filepath.IsAbs(path) {
			path = w.path(path)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(path, 0o755) })
	}
	for dir := w.top; dir != "/"; dir = filepath.Dir(dir) { // the temporary directory of root is root's alone
		if info, err := os.Stat(dir); err == nil && info.Mode()&0o011 != 0o011 {
			chmod(dir, info.Mode()|0o011)
		}
	}
	f := w.open()
	chmod("w/closed", 0)
	chmod("w/unreadable", 0)
	chmod("w/readonly", 0o444)
	chmod("w/shut", 0o555)
	asOrdinaryUser(t, func() {
		_, _, err := f.ReadFile("closed/f", 0)
		wants(t, "in a closed directory", err, fault.FSPermission)
		_, _, err = f.ReadFile("unreadable", 0)
		wants(t, "an unreadable file", err, fault.FSPermission)
		_, err = f.WriteFile("readonly", []byte("x"), WriteOptions{})
		wants(t, "a read-only file", err, fault.FSPermission)
		_, err = f.WriteFile("shut/new", []byte("x"), WriteOptions{})
		wants(t, "a new file in a read-only directory", err, fault.FSPermission)
		_, err = f.Remove("shut/f")
		wants(t, "removal in a read-only directory", err, fault.FSPermission)
		_, _, _, err = f.ReadDir("closed", 0)
		wants(t, "list a closed directory", err, fault.FSPermission)
		var failed []string
		err = f.Walk(t.Context(), ".", func(e WalkEntry) error {
			if e.Err != nil {
				failed = append(failed, e.Rel+" "+string(fault.CodeOf(e.Err)))
			}
			return nil
		})
		if err != nil || !slices.Equal(failed, []string{"closed fs.permission"}) {
			t.Errorf("walk: %v, failed %q", err, failed)
		}
	})
	if w.content("w/readonly") != "R" {
		t.Error("the read-only file was written")
	}
}

func TestClosedFSRefuses(t *testing.T) {
	w := build(t, "w/f = F")
	f := w.open()
	f.Close()
	if _, _, err := f.ReadFile("f", 0); err == nil {
		t.Error("a closed FS read a file")
	}
}
