package tool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sunaba/fault"
)

func TestEditFile(t *testing.T) {
	utf16 := func(s string) string { return string(encode([]byte(s), utf16LE)) }
	tests := []struct {
		name, before, old, new, after string
		all                           bool
		fields                        string
	}{
		{"EDIT-012: literal, no pattern", "PID=HERE; C=HERE2", "HERE;", "$$ $& $1 ${x} \\1 %s;", "PID=$$ $& $1 ${x} \\1 %s; C=HERE2", false, "replaced=1 line=1"},
		{"EDIT-020: LF finds CRLF, inserted lines take it", "int a;\r\nint b;\r\nint c;\r\n", "int a;\nint b;", "int a;\nint z;\nint b;", "int a;\r\nint z;\r\nint b;\r\nint c;\r\n", false, "replaced=1"},
		{"one line of a CRLF file becomes two", "a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n", false, "line=2"},
		{"an empty line is taken out of a CRLF file", "a\r\n\r\nb\r\n", "a\n\n", "a\n", "a\r\nb\r\n", false, ""},
		{"EDIT-008: after an unterminated last line", "last", "last", "last\nmore", "last\nmore", false, ""},
		{"EDIT-008: the same with CRLF", "x\r\nlast", "last", "last\nmore", "x\r\nlast\r\nmore", false, ""},
		{"mixed endings stay where they are", "a\nb\r\nc\n", "a\nb\nc", "a\nB\nc", "a\nB\nc\n", false, ""},
		{"untouched endings stay", "a\r\nb\nc\r\n", "b", "B", "a\r\nB\nc\r\n", false, ""},
		{"an explicit return is literal", "a\r\nb", "a\r\n", "a\n", "a\nb", false, ""},
		{"all places", "x1x2x", "x", "yy", "yy1yy2yy", true, "replaced=3"},
		{"overlapping places with replace_all", "aaa", "aa", "b", "ba", true, "replaced=1"},
		{"removal", "a\nb\nc\n", "b\n", "", "a\nc\n", false, "bytes=4"},
		{"a BOM stays", "\xef\xbb\xbfhi", "hi", "ho", "\xef\xbb\xbfho", false, ""},
		{"EDIT-004: UTF-16 stays UTF-16", utf16("hi\r\n日本"), "日本", "日\n本", utf16("hi\r\n日\r\n本"), false, ""},
		{"bytes that are no UTF-8 stay", "\xff\xfa a \xc3", "a", "b", "\xff\xfa b \xc3", false, ""},
		{"Japanese", "吾輩は猫である", "猫", "犬", "吾輩は犬である", false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBox(t, map[string]string{"f": tt.before})
			r := b.ok(EditFile, args{"path": "f", "old_string": tt.old, "new_string": tt.new, "replace_all": tt.all})
			if got := b.content("f"); got != tt.after {
				t.Errorf("%q, want %q", got, tt.after)
			}
			hasFields(t, r, tt.fields)
			if e := r.Effects; len(e) != 1 || e[0].Kind != EffectWrite || !e[0].Changed || e[0].Digest != sha(tt.after) {
				t.Errorf("effects %v", e)
			}
		})
	}
}

func TestEditFileRefuses(t *testing.T) {
	text := "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 1\n}\n"
	tests := []struct {
		name, before, old, new, code, reason, fact string
	}{
		{"empty old_string", text, "", "x", "tool.arguments", "empty_old", ""},
		{"nothing to change", text, "a", "a", "tool.arguments", "same", ""},
		{"several places", text, "\treturn 1\n", "x", "fs.not_unique", "", "2, 6"},
		{"overlapping places", "aaa", "aa", "b", "fs.not_unique", "", "1, 1"},
		{"more places than are counted", strings.Repeat("a\n", 2000), "a", "b", "fs.not_unique", "", "1000+"},
		{"nowhere", text, "func z()", "x", "fs.no_match", "", ""},
		{"line numbers copied", text, "5\tfunc b() {\n6\t\treturn 1\n", "x", "fs.no_match", "numbers", "5"},
		{"blanks for a tab", text, "func b() {\n    return 1\n", "x", "fs.no_match", "whitespace", "5"},
		{"done already", text, "func q() {", "func b() {", "fs.no_match", "already", "5"},
		{"only a line of it", text, "func b() {\n\treturn 2\n", "x", "fs.no_match", "first_line", "5"},
		{"a return where there is none", "a\nb", "a\r\nb", "x", "fs.no_match", "whitespace", "1"},
		{"binary", "a\x00b", "a", "x", "fs.binary", "", "3"},
		{"half a UTF-16 unit", "\xff\xfea\x00b", "a", "x", "fs.binary", "encoding", "utf-16le"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBox(t, map[string]string{"f": tt.before})
			r := b.call(EditFile, args{"path": "f", "old_string": tt.old, "new_string": tt.new})
			checkRefused(t, r, fault.Code(tt.code), tt.reason)
			if facts := fmt.Sprint(r.Error.Args); !strings.Contains(facts, tt.fact) || b.content("f") != tt.before {
				t.Errorf("facts %s, content %q", facts, b.content("f"))
			}
		})
	}
}

