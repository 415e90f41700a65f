package tool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadFile(t *testing.T) {
	utf16 := func(s string) string { return string(encode([]byte(s), utf16LE)) }
	b := newBox(t, map[string]string{
		"a.txt":      "one\ntwo\nthree\nfour\n",
		"crlf.txt":   "one\r\ntwo\r\n",
		"bom.txt":    "\xef\xbb\xbfhi\n",
		"wide.txt":   utf16("hi\r\n日本\n"),
		"widebe":     string(encode([]byte("hi\n"), utf16BE)),
		"empty":      "",
		"noend":      "a\nb",
		"bad.txt":    "a\xc3\x28b\n",
		"d/":         "",
		"link":       "-> a.txt",
		"out":        "-> /etc/passwd",
		"か\u3099.md": "A",
	})
	tests := []struct {
		name, text, fields string
		args               args
	}{
		{"whole", "1\tone\n2\ttwo\n3\tthree\n4\tfour\n", "lines=4 total_lines=4 truncated=<nil> bytes=19 path=a.txt", args{"path": "a.txt"}},
		{"from a line", "3\tthree\n4\tfour\n", "lines=2 total_lines=4", args{"path": "a.txt", "offset": 3}},
		{"some lines", "2\ttwo\n3\tthree\n", "lines=2 total_lines=4 truncated=true next_offset=4", args{"path": "a.txt", "offset": 2, "limit": 2}},
		{"the last lines", "3\tthree\n4\tfour\n", "lines=2 total_lines=4 truncated=true first_line=3", args{"path": "a.txt", "tail": 2}},
		{"more than there are", "1\tone\n2\ttwo\n3\tthree\n4\tfour\n", "lines=4 truncated=<nil>", args{"path": "a.txt", "tail": 99}},
		{"beyond the end", "", "lines=0 total_lines=4 truncated=<nil>", args{"path": "a.txt", "offset": 99}},
		{"offset 0 is the start", "1\tone\n", "next_offset=2", args{"path": "a.txt", "offset": 0, "limit": 1}},
		{"CRLF is shown as LF", "1\tone\n2\ttwo\n", "lines=2", args{"path": "crlf.txt"}},
		{"a BOM is hidden", "1\thi\n", "encoding=utf-8-bom", args{"path": "bom.txt"}},
		{"UTF-16 is decoded", "1\thi\n2\t日本\n", "encoding=utf-16le lines=2", args{"path": "wide.txt"}},
		{"UTF-16 of the other order", "1\thi\n", "encoding=utf-16be", args{"path": "widebe"}},
		{"empty", "", "lines=0 total_lines=0 bytes=0", args{"path": "empty"}},
		{"no end of the last line", "1\ta\n2\tb\n", "lines=2", args{"path": "noend"}},
		{"bytes that are no UTF-8", "1\ta\uFFFD(b\n", "lines=1", args{"path": "bad.txt"}},
		{"through a link", "1\tone\n", "lines=1", args{"path": "link", "limit": 1}},
		{"by an absolute path", "1\tone\n", "lines=1", args{"path": filepath.Join(b.root, "a.txt"), "limit": 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := b.ok(ReadFile, tt.args)
			if r.Text != tt.text {
				t.Errorf("text %q, want %q", r.Text, tt.text)
			}
			hasFields(t, r, tt.fields)
			if r.Scope != InWorkspace || len(r.Effects) != 1 || r.Effects[0].Kind != EffectRead || len(r.Effects[0].Digest) != 64 {
				t.Errorf("scope %s, effects %v", r.Scope, r.Effects)
			}
		})
	}
	b.refused(ReadFile, args{"path": "a.txt", "offset": -1}, "tool.arguments", "negative")
	b.refused(ReadFile, args{"path": "d"}, "fs.is_directory")
	b.refused(ReadFile, args{"path": "none"}, "fs.not_found")
	if r := b.refused(ReadFile, args{"path": "out"}, "fs.outside_workspace"); r.Scope != OutsideWorkspace {
		t.Errorf("scope %s", r.Scope)
	}
	// PATH-029: the other spelling of a name is named, not opened.
	if r := b.refused(ReadFile, args{"path": "\u304c.md"}, "fs.not_found", "similar"); r.Error.Args["similar"] != "か\u3099.md" {
		t.Errorf("%v", r.Error.Args)
	}
}

// EDIT-006, SRCH-009: what is cut is cut between characters, and says so.
// Covers: S1-112
func TestReadFileCutsBetweenCharacters(t *testing.T) {
	long := strings.Repeat("日本語", 2000)
	b := newBox(t, map[string]string{
		"long.txt":  long + "\nnext\n",
		"huge.txt":  strings.Repeat("x", 3<<20) + "\nnext\n",
		"many.txt":  strings.Repeat("0123456789\n", 5000),
		"small.txt": "日本語日本語\n二\n",
	}, func(e *Env) { e.Limits.ReadBytes = 16 << 10 })
	r := b.ok(ReadFile, args{"path": "long.txt"})
	if want := "1\t" + string([]rune(long)[:lineChars]) + "…[+4000]\n2\tnext\n"; r.Text != want {
		t.Errorf("%q…", r.Text[max(0, len(r.Text)-60):])
	}
	r = b.ok(ReadFile, args{"path": "huge.txt"})
	if want := "1\t" + strings.Repeat("x", lineChars) + fmt.Sprintf("…[+%d]\n2\tnext\n", 3<<20-lineChars); r.Text != want {
		t.Errorf("%q…", r.Text[max(0, len(r.Text)-60):])
	}
	r = b.ok(ReadFile, args{"path": "many.txt"})
	if len(r.Text) > 16<<10 || !strings.HasSuffix(r.Text, "9\n") {
		t.Errorf("%d bytes ending in %q", len(r.Text), r.Text[len(r.Text)-5:])
	}
	hasFields(t, r, fmt.Sprintf("total_lines=5000 truncated=true next_offset=%d", strings.Count(r.Text, "\n")+1))
	r = b.ok(ReadFile, args{"path": "many.txt", "tail": 1500})
	if len(r.Text) > 16<<10 || !strings.HasSuffix(r.Text, "5000\t0123456789\n") {
		t.Errorf("%d bytes ending in %q", len(r.Text), r.Text[len(r.Text)-20:])
	}
	small := newBox(t, map[string]string{"small.txt": "日本語日本語\n二\n"}, func(e *Env) { e.Limits.ReadBytes = 16 })
	if r := small.ok(ReadFile, args{"path": "small.txt"}); r.Text != "1\t日本語日…[+2]\n" {
		t.Errorf("%q", r.Text)
	}
}

