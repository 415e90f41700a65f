package tool

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"sunaba/fault"
)

// lineChars is where an over-long line is cut, in characters.
const lineChars = 2000

type readArgs struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
	Limit  int64  `json:"limit"`
	Tail   int64  `json:"tail"`
}

// readFile reads the asked lines of a file, and all of its bytes once for the
// digest that the Tracker remembers; it never holds more than it sends.
func (e *Env) readFile(ctx context.Context, a readArgs) Result {
	for name, v := range map[string]int64{"offset": a.Offset, "limit": a.Limit, "tail": a.Tail} {
		if v < 0 {
			return Fail(NoScope, fault.New(fault.ToolArguments, ReadFile, Case, "negative", "tool", ReadFile, "argument", name))
		}
	}
	view := newLineView(a, e.Limits)
	if id, ok := strings.CutPrefix(a.Path, outputPrefix); ok {
		text, ok := e.Outputs.Get(id)
		if !ok {
			return Fail(NoScope, fault.New(fault.FSNotFound, ReadFile, "path", a.Path, Case, "output"))
		}
		if err := view.fill(ctx, strings.NewReader(text)); err != nil {
			return Fail(NoScope, err)
		}
		return view.result(Result{OK: true, Scope: NoScope, Fields: []Field{{"path", a.Path}}})
	}

	f, p, err := e.FS.OpenFile(a.Path)
	if err != nil {
		return e.fail(err)
	}
	defer f.Close()
	size, err := sizeOf(f, a.Path)
	if err != nil {
		return e.fail(err)
	}
	hash := sha256.New()
	in := bufio.NewReaderSize(io.TeeReader(io.LimitReader(f, size), hash), 64<<10)
	head, err := in.Peek(sniffBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return e.fail(fault.Wrap(err, fault.FSFailed, ReadFile, "path", a.Path))
	}
	enc, isBinary := sniff(head)
	if isBinary {
		return e.fail(fault.New(fault.FSBinary, ReadFile, "path", a.Path,
			"type", http.DetectContentType(head), "size", strconv.FormatInt(size, 10)))
	}
	var text io.Reader = in
	switch enc {
	case utf8BOM:
		_, _ = in.Discard(len(bom))
	case utf16LE, utf16BE: // rare and small: decoded as a whole
		if size > e.Limits.EditBytes {
			return e.fail(tooLarge(ReadFile, a.Path, size, e.Limits.EditBytes))
		}
		data, err := io.ReadAll(in)
		if err != nil {
			return e.fail(fault.Wrap(err, fault.FSFailed, ReadFile, "path", a.Path))
		}
		decoded, _ := decode(data, enc)
		text = bytes.NewReader(decoded)
	}
	if err := view.fill(ctx, text); err != nil {
		return e.fail(err)
	}
	digest := hex.EncodeToString(hash.Sum(nil))
	e.Tracker.Seen(p.Canonical, digest)
	r := Result{OK: true, Scope: e.label(p), Fields: []Field{{"path", a.Path}, {"bytes", size}}}
	if enc != utf8Plain {
		r.Fields = append(r.Fields, Field{"encoding", string(enc)})
	}
	r.Effects = []Effect{{Kind: EffectRead, Path: p.Canonical, Digest: digest}}
	return view.result(r)
}

// sizeOf returns the size of an open file.
func sizeOf(f *os.File, path string) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, fault.Wrap(err, fault.FSFailed, "", "path", path)
	}
	return info.Size(), nil
}

func tooLarge(op, path string, size, limit int64) error {
	return fault.New(fault.FSTooLarge, op, "path", path,
		"size", strconv.FormatInt(size, 10), "limit", strconv.FormatInt(limit, 10))
}

// lineView keeps the asked lines of a text within the limits.
type lineView struct {
	first    int64 // the first line wanted, from 1; 0 in tail mode
	count    int   // lines wanted
	maxBytes int

	lines []string // numbered and cut
	bytes int      // of lines
	full  bool     // a wanted line did not fit
	total int64    // lines of the text
}

