package scopedfs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each pair compares an act under rules with the same act by name.
func BenchmarkRead(b *testing.B) {
	w := build(b, "w/a/b/c/f = "+strings.Repeat("line\n", 800))
	f := w.open()
	b.Run("scoped", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := f.ReadFile("a/b/c/f", 0); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("by name", func(b *testing.B) {
		for b.Loop() {
			if _, err := os.ReadFile(w.path("w/a/b/c/f")); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	w := build(b, "w/a/b/c/")
	f := w.open()
	data := []byte(strings.Repeat("line\n", 800))
	turn := func(i int) []byte { return fmt.Appendf(data[:len(data):len(data)], "%d", i) }
	b.Run("scoped", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, err := f.WriteFile("a/b/c/f", turn(i), WriteOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("by name", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			name := w.path("w/a/b/c/g")
			if os.WriteFile(name+".tmp", turn(i), 0o644) != nil || os.Rename(name+".tmp", name) != nil {
				b.Fatal("not written")
			}
		}
	})
}

func BenchmarkWalk(b *testing.B) {
	w := build(b)
	for i := range 100 {
		for j := range 100 {
			w.add(fmt.Sprintf("w/d%d/e%d/f%d = x", i, j/10, j))
		}
	}
	f := w.open()
	b.Run("scoped", func(b *testing.B) {
		for b.Loop() {
			n := 0
			f.Walk(b.Context(), ".", func(e WalkEntry) error { n++; return e.Err })
			if n != 11100 {
				b.Fatal(n)
			}
		}
	})
	b.Run("by name", func(b *testing.B) {
		for b.Loop() {
			n := 0
			filepath.WalkDir(w.path("w"), func(string, fs.DirEntry, error) error { n++; return nil })
			if n != 11101 {
				b.Fatal(n)
			}
		}
	})
}
