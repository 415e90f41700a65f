package tool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// SRCH-015: links are not followed, pipes are not opened, deep trees end, and
// what cannot be read is counted.
func TestWalksEnd(t *testing.T) {
	deep := strings.Repeat("d/", 300)
	b := newBox(t, map[string]string{
		"a/b": "-> ..", "a/c": "-> /", "a/x.txt": "x", deep + "y.txt": "x", "closed/z.txt": "x",
	})
	if err := syscall.Mkfifo(filepath.Join(b.root, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	dir, err := os.Open(b.root)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	short := fmt.Sprintf("/proc/self/fd/%d/socket", dir.Fd()) // the path of a socket must be
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: short}); err != nil {
		t.Fatal(err)
	}
	want := []string{"a/x.txt", deep + "y.txt", "closed/z.txt"}
	sameLines(t, b.ok(FindFiles, args{"pattern": "**/*"}).Text, want)
	r := b.ok(SearchFile, args{"pattern": "x", "mode": "files"})
	sameLines(t, r.Text, want)
	hasFields(t, r, "special=2 unreadable=<nil>")

	b.refused(ReadFile, args{"path": "pipe"}, "fs.special_file")
	b.refused(SearchFile, args{"pattern": "x", "path": "pipe"}, "fs.special_file")

	if os.Geteuid() == 0 {
		return // root reads what nobody may read
	}
	if err := os.Chmod(filepath.Join(b.root, "closed"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(b.root, "closed"), 0o700)
	hasFields(t, b.ok(SearchFile, args{"pattern": "x", "mode": "files"}), "files=2 unreadable=1")
}