func TestEditFileBoundsSizeAndChecksStaleness(t *testing.T) {
	b := newBox(t, map[string]string{"big": strings.Repeat("x", 2000) + "y", "f": "one"}, func(e *Env) { e.Limits.EditBytes = 1000 })
	// EDIT-010: refused before it is loaded, untouched.
	if r := b.refused(EditFile, args{"path": "big", "old_string": "y", "new_string": "z"}, "fs.too_large"); r.Error.Args["limit"] != "1000" {
		t.Errorf("%v", r.Error.Args)
	}
	b.ok(ReadFile, args{"path": "f"})
	b.put("f", "one two")
	b.refused(EditFile, args{"path": "f", "old_string": "one", "new_string": "1"}, "fs.changed")
	b.ok(ReadFile, args{"path": "f"})
	b.ok(EditFile, args{"path": "f", "old_string": "one", "new_string": "1"})
	b.ok(EditFile, args{"path": "f", "old_string": "two", "new_string": "2"}) // its own edit is known
	b.ok(WriteFile, args{"path": "f", "content": "3"})
	b.refused(EditFile, args{"path": "none", "old_string": "a", "new_string": "b"}, "fs.not_found")
	b.refused(EditFile, args{"path": ".", "old_string": "a", "new_string": "b"}, "fs.is_directory")
}

// EDIT-016, EDIT-018: the mode stays, and a link stays a link.
func TestEditFileKeepsModeAndLink(t *testing.T) {
	b := newBox(t, map[string]string{"hook.sh": "v1", "key.sh": "#!v1", "real/conf": "v1", "conf": "-> real/conf", "out": "-> ../away"})
	for path, mode := range map[string]os.FileMode{"hook.sh": 0o750, "key.sh": 0o600} {
		full := filepath.Join(b.root, path)
		if err := os.Chmod(full, mode); err != nil {
			t.Fatal(err)
		}
		b.ok(EditFile, args{"path": path, "old_string": "v1", "new_string": "v2"})
		if info, err := os.Stat(full); err != nil || info.Mode() != mode {
			t.Errorf("%s: mode %v, %v; want %v", path, info.Mode(), err, mode)
		}
	}
	r := b.ok(EditFile, args{"path": "conf", "old_string": "v1", "new_string": "v2"})
	if target, err := os.Readlink(filepath.Join(b.root, "conf")); err != nil || target != "real/conf" {
		t.Errorf("the link says %q, %v", target, err)
	}
	if b.content("real/conf") != "v2" || r.Effects[0].Path != filepath.Join(b.root, "real/conf") {
		t.Errorf("%q, %v", b.content("real/conf"), r.Effects)
	}
	b.refused(EditFile, args{"path": "out", "old_string": "v1", "new_string": "v2"}, "fs.outside_workspace")
}

// A replacement changes the place alone: what is before and after it stays.
func TestReplaceTouchesThePlaceAlone(t *testing.T) {
	piece := rapid.StringOfN(rapid.SampledFrom([]rune("ab\r\n\t日")), 0, 12, -1)
	rapid.Check(t, func(t *rapid.T) {
		before, old, after, new := piece.Draw(t, "before"), "<"+piece.Draw(t, "old")+">", piece.Draw(t, "after"), piece.Draw(t, "new")
		r, err := replace([]byte(before+old+after), editArgs{Old: old, New: new})
		if err != nil {
			t.Fatal(err)
		}
		got := string(r.text)
		if !strings.HasPrefix(got, before) || !strings.HasSuffix(got, after) || r.count != 1 {
			t.Fatalf("%q", got)
		}
		middle := got[len(before) : len(got)-len(after)]
		if strings.ReplaceAll(middle, "\r\n", "\n") != strings.ReplaceAll(new, "\r\n", "\n") {
			t.Fatalf("%q was put in for %q", middle, new)
		}
	})
}

// A text that overlaps itself everywhere is replaced in one pass: looked for at
// each of its bytes it would take hours.
func TestReplaceAllOfWhatOverlapsItself(t *testing.T) {
	const size, length = 8 << 20, 100_000
	r, err := replace([]byte(strings.Repeat("a", size)), editArgs{Old: strings.Repeat("a", length), New: "b", ReplaceAll: true})
	if err != nil || r.count != size/length || len(r.text) != size/length+size%length {
		t.Errorf("%d places, %d bytes, %v", r.count, len(r.text), err)
	}
}
