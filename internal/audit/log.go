package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// maxText bounds every free text of a record, in bytes.
	maxText = 4096
	// rotateAt is the size in bytes from which the chain goes on in a next file.
	rotateAt = 64 << 20
)

// noHash is the prev of the first record of a process.
var noHash = strings.Repeat("0", sha256.Size*2)

// Log is the audit log of one process. It is safe for concurrent use. Audit
// files are never deleted by the program.
type Log struct {
	redactor *Redactor

	mu     sync.Mutex
	file   appender
	base   string // path without -N.jsonl
	part   int
	size   int64
	limit  int64
	seq    uint64
	prev   string
	poison error // the first failure; every later Append returns it
}

// appender is the part of a file the log writes through.
type appender interface {
	io.WriteCloser
	Sync() error
}

// Open makes dir (0700) when needed and in it a new file
// audit-<start>-<pid>.jsonl (0600). The records' free text passes through r,
// which may be nil: then only the general patterns are redacted.
func Open(dir string, start time.Time, r *Redactor) (*Log, error) {
	return open(dir, start, r, rotateAt)
}

func open(dir string, start time.Time, r *Redactor, limit int64) (*Log, error) {
	if err := private(dir); err != nil {
		return nil, err
	}
	l := &Log{redactor: r, base: basename(dir, "audit", start), prev: noHash, limit: limit}
	if err := l.nextFile(); err != nil {
		return nil, err
	}
	return l, nil
}

// Append writes one record with a single write call and returns when the
// system has taken it. It sets Seq, Time, Prev and Hash. An error is a
// fault of code platform.audit: the act must not happen, and every later
// Append fails as well (fail closed).
func (l *Log) Append(r Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.poison != nil {
		return l.poison
	}
	line, hash, err := l.encode(r)
	if err != nil {
		return l.fail(err)
	}
	if l.size > 0 && l.size+int64(len(line)) > l.limit {
		if err := l.rotate(); err != nil {
			return l.fail(err)
		}
	}
	n, err := l.file.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return l.fail(err)
	}
	l.seq++
	l.prev = hash
	l.size += int64(n)
	return nil
}

// Sync makes the records so far durable; it is called at a Task's end.
func (l *Log) Sync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.poison != nil {
		return l.poison
	}
	if err := l.file.Sync(); err != nil {
		return l.fail(err)
	}
	return nil
}

// Close syncs and closes the file; later Appends fail. A second Close does
// nothing.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Sync()
	if cerr := l.file.Close(); err == nil {
		err = cerr
	}
	l.file = nil
	if l.poison == nil {
		l.poison = fileFault(os.ErrClosed, l.path())
	}
	if err != nil {
		return fileFault(err, l.path())
	}
	return nil
}

func (l *Log) fail(err error) error {
	l.poison = fileFault(err, l.path())
	return l.poison
}

func (l *Log) path() string {
	if l.part <= 1 {
		return l.base + ".jsonl"
	}
	return fmt.Sprintf("%s-%d.jsonl", l.base, l.part)
}

func (l *Log) rotate() error {
	if err := l.file.Sync(); err != nil {
		return err
	}
	if err := l.file.Close(); err != nil {
		return err
	}
	return l.nextFile()
}

func (l *Log) nextFile() error {
	l.part++
	f, err := create(l.path())
	if err != nil {
		return err
	}
	l.file, l.size = f, 0
	return nil
}

// encode returns the line with its newline, and its hash.
func (l *Log) encode(r Record) (line []byte, hash string, err error) {
	r.Seq, r.Prev, r.Hash = l.seq+1, l.prev, ""
	r.Time = time.Now().UTC().Format(time.RFC3339Nano)
	for _, s := range []*string{
		&r.Event, &r.SessionID, &r.TaskID, &r.PlanTask, &r.Tool, &r.Decision,
		&r.Rule, &r.Path, &r.Argv0, &r.Digest, &r.Channel, (*string)(&r.Code),
		&r.Protocol, &r.Endpoint, &r.Address, &r.Failed, &r.Limit,
	} {
		*s = bound(l.redactor.Redact(*s), maxText)
	}
	body, err := marshal(r)
	if err != nil {
		return nil, "", err
	}
	hash = digest(body)
	line = append(body[:len(body)-1:len(body)-1], `,"hash":"`+hash+"\"}\n"...)
	return line, hash, nil
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// marshal is JSON without a single raw control or bidi character, so that a
// log shown on a terminal is text and nothing else. Such characters occur in
// strings only, where an escape means the same.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	plain := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	out := make([]byte, 0, len(plain))
	for len(plain) > 0 {
		c, size := utf8.DecodeRune(plain)
		if unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			for _, unit := range utf16.AppendRune(nil, c) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
		} else {
			out = append(out, plain[:size]...)
		}
		plain = plain[size:]
	}
	return out, nil
}

// bound makes s valid UTF-8 of at most limit bytes, cut on a character's
// border; what was cut is seen to be cut.
func bound(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= limit {
		return s
	}
	const mark = "…"
	cut := limit - len(mark)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + mark
}

// basename is dir/<kind>-<start>-<pid>, unique per process and start.
func basename(dir, kind string, start time.Time) string {
	return filepath.Join(dir, fmt.Sprintf("%s-%s-%d", kind, start.UTC().Format("20060102T150405.000Z"), os.Getpid()))
}
