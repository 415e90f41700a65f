package blackbox

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

func utf16le(s string) string {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return string(out)
}

func edit(path, old, new string) turn {
	return do("edit_file", args{"path": path, "old_string": old, "new_string": new})
}

// TestCasesEdit: what is written is what was asked for, byte for byte, and
// nothing else changes.
//
// Covers: C-50, C-53, C-64, C-65
func TestCasesEdit(t *testing.T) {
	t.Parallel()
	b := open(t, "", "", nil)

	// No BOM, no other ending, no other mode than asked for, on new files.
	b.run(t, "EDIT-002", func(t *testing.T) {
		for name, content := range map[string]string{"a.json": "{}", "a.txt": "", "a.md": "\ufeffx", "a.c": "x\n"} {
			b.must("write_file", args{"path": name, "content": content})
			b.holds(name, content)
		}
	})
	b.run(t, "EDIT-022", func(t *testing.T) {
		for name, content := range map[string]string{
			"go.sh": "#!/bin/sh\necho ok\n", "go.bat": "@echo off\r\necho ok\r\n", "mixed": "a\nb\r\nc\rd", "go.cmd": "a\n", "no.end": "x", "ctl": "a\tb\u2028c\x01\n",
		} {
			b.must("write_file", args{"path": name, "content": content})
			b.holds(name, content)
		}
		// Over a file with other endings, too.
		b.write("crlf.txt", "a\r\nb\r\n")
		b.tries(do("read_file", args{"path": "crlf.txt"}), do("write_file", args{"path": "crlf.txt", "content": "x\ny\n"}))
		b.holds("crlf.txt", "x\ny\n")
	})

	// UTF-16 is read, searched and edited without loss; what is neither is
	// refused and stays.
	b.run(t, "EDIT-004", func(t *testing.T) {
		b.write("note.txt", utf16le("hi\r\nが𠮷\r\n"))
		got := b.tries(do("read_file", args{"path": "note.txt"}), do("search_file", args{"path": "note.txt", "pattern": "hi"}),
			do("inspect_file", args{"path": "note.txt"}), edit("note.txt", "hi", "ho\nhu"))
		b.has("read", got[0].text, "1\thi\n", "が𠮷")
		b.has("search", got[1].text, "hi")
		if got[2].head["encoding"] != "utf-16le" || !got[3].ok {
			t.Errorf("%s\n%s", got[2].raw, got[3].raw)
		}
		b.holds("note.txt", utf16le("ho\r\nhu\r\nが𠮷\r\n"))
		for name, raw := range map[string]string{"odd.txt": utf16le("hi") + "x", "half.txt": utf16le("hi") + "\x00\xd8"} {
			b.write(name, raw)
			b.try("read_file", args{"path": name})
			b.refused(name, b.tries(edit(name, "hi", "ho"))[0], "fs.binary")
			b.holds(name, raw)
		}
	})

	// Whatever the bytes, what leaves is valid UTF-8, and the job goes on.
	b.run(t, "EDIT-006", func(t *testing.T) {
		b.write("jp.py", strings.Repeat("# 日本語の注釈\n", 4000))
		b.write("bytes.txt", "good\n\xc3\x28 bad\nend\n")
		b.write("long.txt", strings.Repeat("日", 9000))
		for i, got := range b.tries(
			do("run_command", args{"command": `printf '\303\050\n'; printf '日本%.0s' $(seq 1 20000)`}),
			do("run_command", args{"command": `i=0; while [ $i -lt 3000 ]; do echo 日本語日本語; i=$((i+1)); done`}),
			do("read_file", args{"path": "jp.py"}),
			do("read_file", args{"path": "bytes.txt"}),
			do("read_file", args{"path": "long.txt"}),
			do("search_file", args{"path": "long.txt", "pattern": "日"}),
			do("search_file", args{"path": "bytes.txt", "pattern": "bad"}),
			edit("bytes.txt", "end", "fin"),
		) {
			if !got.ok || !utf8.ValidString(got.raw) || (strings.ContainsRune(got.raw, utf8.RuneError) && i != 0 && i != 3 && i != 6) {
				t.Errorf("call %d: %s", i, clip(got.raw))
			}
		}
		b.holds("bytes.txt", "good\n\xc3\x28 bad\nfin\n") // untouched bytes stay
		for _, body := range b.model.bodies {
			if !utf8.ValidString(body) {
				t.Fatal("a request to the model is not valid UTF-8")
			}
		}
		b.audit() // parses every line
		if status := b.must("list_files", args{}); !status.ok {
			t.Error("afterwards nothing works")
		}
	})

	// An unterminated last line is never glued to what follows. (The patch form
	// needs apply_patch.)
	b.run(t, "EDIT-008", func(t *testing.T) {
		for i, c := range []struct{ before, old, new, want string }{
			{"last", "last", "last\nmore", "last\nmore"},
			{"x\r\nlast", "last", "last\nmore", "x\r\nlast\r\nmore"},
			{"x\r\nlast", "x\nlast", "x\nlast\nmore\n", "x\r\nlast\r\nmore\r\n"},
			{"a\nlast", "last", "first\nlast", "a\nfirst\nlast"},
			{"a\nlast\n", "last\n", "last\nmore\n", "a\nlast\nmore\n"},
		} {
			name := fmt.Sprintf("eof%d.txt", i)
			b.write(name, c.before)
			b.tries(edit(name, c.old, c.new))
			b.holds(name, c.want)
		}
	})

	// Too large is refused before it is loaded; reading takes what it shows.
	b.run(t, "EDIT-010", func(t *testing.T) {
		f, err := os.Create(b.path("huge.txt"))
		if err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			fmt.Fprintln(f, "some words on a line")
		}
		if err := f.Truncate(300 << 20); err != nil { // sparse
			t.Fatal(err)
		}
		f.Close()
		got := b.tries(edit("huge.txt", "some words", "x"), do("read_file", args{"path": "huge.txt", "limit": 3}),
			do("write_file", args{"path": "huge.txt", "content": "x"}))
		b.refused("edit", got[0], "fs.too_large")
		b.has("edit", got[0].message, "8388608")
		if info, err := os.Stat(b.path("huge.txt")); err != nil || (info.Size() != 300<<20 && !got[2].ok) || len(got[1].raw) > 20<<10 {
			t.Errorf("%v %v %s", info, err, clip(got[1].raw))
		}
		_ = os.Remove(b.path("huge.txt"))
		kept := b.tries(do("run_command", args{"command": "yes 0123456789abcdef | head -c 300000000"}),
			do("read_file", args{"path": "output:1"}), do("read_file", args{"path": "output:1", "offset": 20000, "limit": 5}))
		if kept[0].head["output_id"] != "1" {
			b.has("output", kept[0].raw, "output_id")
		}
		for _, got := range kept {
			if len(got.raw) > 20<<10 {
				t.Errorf("%d bytes to the model", len(got.raw))
			}
		}
		b.has("what was dropped", kept[0].text, "bytes left out")
	})

	// The new text is text, never a pattern; so is the old.
	b.run(t, "EDIT-012", func(t *testing.T) {
		for i, c := range []struct{ before, old, new, want string }{
			{"PID=HERE; C=HERE2", "HERE;", `$$ $& $1 ${x} \1 %s;`, `PID=$$ $& $1 ${x} \1 %s; C=HERE2`},
			{"a.c abc", "a.c", `\n\t\\ %d {path}`, `\n\t\\ %d {path} abc`},
			{"x(y)[z]*", "(y)[z]*", `<&>"'` + "`", `x<&>"'` + "`"},
			{"  indent\n", "  indent", "\tindent ", "\tindent \n"},
			{"日本", "日", "\u0000x", "\u0000x本"},
		} {
			name := fmt.Sprintf("lit%d.txt", i)
			b.write(name, c.before)
			b.tries(edit(name, c.old, c.new))
			b.holds(name, c.want)
		}
		b.write("all.txt", "aXbXc")
		b.must("edit_file", args{"path": "all.txt", "old_string": "X", "new_string": "$0XX", "replace_all": true})
		b.holds("all.txt", "a$0XXb$0XXc")
	})

	// One replacement a call: what is given as a list is refused, and of several
	// calls each is judged by the text as it is then. (Several at once: apply_patch.)
	b.run(t, "EDIT-014", func(t *testing.T) {
		b.write("t.txt", "a\nb\na2\n")
		b.refuse("edit_file", args{"path": "t.txt", "edits": []args{{"old": "b", "new": "a"}}}, "tool.arguments")
		got := b.tries(turn{calls: []call{edit("t.txt", "b", "a").calls[0], edit("t.txt", "a\n", "z\n").calls[0]}})
		if !got[0].ok {
			t.Error(got[0].raw)
		}
		b.refused("the second", got[1], "fs.not_unique")
		b.has("the second", got[1].message, "2", "lines 1, 2")
		b.holds("t.txt", "a\na\na2\n")
	})

	// Mode, owner and setgid stay; nothing is widened.
	b.run(t, "EDIT-016", func(t *testing.T) {
		for mode, name := range map[os.FileMode]string{0o750: "hook.sh", 0o600: "key.sh", 0o444: "ro.sh", 0o755 | os.ModeSetgid: "group.sh"} {
			b.write(name, "#!/bin/sh\nold\n")
			if err := os.Chmod(b.path(name), mode); err != nil {
				t.Fatal(err)
			}
			before, _ := os.Stat(b.path(name))
			got := b.tries(do("read_file", args{"path": name}), edit(name, "old", "new"), do("write_file", args{"path": name, "content": "#!/bin/sh\nwhole\n"}))
			if after, _ := os.Stat(b.path(name)); after.Mode() != before.Mode() {
				t.Errorf("%s: %v, was %v", name, after.Mode(), before.Mode())
			}
			if got[1].ok != got[2].ok || !got[1].ok && b.read(name) != "#!/bin/sh\nold\n" {
				t.Errorf("%s: %s\n%s", name, got[1].raw, got[2].raw)
			}
		}
		b.must("write_file", args{"path": "new.sh", "content": "#!/bin/sh\n"})
		if info, _ := os.Stat(b.path("new.sh")); info.Mode().Perm()&0o111 != 0 {
			t.Errorf("a new file is %v", info.Mode())
		}
	})

	// A link stays a link; its target is written.
	b.run(t, "EDIT-018", func(t *testing.T) {
		b.write("real/conf", "v1")
		b.link("real/conf", "conf")
		b.link("conf", "conf2")
		b.tries(edit("conf", "v1", "v2"), edit("conf2", "v2", "v3"))
		b.holds("real/conf", "v3")
		b.tries(do("read_file", args{"path": "conf"}), do("write_file", args{"path": "conf", "content": "v4"}))
		b.holds("real/conf", "v4")
		for name, want := range map[string]string{"conf": "real/conf", "conf2": "conf"} {
			if got, err := os.Readlink(b.path(name)); got != want {
				t.Errorf("%s -> %q, %v", name, got, err)
			}
		}
	})

	// Search text as read_file shows it matches either ending; what is inserted
	// takes the file's.
	b.run(t, "EDIT-020", func(t *testing.T) {
		for i, c := range []struct{ before, old, new, want string }{
			{"int a;\r\nint b;\r\nint c;\r\n", "int a;\nint b;", "int a;\nint z;\nint b;", "int a;\r\nint z;\r\nint b;\r\nint c;\r\n"},
			{"int a;\r\nint b;\r\n", "int a;\r\nint b;", "int a;\r\nint z;\r\nint b;", "int a;\r\nint z;\r\nint b;\r\n"},
			{"a\nb\n", "a\nb", "a\nz\nb", "a\nz\nb\n"},
			{"a\r\nb\r\n", "b", "y\nz", "a\r\ny\r\nz\r\n"},
			{"\ufeffa\r\nb\r\n", "a\nb\n", "b\na\n", "\ufeffb\r\na\r\n"},
			{"a\nb\r\nc\n", "a\n", "x\n", "x\nb\r\nc\n"},
		} {
			name := fmt.Sprintf("q%d.cs", i)
			b.write(name, c.before)
			b.tries(edit(name, c.old, c.new))
			b.holds(name, c.want)
		}
	})

	// What changed since it was read is not overwritten, even when size and time
	// are the same; what was never read is not either (C-50).
	b.run(t, "EDIT-026", func(t *testing.T) {
		for i, c := range []struct{ tool, meanwhile string }{{"write_file", "A\nB\n"}, {"write_file", "B\n"}, {"edit_file", "AB"}, {"edit_file", "A\nB\n"}} {
			name := fmt.Sprintf("n%d.md", i)
			b.write(name, "A\n")
			before, _ := os.Stat(b.path(name))
			change := turn{raw: func(w http.ResponseWriter) {
				if err := os.WriteFile(b.path(name), []byte(c.meanwhile), 0o644); err != nil {
					t.Error(err)
				}
				_ = os.Chtimes(b.path(name), before.ModTime(), before.ModTime())
				next := do("write_file", args{"path": name, "content": "A2\n"})
				if c.tool == "edit_file" {
					next = edit(name, "A", "A2")
				}
				b.model.answer(w, next)
			}}
			raw := b.play("none", do("read_file", args{"path": name}), change)
			if len(raw) != 2 {
				t.Fatalf("%v", raw)
			}
			b.refused(c.tool, parse(t, raw[1]), "fs.changed")
			b.holds(name, c.meanwhile)
		}
		b.write("unread.md", "A\n")
		b.refuse("write_file", args{"path": "unread.md", "content": "x"}, "fs.not_read")
		b.holds("unread.md", "A\n")
		b.tries(edit("unread.md", "A", "A2")) // an exact match is proof enough
		b.holds("unread.md", "A2\n")
	})
}
