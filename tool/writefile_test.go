package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sunaba/scope"
)

func sha(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// EDIT-002, EDIT-022: the bytes on disk are the content, nothing else.
func TestWriteFileKeepsEveryByte(t *testing.T) {
	b := newBox(t, nil)
	for path, content := range map[string]string{
		"a.json": "{}", "go.sh": "#!/bin/sh\necho ok\n", "crlf": "a\r\nb", "empty": "", "deep/er/x.txt": "日本", "bom": "\ufeffx",
	} {
		r := b.ok(WriteFile, args{"path": path, "content": content})
		if got := b.content(path); got != content {
			t.Errorf("%s holds %q, want %q", path, got, content)
		}
		hasFields(t, r, "created=true path="+path)
		want := Effect{Kind: EffectWrite, Path: filepath.Join(b.root, path), Bytes: int64(len(content)), Digest: sha(content), Changed: true}
		if len(r.Effects) != 1 || r.Effects[0] != want {
			t.Errorf("effects %v, want %v", r.Effects, want)
		}
	}
}

// EDIT-026: what was not read, or has changed since, is not overwritten.
func TestWriteFileNeedsWhatWasRead(t *testing.T) {
	b := newBox(t, map[string]string{"n.md": "A\n", "other": "x", "d/": ""})
	write := func(content string) args { return args{"path": "n.md", "content": content} }
	b.refused(WriteFile, write("A2\n"), "fs.not_read")
	b.ok(ReadFile, args{"path": "n.md"})

	// Someone else changes it; in the second round size and time stay equal.
	for _, other := range []string{"A\nB\n", "C\nD\n"} {
		info, err := os.Stat(filepath.Join(b.root, "n.md"))
		if err != nil {
			t.Fatal(err)
		}
		b.put("n.md", other)
		if err := os.Chtimes(filepath.Join(b.root, "n.md"), time.Time{}, info.ModTime()); err != nil {
			t.Fatal(err)
		}
		b.refused(WriteFile, write("A2\n"), "fs.changed")
		if got := b.content("n.md"); got != other {
			t.Fatalf("n.md holds %q", got)
		}
		b.ok(ReadFile, args{"path": "n.md"})
	}
	hasFields(t, b.ok(WriteFile, write("A2\n")), "created=false bytes=3")
	b.ok(WriteFile, write("A3\n")) // what was written is known
	if r := b.ok(WriteFile, write("A3\n")); r.Effects[0].Changed {
		t.Error("the same content counts as a change")
	}
	b.refused(WriteFile, args{"path": "d", "content": ""}, "fs.is_directory")

	// A file that write_file made counts as read, under its new name too.
	b.ok(WriteFile, args{"path": "new", "content": "1"})
	b.ok(WriteFile, args{"path": "new", "content": "2"})
	b.ok(MoveFile, args{"from": "new", "to": "newer"})
	b.ok(WriteFile, args{"path": "newer", "content": "3"})
	// One that vanished since is made again only knowingly.
	if err := os.Remove(filepath.Join(b.root, "newer")); err != nil {
		t.Fatal(err)
	}
	b.ok(WriteFile, args{"path": "newer", "content": "4"})

	// One that was removed is forgotten, whoever makes it again.
	b.ok(RemovePath, args{"path": "newer"})
	b.put("newer", "4")
	b.refused(WriteFile, args{"path": "newer", "content": "5"}, "fs.not_read")

	free := newBox(t, map[string]string{"n.md": "A"}, func(e *Env) { e.MayOverwriteUnread = true })
	free.ok(WriteFile, write("B"))
}

// PATH-029: a name that only looks the same is left alone and named.
func TestWriteFileWarnsOfLookAlikes(t *testing.T) {
	old, made := "か\u3099.md", "\u304c.md"
	b := newBox(t, map[string]string{old: "A"})
	r := b.ok(WriteFile, args{"path": made, "content": "B"})
	if field(r, "similar") != old || r.Hint != "similar" {
		t.Errorf("%v", r)
	}
	if b.content(old) != "A" || b.content(made) != "B" {
		t.Errorf("%q, %q", b.content(old), b.content(made))
	}
	if r := b.ok(WriteFile, args{"path": "plain.md", "content": ""}); r.Hint != "" {
		t.Errorf("%v", r)
	}
}

// Covers: SD-22
func TestWriteFileHoldsLimits(t *testing.T) {
	b := newBox(t, map[string]string{"a": "", "b": ""}, func(e *Env) {
		e.Policy.MaxFiles, e.Policy.MaxFileBytes = 3, 10
	})
	b.refused(WriteFile, args{"path": "c", "content": strings.Repeat("x", 11)}, "fs.too_large")
	b.ok(WriteFile, args{"path": "c", "content": strings.Repeat("x", 10)})
	b.refused(WriteFile, args{"path": "d", "content": ""}, "fs.too_many_files")
	b.refused(EditFile, args{"path": "c", "old_string": "xxxxxxxxxx", "new_string": "yyyyyyyyyyy"}, "fs.too_large")
	if got := b.content("c"); got != strings.Repeat("x", 10) {
		t.Errorf("c holds %q", got)
	}
}

// Every change is refused in a read-only workspace, and done in a writable one.
// Covers: FS-04, FS-06a, FS-06b, SD-04, S1-246
func TestChangesNeedTheirRights(t *testing.T) {
	changes := []struct {
		name string
		args args
	}{
		{WriteFile, args{"path": "new", "content": "x"}},
		{EditFile, args{"path": "a", "old_string": "1", "new_string": "2"}},
		{MakeDirectory, args{"path": "d/e"}},
		{MoveFile, args{"from": "a", "to": "b"}},
		{RemovePath, args{"path": "b"}},
	}
	files := map[string]string{"a": "1", "sub/": ""}
	locked := newBox(t, files, func(e *Env) { e.Policy.Roots[0].Capability = scope.R })
	open := newBox(t, files)
	for _, c := range changes {
		if c.name != RemovePath { // in the locked box nothing was moved to b
			locked.refused(c.name, c.args, "fs.read_only")
		}
		open.ok(c.name, c.args)
	}
	locked.refused(RemovePath, args{"path": "a"}, "fs.read_only")
	keep := newBox(t, files, func(e *Env) { e.Policy.Roots[0].Capability = scope.R | scope.W })
	keep.refused(RemovePath, args{"path": "a"}, "fs.no_delete")
	// An unread file that may not be written is read-only first (C-80).
	locked.refused(WriteFile, args{"path": "a", "content": "x"}, "fs.read_only")
}

// Covers: FS-06b, FS-07b
func TestMakeMoveRemove(t *testing.T) {
	b := newBox(t, map[string]string{"a": "1", "full/x": "", "link": "-> a"})
	hasFields(t, b.ok(MakeDirectory, args{"path": "p/q"}), "created=true")
	hasFields(t, b.ok(MakeDirectory, args{"path": "p/q"}), "created=false")
	b.refused(MakeDirectory, args{"path": "a/b"}, "fs.not_directory")
	b.refused(MoveFile, args{"from": "a", "to": "full/x"}, "fs.exists")
	r := b.ok(MoveFile, args{"from": "a", "to": "p/q/a"})
	if r.Effects[0].Path != filepath.Join(b.root, "p/q/a") || !r.Effects[0].Changed || b.content("p/q/a") != "1" || b.content("a") != "<missing>" {
		t.Errorf("%v", r)
	}
	b.refused(RemovePath, args{"path": "full"}, "fs.not_empty")
	r = b.ok(RemovePath, args{"path": "link"})
	if r.Effects[0].Kind != EffectDelete || r.Effects[0].Path != filepath.Join(b.root, "link") {
		t.Errorf("%v", r.Effects)
	}
	b.ok(RemovePath, args{"path": "full/x"})
	b.ok(RemovePath, args{"path": "full"})
	b.refused(RemovePath, args{"path": "full"}, "fs.not_found")
	b.refused(MoveFile, args{"from": "p", "to": "../p"}, "fs.outside_workspace")
}