func TestReadFileRefusesWhatIsNoText(t *testing.T) {
	b := newBox(t, map[string]string{
		"nul":  "ab\x00cd",
		"jpeg": "\xff\xd8\xff\xe0rest",
		"big":  strings.Repeat("x\n", 600),
		"text": "BM is not always a picture\n",
	}, func(e *Env) { e.Policy.MaxFileBytes = 1000 })
	if r := b.refused(ReadFile, args{"path": "nul"}, "fs.binary"); r.Error.Args["size"] != "5" {
		t.Errorf("%v", r.Error.Args)
	}
	if r := b.refused(ReadFile, args{"path": "jpeg"}, "fs.binary"); r.Error.Args["type"] != "image/jpeg" {
		t.Errorf("%v", r.Error.Args)
	}
	b.ok(ReadFile, args{"path": "text"})
	b.refused(ReadFile, args{"path": "big"}, "fs.too_large")
}

func TestReadFileReadsKeptOutput(t *testing.T) {
	b := newBox(t, nil, func(e *Env) { e.Outputs = new(Outputs) })
	id := b.env.Outputs.Put("a\nb\nc\n")
	r := b.ok(ReadFile, args{"path": "output:" + id, "offset": 2})
	if r.Text != "2\tb\n3\tc\n" || r.Scope != NoScope {
		t.Errorf("%v", r)
	}
	b.refused(ReadFile, args{"path": "output:99"}, "fs.not_found", "output")
	b.refused(ReadFile, args{"path": "output:../x"}, "fs.not_found", "output")
}

func TestOutputsStayBounded(t *testing.T) {
	var o Outputs
	text := strings.Repeat("x", 1<<20)
	for range 20 {
		o.Put(text)
	}
	if o.bytes > maxOutputs || len(o.texts) != 8 {
		t.Errorf("%d bytes in %d texts are kept", o.bytes, len(o.texts))
	}
	if _, ok := o.Get("1"); ok {
		t.Error("the oldest is still there")
	}
	if _, ok := o.Get("20"); !ok {
		t.Error("the newest is gone")
	}
}

func TestInspectFile(t *testing.T) {
	b := newBox(t, map[string]string{
		"a.txt": "x\r\ny\r\n", "mixed": "x\ny\r\nz", "bin": "a\x00b", "d/": "", "link": "-> a.txt",
		"wide": string(encode([]byte("a\r\nb\r\n"), utf16LE)), "bom": "\xef\xbb\xbfx",
		"seam": strings.Repeat("a", 64<<10-1) + "\r\n",
	})
	if err := os.Chmod(filepath.Join(b.root, "a.txt"), 0o750); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"a.txt": "type=file size=6 mode=0750 encoding=utf-8 lines=2 line_ends=crlf sha256=" + sha("x\r\ny\r\n"),
		"mixed": "lines=3 line_ends=mixed",
		"bin":   "binary=application/octet-stream lines=<nil> sha256=" + sha("a\x00b"),
		"d":     "type=directory sha256=<nil>",
		"link":  "type=link target=a.txt target_type=file size=6",
		"wide":  "encoding=utf-16le lines=2 line_ends=crlf",
		"seam":  "lines=1 line_ends=crlf",
		"bom":   "encoding=utf-8-bom line_ends=none",
	} {
		hasFields(t, b.ok(InspectFile, args{"path": path}), want)
	}
	b.refused(InspectFile, args{"path": "none"}, "fs.not_found")
}

// Covers: FS-06c
func TestListFiles(t *testing.T) {
	b := newBox(t, map[string]string{"b.txt": "12", "a/": "", "link": "-> b.txt", "z/": "", ".hidden": "", "line\nbreak": ""})
	r := b.ok(ListFiles, args{})
	if want := "a/\nz/\n.hidden\t0\nb.txt\t2\nline\\nbreak\t0\nlink -> b.txt\n"; r.Text != want {
		t.Errorf("%q, want %q", r.Text, want)
	}
	hasFields(t, r, "path=. entries=6 truncated=<nil>")
	few := newBox(t, map[string]string{"a": "", "b": "", "c": ""}, func(e *Env) { e.Limits.Entries = 2 })
	hasFields(t, few.ok(ListFiles, args{"path": "."}), "entries=2 truncated=true")
	b.refused(ListFiles, args{"path": "b.txt"}, "fs.not_directory")
	b.refused(ListFiles, args{"path": ".."}, "fs.outside_workspace")
}
