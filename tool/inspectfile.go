package tool

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"time"

	"sunaba/fault"
)

// inspectFile tells about one path, without its content. A link is followed
// for the facts and named for what it is.
func (e *Env) inspectFile(ctx context.Context, a pathArgs) Result {
	info, p, err := e.FS.Lstat(a.Path)
	if err != nil {
		return e.fail(err)
	}
	r := Result{OK: true, Fields: []Field{{"path", a.Path}, {"type", typeName(info.Mode().Type())}}}
	if typeName(info.Mode().Type()) == "link" {
		if target, _, err := e.FS.Readlink(a.Path); err == nil {
			r.Fields = append(r.Fields, Field{"target", valid([]byte(target))})
		}
		if info, p, err = e.FS.Stat(a.Path); err != nil {
			return e.fail(err)
		}
		r.Fields = append(r.Fields, Field{"target_type", typeName(info.Mode().Type())})
	}
	r.Scope = e.label(p)
	r.Fields = append(r.Fields, Field{"size", info.Size()}, Field{"mode", fmt.Sprintf("%04o", info.Mode().Perm())},
		Field{"modified", info.ModTime().UTC().Format(time.RFC3339)})
	r.Effects = []Effect{{Kind: EffectRead, Path: p.Canonical}}
	if !info.Mode().IsRegular() {
		return r
	}
	f, _, err := e.FS.OpenFile(a.Path)
	if err != nil {
		return e.fail(err)
	}
	defer f.Close()
	size, err := sizeOf(f, a.Path)
	if err != nil {
		return e.fail(err)
	}
	facts, err := inspect(ctx, io.LimitReader(f, size))
	if err != nil {
		return e.fail(fault.Wrap(err, fault.FSFailed, InspectFile, "path", a.Path))
	}
	r.Effects[0].Digest = facts.digest
	if facts.binary != "" {
		r.Fields = append(r.Fields, Field{"binary", facts.binary})
	} else {
		r.Fields = append(r.Fields, Field{"encoding", string(facts.enc)}, Field{"lines", facts.lines}, Field{"line_ends", facts.lineEnds})
	}
	r.Fields = append(r.Fields, Field{"sha256", facts.digest})
	return r
}

type contentFacts struct {
	enc      encoding
	binary   string // media type; "" for text
	lines    int
	lineEnds string // lf, crlf, mixed, none
	digest   string
}

// inspect reads content once to its end, holding one block of it.
func inspect(ctx context.Context, content io.Reader) (contentFacts, error) {
	var f contentFacts
	hash := sha256.New()
	block := make([]byte, 64<<10)
	var feeds, pairs int
	var last byte
	var wide []byte // the beginning of a UTF-16 unit that a block cut
	for first := true; ; first = false {
		if err := ctx.Err(); err != nil {
			return f, err
		}
		n, err := io.ReadFull(content, block)
		b := block[:n]
		hash.Write(b)
		if first {
			head := b[:min(n, sniffBytes)]
			var isBinary bool
			if f.enc, isBinary = sniff(head); isBinary {
				f.binary = http.DetectContentType(head)
			}
		}
		if f.enc == utf16LE || f.enc == utf16BE {
			b, wide = narrow(append(wide, b...), f.enc)
		}
		feeds += bytes.Count(b, []byte{'\n'})
		pairs += bytes.Count(b, []byte("\r\n"))
		if len(b) > 0 {
			if last == '\r' && b[0] == '\n' {
				pairs++
			}
			last = b[len(b)-1]
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			break
		}
		if err != nil {
			return f, err
		}
	}
	f.lines = feeds
	if last != 0 && last != '\n' {
		f.lines++
	}
	switch {
	case feeds == 0:
		f.lineEnds = "none"
	case pairs == 0:
		f.lineEnds = "lf"
	case pairs == feeds:
		f.lineEnds = "crlf"
	default:
		f.lineEnds = "mixed"
	}
	f.digest = hex.EncodeToString(hash.Sum(nil))
	return f, nil
}

// narrow maps UTF-16 units to one byte each, enough to count lines, and
// returns the byte of a unit that is not whole yet.
func narrow(b []byte, enc encoding) (units, rest []byte) {
	order := byteOrder(enc)
	for len(b) >= 2 {
		u := order.Uint16(b)
		if u > 0x7f {
			u = 'x'
		}
		units, b = append(units, byte(u)), b[2:]
	}
	return units, b
}
