package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"sunaba/fault"
)

var start = time.Date(2026, 12, 1, 2, 3, 4, 5_000_000, time.UTC)

func openTest(t *testing.T, limit int64, secrets ...string) (*Log, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "log")
	l, err := open(dir, start, NewRedactor(secrets...), limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, dir
}

func add(t *testing.T, l *Log, records ...Record) {
	t.Helper()
	for _, r := range records {
		if err := l.Append(r); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Covers: S1-227
func TestRecordsAreChained(t *testing.T) {
	l, _ := openTest(t, rotateAt)
	want := []Record{
		{Event: "server.start"},
		{Event: "tool.call", SessionID: "s", TaskID: "t", PlanTask: "t1", Tool: "run_command", Argv0: "/usr/bin/true", ExitCode: new(0), Bytes: new(int64(0)), Digest: "d", Reported: true},
		{Event: "tool.denied", Decision: "deny", Rule: "agent.yaml:3", Path: "/日本/x", Channel: "local", Code: fault.FSReadOnly},
	}
	add(t, l, want...)
	data := read(t, l.path())
	var got []Record
	for i, line := range bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")) {
		var r Record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if at, err := time.Parse(time.RFC3339Nano, r.Time); err != nil || at.Location() != time.UTC || r.Seq != uint64(i+1) {
			t.Errorf("line %d: time %s, seq %d", i+1, r.Time, r.Seq)
		}
		got = append(got, r)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Record{}, "Seq", "Time", "Prev", "Hash")); diff != "" {
		t.Error(diff)
	}
	if got[0].Prev != strings.Repeat("0", 64) || got[1].Prev != got[0].Hash || got[2].Prev != got[1].Hash {
		t.Error("the chain is broken")
	}
	last, n, err := Verify(bytes.NewReader(data), "")
	if last != got[2].Hash || n != 3 || err != nil {
		t.Errorf("verify: %s %d %v", last, n, err)
	}
}

// Outsiders verify with CONTRACT §7 alone, not with our code.
func TestHashIsAsPublished(t *testing.T) {
	l, _ := openTest(t, rotateAt)
	add(t, l, Record{Event: `x,"hash":"y"`, Path: `/a","hash":"b"}`})
	line := bytes.TrimSuffix(read(t, l.path()), []byte("\n"))
	var m map[string]any
	if err := json.Unmarshal(line, &m); err != nil {
		t.Fatal(err)
	}
	hash := m["hash"].(string)
	without := strings.Replace(string(line), `,"hash":"`+hash+`"`, "", 1)
	if got := digest([]byte(without)); got != hash {
		t.Errorf("%s, want %s", got, hash)
	}
	if !strings.HasSuffix(string(line), `,"hash":"`+hash+`"}`) {
		t.Errorf("hash is not the last member: %s", line)
	}
}

// There is no member for argument bodies, images or contents.
// Covers: S1-229
func TestMembersAreThoseOfTheContract(t *testing.T) {
	const contract = `seq, time, event, session_id?, task_id?, plan_task?, tool?, decision?, rule?, path?, argv0?, exit_code?, bytes?, digest?, channel?, code?, limit?, protocol?, endpoint?, address?, failed?, count?, reported?, prev, hash`
	var got []string
	for f := range reflect.TypeFor[Record]().Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if options == "omitempty" && name != "hash" {
			name += "?"
		}
		got = append(got, name)
	}
	if diff := cmp.Diff(contract, strings.Join(got, ", ")); diff != "" {
		t.Error(diff)
	}
}

// Covers: S1-226
func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := Open(dir, start, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for path, want := range map[string]os.FileMode{dir: os.ModeDir | 0o700, l.path(): 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: %v %v, want %v", path, info.Mode(), err, want)
		}
	}
	if name := filepath.Base(l.path()); !strings.HasPrefix(name, "audit-20261201T020304.005Z-") {
		t.Errorf("name: %s", name)
	}
}

func TestAnExistingFileIsNeverContinued(t *testing.T) {
	l, dir := openTest(t, rotateAt)
	if _, err := Open(dir, start, nil); fault.CodeOf(err) != fault.PlatformAudit {
		t.Errorf("the same name again: %v", err)
	}
	other := start.Add(time.Second)
	target := filepath.Join(t.TempDir(), "planted")
	if err := os.Symlink(target, basename(dir, "audit", other)+".jsonl"); err != nil {
		t.Skip("symbolic links: ", err)
	}
	if _, err := Open(dir, other, nil); fault.CodeOf(err) != fault.PlatformAudit {
		t.Errorf("through a planted link: %v", err)
	}
	if _, err := os.Lstat(target); err == nil {
		t.Error("the link was followed")
	}
	add(t, l, Record{Event: "server.stop"})
}

// sink is a file that fails as it is told.
type sink struct {
	bytes.Buffer
	short   bool
	err     error
	syncErr error
	calls   int
}

func (s *sink) Write(p []byte) (int, error) {
	s.calls++
	if s.short {
		return s.Buffer.Write(p[:len(p)/2])
	}
	if s.err != nil {
		return 0, s.err
	}
	return s.Buffer.Write(p)
}
func (s *sink) Sync() error  { return s.syncErr }
func (s *sink) Close() error { return nil }