func newLineView(a readArgs, l Limits) *lineView {
	v := &lineView{first: max(1, a.Offset), count: l.ReadLines, maxBytes: l.ReadBytes}
	wanted := a.Limit
	if a.Tail > 0 {
		v.first, wanted = 0, a.Tail
	}
	if wanted > 0 {
		v.count = int(min(wanted, int64(v.count)))
	}
	return v
}

// fill reads text to its end.
func (v *lineView) fill(ctx context.Context, text io.Reader) error {
	in := bufio.NewReaderSize(text, 64<<10)
	var kept []byte      // the beginning of the current line
	var open bool        // a line has begun
	var longer int       // characters beyond kept
	const keep = 8 << 10 // more than lineChars characters of one line can need
	for {
		piece, err := in.ReadSlice('\n')
		if len(piece) > 0 {
			open = true
			room := max(0, min(keep-len(kept), len(piece)))
			kept = append(kept, piece[:room]...)
			longer += utf8.RuneCount(bytes.TrimRight(piece[room:], "\r\n"))
		}
		switch {
		case err == nil || (errors.Is(err, io.EOF) && open):
			v.add(kept, longer)
			kept, longer, open = kept[:0], 0, false
		case errors.Is(err, bufio.ErrBufferFull):
			if ctx.Err() != nil {
				return fault.Wrap(ctx.Err(), fault.AgentCancelled, ReadFile)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return fault.Wrap(err, fault.FSFailed, ReadFile)
		}
		if v.total%4096 == 0 && ctx.Err() != nil {
			return fault.Wrap(ctx.Err(), fault.AgentCancelled, ReadFile)
		}
	}
}

func (v *lineView) add(raw []byte, longer int) {
	v.total++
	if v.first > 0 && (v.total < v.first || len(v.lines) >= v.count || v.full) {
		return
	}
	if longer == 0 {
		raw = bytes.TrimSuffix(bytes.TrimSuffix(raw, []byte{'\n'}), []byte{'\r'})
	} else {
		raw = trimPartialEnd(raw)
	}
	line := strconv.FormatInt(v.total, 10) + "\t" + cutChars(valid(raw), min(lineChars, v.maxBytes/utf8.UTFMax), longer) + "\n"
	if v.first > 0 {
		if len(v.lines) > 0 && v.bytes+len(line) > v.maxBytes {
			v.full = true
			return
		}
	} else { // the last lines: the front gives way
		for len(v.lines) > 0 && (len(v.lines) >= v.count || v.bytes+len(line) > v.maxBytes) {
			v.bytes -= len(v.lines[0])
			v.lines = v.lines[1:]
		}
	}
	v.lines = append(v.lines, line)
	v.bytes += len(line)
}

// result adds the lines to r, and where to go on when there are more.
func (v *lineView) result(r Result) Result {
	from := v.first
	if from == 0 {
		from = v.total - int64(len(v.lines)) + 1
	}
	next := from + int64(len(v.lines))
	r.Fields = append(r.Fields, Field{"lines", len(v.lines)}, Field{"total_lines", v.total})
	switch {
	case len(v.lines) > 0 && next <= v.total:
		r.Fields = append(r.Fields, Field{"truncated", true}, Field{"next_offset", next})
	case v.first == 0 && from > 1:
		r.Fields = append(r.Fields, Field{"truncated", true}, Field{"first_line", from})
	}
	r.Text = strings.Join(v.lines, "")
	return r
}

// cutChars cuts s to n characters, marks that and how many are missing, dropped
// more included.
func cutChars(s string, n, dropped int) string {
	if len(s) > n {
		chars := 0
		for i := range s {
			if chars == n {
				dropped += utf8.RuneCountInString(s[i:])
				s = s[:i]
				break
			}
			chars++
		}
	}
	if dropped == 0 {
		return s
	}
	return fmt.Sprintf("%s…[+%d]", s, dropped)
}
