package screen

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
	"pgregory.net/rapid"
)

// Hostile text is shown, not obeyed (C-91); ordinary text of any language is
// left alone.
func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"":                 "",
		"plain /a b/c.txt": "plain /a b/c.txt",
		`C:\Users\u`:       `C:\Users\u`,
		"日本語 ファイル 中文 é ß ñ 🙂": "日本語 ファイル 中文 é ß ñ 🙂",
		"e\u0301":               "e\u0301", // a combining accent shows
		"a\nb\r\tc":             `a\nb\r\tc`,
		"\x1b[31mred":           `\x1b[31mred`,
		"\x1b]0;title\x07":      `\x1b]0;title\a`,
		"\u009b31m":             `\u009b31m`,
		"nul\x00del\x7f":        `nul\x00del\x7f`,
		"abc\u202egnp.exe":      `abc\u202egnp.exe`,
		"\u2066x\u2069\u200f":   `\u2066x\u2069\u200f`,
		"zero\u200bwidth\ufeff": `zero\u200bwidth\ufeff`,
		"line\u2028par\u2029":   `line\u2028par\u2029`,
		"soft\u00adhyphen":      `soft\u00adhyphen`,
		"nbsp\u00a0x\u3000y":    `nbsp\u00a0x\u3000y`,
		"tag\U000e0041":         `tag\U000e0041`,
		"vs\ufe0f":              `vs\ufe0f`,
		"filler\u3164\u115f":    `filler\u3164\u115f`,
		"bad\xff\xfeutf\xc3":    `bad\xff\xfeutf\xc3`,
		"replacement\ufffd":     "replacement\ufffd",
		"private\ue000":         `private\ue000`,
	} {
		if got := Escape(in); got != want {
			t.Errorf("Escape(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestEscapeLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		got := Escape(in)
		if !utf8.ValidString(got) {
			t.Fatalf("%q is not UTF-8", got)
		}
		if i := strings.IndexFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
			t.Fatalf("%q holds something that does not show", got)
		}
		if Escape(got) != got {
			t.Fatalf("escaping twice changes %q", got)
		}
	})
}

// Columns line up by what the eye sees, whatever the script.
func TestTableLinesUp(t *testing.T) {
	var p Page
	p.Heading("見出し")
	p.Row(Plain, "a", "1", "end")
	p.Row(Added, "日本語", "22", "end")
	p.Row(Removed, "b\nc", "", "end")
	p.Row(Changed, "alone")
	p.Text("two\nlines")
	p.Row(Warning, "x", "y")
	var out bytes.Buffer
	if err := p.Write(&out, false); err != nil {
		t.Fatal(err)
	}
	want := "見出し\n" +
		"  a       1   end\n" +
		"+ 日本語  22  end\n" +
		"- b\\nc        end\n" +
		"~ alone\n" +
		"two\nlines\n" +
		"! x  y\n"
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
	rapid.Check(t, func(t *rapid.T) {
		var p Page
		cells := rapid.SliceOfN(rapid.StringOf(rapid.SampledFrom([]rune("ab日é🙂\n\u202e"))), 1, 6).Draw(t, "cells")
		for _, c := range cells {
			p.Row(Plain, c, "|")
		}
		var out bytes.Buffer
		if err := p.Write(&out, false); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != len(cells) {
			t.Fatalf("%d rows became %d lines", len(cells), len(lines))
		}
		for _, line := range lines {
			if displaywidth.String(line) != displaywidth.String(lines[0]) {
				t.Fatalf("%q and %q do not end in one column", line, lines[0])
			}
		}
	})
}

func TestColours(t *testing.T) {
	var p Page
	p.Heading("h")
	p.Row(Plain, "a")
	p.Row(Removed, "b")
	var plain, coloured bytes.Buffer
	if err := p.Write(&plain, false); err != nil {
		t.Fatal(err)
	}
	if err := p.Write(&coloured, true); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(plain.String(), "\x1b") || !strings.Contains(coloured.String(), "\x1b[31m- b\x1b[0m\n") ||
		!strings.Contains(coloured.String(), "\n  a\n") {
		t.Errorf("plain %q, coloured %q", plain.String(), coloured.String())
	}
	if Terminal(&plain) || Coloured(&plain) || Terminal(nil) {
		t.Error("a buffer counts as a terminal")
	}
}