func TestAFailedWriteFailsForGood(t *testing.T) {
	for name, breakIt := range map[string]func(*sink){
		"short write": func(s *sink) { s.short = true },
		"error":       func(s *sink) { s.err = errors.New("disk full") },
	} {
		t.Run(name, func(t *testing.T) {
			s := &sink{}
			l := &Log{file: s, prev: noHash, limit: rotateAt}
			add(t, l, Record{Event: "a"})
			breakIt(s)
			if err := l.Append(Record{Event: "b"}); fault.CodeOf(err) != fault.PlatformAudit {
				t.Fatalf("got %v", err)
			}
			*s = sink{Buffer: s.Buffer, calls: s.calls}
			if err := l.Append(Record{Event: "c"}); fault.CodeOf(err) != fault.PlatformAudit {
				t.Errorf("after the disk has room again: %v", err)
			}
			if err := l.Sync(); err == nil {
				t.Error("sync of a poisoned log")
			}
			if s.calls != 2 {
				t.Errorf("%d writes, want 2", s.calls)
			}
			if _, n, err := Verify(&s.Buffer, ""); n != 1 || (err != nil && err != ErrTorn) {
				t.Errorf("what stands: %d %v", n, err)
			}
		})
	}
	s := &sink{syncErr: errors.New("I/O error")}
	l := &Log{file: s, prev: noHash, limit: rotateAt}
	add(t, l, Record{Event: "a"})
	if err := l.Sync(); fault.CodeOf(err) != fault.PlatformAudit {
		t.Errorf("sync: %v", err)
	}
	if err := l.Append(Record{Event: "b"}); err == nil {
		t.Error("append after a failed sync")
	}
}

func TestOneWritePerRecord(t *testing.T) {
	s := &sink{}
	l := &Log{file: s, prev: noHash, limit: rotateAt}
	add(t, l, Record{Event: "a", Path: strings.Repeat("x", 10_000)}, Record{Event: "b"})
	if s.calls != 2 {
		t.Errorf("%d writes for 2 records", s.calls)
	}
}

