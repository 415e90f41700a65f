package locale

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sunaba/fault"
)

// parse reads one flat JSON object of strings. With known, the English texts,
// every key must be one of them and carry the same placeholders: a text that
// lost its {path} would hide from a person what is asked (case I18N-002).
func parse(file string, data []byte, known map[string]string) (map[string]string, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if at := invalidUTF8(data); at >= 0 {
		return nil, broken(file, data, at, "UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, broken(file, data, syntaxOffset(err, 0), "{ … }")
	}
	texts := map[string]string{}
	for d.More() {
		at := next(data, int(d.InputOffset()))
		t, err := d.Token()
		if err != nil {
			return nil, broken(file, data, syntaxOffset(err, at), "JSON")
		}
		key := t.(string) // the decoder accepts nothing else as a key
		valueAt := next(data, int(d.InputOffset()))
		t, err = d.Token()
		if err != nil {
			return nil, broken(file, data, syntaxOffset(err, valueAt), "JSON")
		}
		text, ok := t.(string)
		if !ok {
			return nil, broken(file, data, valueAt, `"…"`)
		}
		if _, twice := texts[key]; twice {
			return nil, keyed(fault.LocaleDuplicateKey, file, data, at, key)
		}
		if err := check(file, data, at, key, text, known); err != nil {
			return nil, err
		}
		texts[key] = text
	}
	end := int(d.InputOffset())
	if _, err := d.Token(); err != nil { // the closing brace
		return nil, broken(file, data, syntaxOffset(err, end), "JSON")
	}
	end = next(data, int(d.InputOffset()))
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, broken(file, data, end, "JSON")
	}
	return texts, nil
}

func check(file string, data []byte, at int, key, text string, known map[string]string) error {
	if known == nil {
		return nil
	}
	english, ok := known[key]
	if !ok {
		return keyed(fault.LocaleUnknownKey, file, data, at, key)
	}
	want, got := placeholders(english), placeholders(text)
	if slices.Equal(want, got) {
		return nil
	}
	e := keyed(fault.LocalePlaceholder, file, data, at, key)
	e.Args["expected"], e.Args["found"] = braced(want), braced(got)
	return e
}

func braced(names []string) string {
	if len(names) == 0 {
		return "-"
	}
	return "{" + strings.Join(names, "} {") + "}"
}

// keyed is a fault about one key, at its place.
func keyed(code fault.Code, file string, data []byte, offset int, key string) *fault.Error {
	return fault.New(code, "locale", "place", place(file, data, offset), "key", key)
}

// broken names what was expected there, in a form that needs no translation.
func broken(file string, data []byte, offset int, expected string) *fault.Error {
	return fault.New(fault.LocaleSyntax, "locale", "place", place(file, data, offset), "expected", expected)
}

// place is file:line:column, counted from 1, columns in characters.
func place(file string, data []byte, offset int) string {
	before := data[:min(max(offset, 0), len(data))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return file + ":" + strconv.Itoa(line) + ":" + strconv.Itoa(column)
}

// next skips what stands between two tokens.
func next(data []byte, offset int) int {
	rest := bytes.TrimLeft(data[offset:], " \t\r\n,:")
	return len(data) - len(rest)
}

// syntaxOffset is where the decoder stopped; for an error between two tokens it
// tells only where it began to look, and otherwise, the next token, is better.
func syntaxOffset(err error, otherwise int) int {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return max(int(e.Offset)-1, otherwise)
	}
	return otherwise
}

func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}
