package mcpserver

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pageBytes bounds one page of a result as it stands in JSON. An answer holds
// the page twice, as text and as structured content: together under 24 KB.
const pageBytes = 11_000

// cut returns the page of text that starts at offset, where it really starts
// (never inside a character), and the offset of the next page, 0 after the last.
func cut(text string, offset int) (page string, from, next int) {
	from = min(max(offset, 0), len(text))
	for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
		from--
	}
	end, used := from, 0
	for end < len(text) {
		r, size := utf8.DecodeRuneInString(text[end:])
		cost := size
		switch {
		case r == '"' || r == '\\' || r == '\n' || r == '\t':
			cost = 2
		case r < ' ' || r == '<' || r == '>' || r == '&' || r == '\u2028' || r == '\u2029':
			cost = 6
		}
		if used+cost > pageBytes {
			return text[from:end], from, end
		}
		used += cost
		end += size
	}
	return text[from:], from, 0
}

// clean makes text safe to show (C-91): characters that would move the cursor,
// reorder the line or hide in it are written out as \u{…}; line ends become \n.
func clean(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if !strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && isHidden(r) }) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if r != '\n' && r != '\t' && isHidden(r) {
			b.WriteString(fmt.Sprintf(`\u{%X}`, r))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// oneLine is clean for a text that must stay within one line, shortened to
// limit bytes.
func oneLine(text string, limit int) string {
	return shorten(clean(strings.Join(strings.Fields(text), " ")), limit)
}

// shorten cuts text to limit bytes on a character's border and marks the cut.
func shorten(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	end := limit
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// isHidden reports characters that control a terminal, the direction of text or
// nothing visible at all.
func isHidden(r rune) bool {
	switch {
	case unicode.IsControl(r), // C0, DEL, C1
		r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, // bidi embeddings and isolates
		r == 0x200E, r == 0x200F, r == 0x061C, // bidi marks
		r == 0x2028, r == 0x2029, // line and paragraph separator
		r == 0xFEFF, r == 0x200B, r == 0x2060, // no-break and zero-width spaces, word joiner
		r >= 0xFFF9 && r <= 0xFFFB,   // interlinear annotation
		r >= 0xE0000 && r <= 0xE007F: // tags: invisible copies of ASCII
		return true
	}
	return false
}