func TestClosedLog(t *testing.T) {
	l, _ := openTest(t, rotateAt)
	add(t, l, Record{Event: "a"})
	for range 2 {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Append(Record{Event: "b"}); fault.CodeOf(err) != fault.PlatformAudit {
		t.Errorf("got %v", err)
	}
}

func TestRotationContinuesTheChain(t *testing.T) {
	l, dir := openTest(t, 1000)
	for range 20 {
		add(t, l, Record{Event: "tool.call", Tool: "read_file"})
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	base := basename(dir, "audit", start)
	entries, _ := os.ReadDir(dir)
	last, total := "", 0
	for i := range entries {
		path := base + ".jsonl"
		if i > 0 {
			path = base + "-" + string(rune('1'+i)) + ".jsonl"
		}
		data := read(t, path)
		if len(data) > 1000 {
			t.Errorf("%s has %d bytes", path, len(data))
		}
		hash, n, err := Verify(bytes.NewReader(data), last)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if i > 0 {
			if _, _, err := Verify(bytes.NewReader(data), ""); fault.CodeOf(err) != fault.PlatformAuditChain {
				t.Errorf("%s verifies without the file before it", path)
			}
		}
		last, total = hash, total+n
	}
	if total != 20 || len(entries) < 5 {
		t.Errorf("%d records in %d files", total, len(entries))
	}
}

func TestConcurrentAppends(t *testing.T) {
	l, _ := openTest(t, rotateAt)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 25 {
				if err := l.Append(Record{Event: "tool.call"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if _, n, err := Verify(bytes.NewReader(read(t, l.path())), ""); n != 200 || err != nil {
		t.Errorf("%d %v", n, err)
	}
}

func TestTextIsBoundedValidAndEscaped(t *testing.T) {
	l, _ := openTest(t, rotateAt)
	hostile := "/w/\x1b[2J\x07\u202eevil\u0085\u2028\x7f\U000E0041\xff\"\n日"
	add(t, l,
		Record{Event: "file.write", Path: hostile},
		Record{Event: "file.write", Path: strings.Repeat("日", 5000)},
		Record{Event: "tool.denied", Tool: strings.Repeat("\xff", 9000), Rule: "r"})
	data := read(t, l.path())
	if !utf8.Valid(data) {
		t.Error("not UTF-8")
	}
	for _, c := range string(data) {
		if c != '\n' && (unicode.IsControl(c) || unicode.In(c, unicode.Cf, unicode.Zl, unicode.Zp)) {
			t.Errorf("a raw %U", c)
		}
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	var first, second, third Record
	for i, r := range []*Record{&first, &second, &third} {
		if err := json.Unmarshal([]byte(lines[i]), r); err != nil {
			t.Fatal(err)
		}
	}
	if want := strings.ToValidUTF8(hostile, "\ufffd"); first.Path != want {
		t.Errorf("path: %q, want %q", first.Path, want)
	}
	if len(second.Path) > maxText || len(second.Path) < maxText-3 || !strings.HasSuffix(second.Path, "日…") {
		t.Errorf("long path: %d bytes", len(second.Path))
	}
	if len(third.Tool) > maxText {
		t.Errorf("tool: %d bytes", len(third.Tool))
	}
	if _, n, err := Verify(bytes.NewReader(data), ""); n != 3 || err != nil {
		t.Errorf("%d %v", n, err)
	}
}

// Case AUD-004 for the audit: every free text is redacted, before it is cut.
func TestSecretsDoNotReachTheAudit(t *testing.T) {
	const secret = "s3cret-value-42"
	l, _ := openTest(t, rotateAt, secret)
	r := Record{Bytes: new(int64(1)), ExitCode: new(1)}
	v := reflect.ValueOf(&r).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.String {
			f.SetString("x " + secret + " Authorization: Bearer abc.def https://user:pw@host/")
		}
	}
	add(t, l, r, Record{Event: "file.write", Path: strings.Repeat("x", maxText-10) + secret})
	for _, bad := range []string{secret, secret[:7], "abc.def", "user:pw", "pw@"} {
		if strings.Contains(string(read(t, l.path())), bad) {
			t.Errorf("%q is in the audit log", bad)
		}
	}
}

// Case AUD-002: a torn line is told, and never fused with a new record: the
// next process writes a file of its own.
func TestTornTail(t *testing.T) {
	l, dir := openTest(t, rotateAt)
	add(t, l, Record{Event: "a"}, Record{Event: "b"})
	whole := read(t, l.path())
	for cut := 1; cut < 40; cut++ {
		_, n, err := Verify(bytes.NewReader(whole[:len(whole)-cut]), "")
		if n != 1 || err != ErrTorn {
			t.Fatalf("%d bytes cut: %d %v", cut, n, err)
		}
	}
	if err := os.WriteFile(l.path(), whole[:len(whole)-9], 0o600); err != nil {
		t.Fatal(err)
	}
	next, err := Open(dir, start.Add(time.Minute), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	add(t, next, Record{Event: "server.start"})
	if _, n, err := Verify(bytes.NewReader(read(t, next.path())), ""); n != 1 || err != nil {
		t.Errorf("the new file: %d %v", n, err)
	}
}

// Whatever is changed, removed, added or moved within whole lines is found,
// with its line.
func TestTamperingIsFound(t *testing.T) {
	l, _ := openTest(t, rotateAt)
	for range 6 {
		add(t, l, Record{Event: "tool.call", Path: "/w/file"})
	}
	data := read(t, l.path())
	lines := bytes.SplitAfter(data, []byte("\n"))[:6]
	rapid.Check(t, func(t *rapid.T) {
		bad := slices.Clone(lines)
		at := rapid.IntRange(0, 4).Draw(t, "line")
		switch rapid.SampledFrom([]string{"flip", "drop", "swap", "twice", "empty", "reseal"}).Draw(t, "how") {
		case "flip":
			line := slices.Clone(bad[at])
			i := rapid.IntRange(0, len(line)-2).Draw(t, "byte")
			line[i] ^= byte(1 << rapid.IntRange(0, 6).Draw(t, "bit"))
			bad[at] = line
		case "drop":
			bad = slices.Delete(bad, at, at+1)
		case "swap":
			bad[at], bad[at+1] = bad[at+1], bad[at]
		case "twice":
			bad = slices.Insert(bad, at, bad[at])
			at++
		case "reseal": // a forged line with a fitting hash is found by the next one
			body := bytes.Replace(bad[at][:len(bad[at])-len(hashKey)-64-3], []byte("/w/file"), []byte("/w/else"), 1)
			bad[at] = fmt.Appendf(bytes.Clone(body), ",\"hash\":\"%s\"}\n", digest(append(bytes.Clone(body), '}')))
			at++
		case "empty":
			bad = slices.Insert(bad, at, []byte("\n"))
		}
		_, n, err := Verify(bytes.NewReader(bytes.Join(bad, nil)), "")
		if fault.CodeOf(err) != fault.PlatformAuditChain || n != at {
			t.Fatalf("good lines %d, want %d: %v", n, at, err)
		}
	})
	if _, n, err := Verify(bytes.NewReader(data), ""); n != 6 || err != nil {
		t.Errorf("untouched: %d %v", n, err)
	}
	long := strings.NewReader(strings.Repeat("x", 2*maxLine) + "\n")
	if _, _, err := Verify(long, ""); fault.CodeOf(err) != fault.PlatformAuditChain {
		t.Errorf("an endless line: %v", err)
	}
	if _, _, err := Verify(io.MultiReader(bytes.NewReader(data), &failing{}), ""); err == nil {
		t.Error("a read error was swallowed")
	}
}

type failing struct{}

func (*failing) Read([]byte) (int, error) { return 0, errors.New("I/O error") }

func FuzzVerify(f *testing.F) {
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"seq":1,"prev":"","hash":""}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, n, err := Verify(bytes.NewReader(data), ""); n > 0 && err == nil && !bytes.Contains(data, []byte(noHash)) {
			t.Errorf("%d lines accepted", n)
		}
	})
}
