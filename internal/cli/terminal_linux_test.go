package cli_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sunaba/internal/cli"
)

// openTerminal returns both ends of a new pseudo terminal.
func openTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals: %v", err)
	}
	t.Cleanup(func() { person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals: %v", err)
	}
	t.Cleanup(func() { program.Close() })
	return person, program
}

var codePattern = regexp.MustCompile(`type the code ([A-Z0-9]{4}) and press`)

// converse runs apply at a terminal and types what answer returns for the code
// that is shown; it returns the screen and the exit code.
func converse(t *testing.T, config string, answer func(code string) string) (screen, errors string, exit int) {
	t.Helper()
	person, program := openTerminal(t)
	seen := make(chan string, 1)
	go func() {
		var all strings.Builder
		asked := false
		in := bufio.NewReader(person)
		for {
			b, err := in.ReadByte()
			if err != nil || b == 0 { // the end mark below
				break
			}
			all.WriteByte(b)
			if m := codePattern.FindStringSubmatch(all.String()); m != nil && !asked && b == ' ' && strings.HasSuffix(all.String(), "is: ") {
				asked = true
				all.WriteString("<asked>")
				io.WriteString(person, answer(m[1]))
			}
		}
		seen <- all.String()
	}()
	var stderr bytes.Buffer
	exit = cli.Run([]string{"apply", config}, cli.Streams{In: program, Out: program, Err: &stderr})
	program.Write([]byte{0})
	return <-seen, stderr.String(), exit
}

func prepareHome(t *testing.T) (config, store string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("HOME", filepath.Join(dir, "home"))
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "xdg"))
	if err := os.Mkdir(filepath.Join(dir, "project"), 0o700); err != nil {
		t.Fatal(err)
	}
	config = filepath.Join(dir, "agent.yaml")
	if err := os.WriteFile(config, []byte("schema_version: 2\nollama: {base_url: 'http://127.0.0.1:1'}\nsandbox: {workspace: {root: project}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return config, filepath.Join(dir, "state", "agent-mcp", "applied")
}

// Covers: S1-083, S1-084, S1-085, UC-05
//
// Only the code that is shown is an answer; everything else leaves all as it
// is (C-88).
func TestApplyAsksAPerson(t *testing.T) {
	tests := []struct {
		name   string
		answer func(code string) string
		exit   int
		says   string
	}{
		{"yes", func(string) string { return "yes\n" }, 3, "was not the code"},
		{"empty line", func(string) string { return "\n" }, 3, "was not the code"},
		{"part of the code", func(code string) string { return code[:3] + "\n" }, 3, "was not the code"},
		{"end of input", func(string) string { return "\x04" }, 3, "no answer"},
		{"interrupt", func(string) string { unix.Kill(unix.Getpid(), unix.SIGINT); return "" }, 3, "interrupted"},
		{"the code", func(code string) string { return code + "\n" }, 0, ""},
		{"the code in small letters", func(code string) string { return " " + strings.ToLower(code) + " \n" }, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("NO_COLOR", "1")
			config, store := prepareHome(t)
			screen, stderr, exit := converse(t, config, tt.answer)
			if exit != tt.exit || !strings.Contains(stderr, tt.says) {
				t.Errorf("exit %d, want %d; says %q; screen:\n%s", exit, tt.exit, stderr, screen)
			}
			if strings.Count(screen, "<asked>") != 1 || strings.Count(screen, "RWDX") != 1 {
				t.Errorf("not asked or not shown exactly once:\n%s", screen)
			}
			stored, _ := filepath.Glob(filepath.Join(store, "*.json"))
			if (len(stored) == 1) != (tt.exit == 0) {
				t.Errorf("exit %d and stored %q", exit, stored)
			}
			if tt.exit == 0 { // nothing differs now: no question
				screen, _, exit := converse(t, config, func(string) string { return "never\n" })
				if exit != 0 || strings.Contains(screen, "<asked>") || !strings.Contains(screen, "Nothing has changed") {
					t.Errorf("the second apply: exit %d\n%s", exit, screen)
				}
			}
		})
	}
}

// Every question has a code of its own.
func TestCodesDiffer(t *testing.T) {
	config, _ := prepareHome(t)
	seen := map[string]bool{}
	for range 4 {
		converse(t, config, func(code string) string { seen[code] = true; return "no\n" })
	}
	if len(seen) < 3 { // one chance in 2^38
		t.Errorf("codes %v", seen)
	}
}

// A terminal on one side only is no person.
func TestHalfATerminal(t *testing.T) {
	config, store := prepareHome(t)
	_, program := openTerminal(t)
	for name, std := range map[string]cli.Streams{
		"input only":  {In: program, Out: io.Discard},
		"output only": {In: strings.NewReader("AAAA\n"), Out: program},
	} {
		var stderr bytes.Buffer
		std.Err = &stderr
		if exit := cli.Run([]string{"apply", config}, std); exit != 3 || !strings.Contains(stderr.String(), "terminal") {
			t.Errorf("%s: exit %d, %s", name, exit, stderr.String())
		}
	}
	if _, err := os.Stat(store); err == nil {
		t.Error("something was stored")
	}
}

func TestColour(t *testing.T) {
	config, _ := prepareHome(t)
	no := func(string) string { return "no\n" }
	t.Setenv("NO_COLOR", "")
	if screen, _, _ := converse(t, config, no); !strings.Contains(screen, "\x1b[1m") {
		t.Errorf("no colour on a terminal:\n%s", screen)
	}
	t.Setenv("NO_COLOR", "1")
	if screen, _, _ := converse(t, config, no); strings.Contains(screen, "\x1b") {
		t.Errorf("colour in spite of NO_COLOR:\n%s", screen)
	}
}
