package tool

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// encoding is how a text file spells its characters.
type encoding string

const (
	utf8Plain encoding = "utf-8"
	utf8BOM   encoding = "utf-8-bom"
	utf16LE   encoding = "utf-16le"
	utf16BE   encoding = "utf-16be"
)

const bom = "\xef\xbb\xbf"

// sniffBytes is how much of a file's beginning tells text from binary.
const sniffBytes = 8 << 10

// sniff looks at the beginning of a file. UTF-16 counts as text only with its
// byte order mark.
func sniff(head []byte) (enc encoding, isBinary bool) {
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")) && !bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")):
		return utf16LE, false
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return utf16BE, false
	case bytes.IndexByte(head, 0) >= 0:
		return utf8Plain, true
	case bytes.HasPrefix(head, []byte(bom)):
		return utf8BOM, false
	}
	// Some binary formats have no NUL near their start.
	kind := http.DetectContentType(head)
	known := !strings.HasPrefix(kind, "text/") && kind != "application/octet-stream"
	return utf8Plain, known && !utf8.Valid(trimPartialEnd(head))
}

// decode returns data without its byte order mark as UTF-8. ok is false when
// encode would not give data back.
func decode(data []byte, enc encoding) (text []byte, ok bool) {
	switch enc {
	case utf8BOM:
		return data[len(bom):], true
	case utf16LE, utf16BE:
		order := byteOrder(enc)
		units := make([]uint16, 0, len(data)/2)
		for i := 2; i+1 < len(data); i += 2 {
			units = append(units, order.Uint16(data[i:]))
		}
		text = []byte(string(utf16.Decode(units)))
		return text, bytes.Equal(encode(text, enc), data)
	}
	return data, true
}

// encode is the reverse of decode: it puts the byte order mark back.
func encode(text []byte, enc encoding) []byte {
	switch enc {
	case utf8BOM:
		return append([]byte(bom), text...)
	case utf16LE, utf16BE:
		order := byteOrder(enc)
		data := order.AppendUint16(make([]byte, 0, 2*len(text)+2), 0xfeff)
		for _, u := range utf16.Encode([]rune(string(text))) {
			data = order.AppendUint16(data, u)
		}
		return data
	}
	return text
}

func byteOrder(enc encoding) interface {
	binary.ByteOrder
	binary.AppendByteOrder
} {
	if enc == utf16BE {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// valid returns b as valid UTF-8: every run of bytes that is none becomes U+FFFD.
func valid(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// clip keeps what a model made up from filling a message or a log.
func clip(s string) string { return cutChars(valid([]byte(s)), 200, 0) }

// trimPartialEnd drops the first bytes of a character that b ends amid.
func trimPartialEnd(b []byte) []byte {
	for i := 1; i <= min(utf8.UTFMax-1, len(b)); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// trimPartialStart drops the last bytes of a character that b begins amid.
func trimPartialStart(b []byte) []byte {
	for i := 0; i < min(utf8.UTFMax-1, len(b)); i++ {
		if utf8.RuneStart(b[i]) {
			return b[i:]
		}
	}
	return b
}

// countLines counts lines: a last one without an end counts too.
func countLines(b []byte) int {
	n := bytes.Count(b, []byte{'\n'})
	if len(b) > 0 && b[len(b)-1] != '\n' {
		n++
	}
	return n
}
