package pod

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sunaba/fault"
)

// podIn makes a project in which "$" stands for its directory, also in scope
// and lines, and opens a Pod whose working directory is w.
func podIn(t *testing.T, scope string, lines ...string) place {
	t.Helper()
	dir, file := project(t, "", append(lines, "w/")...)
	text := "[pod]\nname = 'p'\npwd = 'w'\n[scope]\nbase = 'manifest'\n" + strings.ReplaceAll(scope, "$", dir)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := FromFile(file, NewWorker(new(script)), new(MemoryStore))
	if err != nil {
		if lines := problems(t, err); lines != nil {
			t.Fatal(lines)
		}
	}
	t.Cleanup(func() { p.Close() })
	return place{t, dir, p}
}

// Real faults of other products, each as its whole kind, through a manifest.
func TestKnownFaults(t *testing.T) {
	const (
		ok      = fault.Code("")
		unruled = fault.FSOutOfScope
	)
	type act struct {
		tool, path string // $ stands for the project
		want       fault.Code
	}
	for _, c := range []struct {
		name, scope string
		lines       []string
		acts        []act
		absent      string // must not exist afterwards
		unchanged   string // must still hold "outside"
	}{
		{"PATH-001: another case on a volume that tells cases apart", "allow=[{target='w',permission='write'}]\ndeny=[{target='w/cfg/.secret',permission='read'}]",
			[]string{"w/cfg/.secret = S", "w/CFG/.Secret = T"},
			[]act{{Read, "cfg/.secret", unruled}, {Write, "cfg/.secret", unruled}, {Grep, "cfg/.secret", unruled}, {Read, "CFG/.Secret", ok}, {Write, "cfg/.SECRET", ok}}, "", ""},
		{"PATH-003: a write through a link to what does not exist", "allow=[{target='w',permission='read'},{target='w/out',permission='write'}]",
			[]string{"w/out/f = F", "w/private/", "w/out/next -> $/w/private/next.txt", "w/out/here -> there"},
			[]act{{Write, "out/next", fault.FSDanglingLink}, {Write, "out/here", fault.FSDanglingLink}, {Write, "out/new", ok}}, "w/private/next.txt", ""},
		{"PATH-005: a dead link in the middle", "allow=[{target='w',permission='write'}]", []string{"w/gone -> $/elsewhere"},
			[]act{{Write, "gone/deep/f.txt", unruled}, {Read, "gone/deep/f.txt", unruled}}, "elsewhere", ""},
		{"PATH-013: a sibling whose name begins alike", "allow=[{target='w',permission='write'}]", []string{"w-archive/ledger = outside"},
			[]act{{Read, "$/w-archive/ledger", unruled}, {Read, "../w-archive/ledger", unruled}, {Write, "$/w/../w-archive/x.txt", unruled}, {Grep, "$/w-archive", unruled}, {Write, "$/w/x.txt", ok}},
			"w-archive/x.txt", "w-archive/ledger"},
		{"PATH-021: the top itself as root", "allow=[{target='/',permission='read'},{target='w',permission='write'}]", []string{"far/f = F"},
			[]act{{Read, "$/far/f", ok}, {Read, "/proc/version", ok}, {Write, "$/far/new", fault.FSReadOnly}, {Write, "new", ok}}, "far/new", ""},
		{"PATH-023: links made inside", "allow=[{target='w',permission='write'}]", []string{"far/f = outside", "w/abs -> $/far/f", "w/up -> ../..", "w/rel -> ../far/f"},
			[]act{{Read, "abs", unruled}, {Read, "rel", unruled}, {Read, "up", unruled}, {Write, "abs", unruled}, {Edit, "rel", unruled}}, "", "far/f"},
		{"PATH-025: beneath a linked directory that stays inside", "allow=[{target='w',permission='write'}]", []string{"w/lib/a/b.txt = B", "w/L -> lib"},
			[]act{{Glob, "L", ok}, {Glob, "L/a", ok}, {Read, "L/a/b.txt", ok}, {Write, "L/a/new.txt", ok}}, "", ""},
		{"PATH-027: a link within what is denied", "allow=[{target='w',permission='read'},{target='dots',permission='read'}]\ndeny=[{target='w/.keys',permission='read'}]",
			[]string{"dots/id = K", "w/.keys/", "w/.keys/id -> $/dots/id"},
			[]act{{Read, ".keys/id", unruled}, {Read, "$/dots/id", ok}}, "", ""},
		{"PATH-029: composed and decomposed", "allow=[{target='w',permission='write'}]\ndeny=[{target='w/だめ',permission='read'}]",
			[]string{"w/か\u3099.md = A", "w/た\u3099め = N"},
			[]act{{Read, "が.md", fault.FSNotFound}, {Write, "が.md", ok}, {Read, "か\u3099.md", ok}, {Read, "た\u3099め", unruled}, {Write, "だめ", unruled}}, "", ""},
		{"hard links are read, never silently written or split", "allow=[{target='w',permission='write'}]", []string{"far/f = outside"},
			[]act{{Read, "hard", ok}, {Write, "hard", fault.FSHardLink}, {Edit, "hard", fault.FSHardLink}}, "", "far/f"},
		{"loops, slashes at the end, NUL, long and undecodable names", "allow=[{target='w',permission='write'}]", []string{"w/loop -> loop", "w/f = F", "w/d/"},
			[]act{{Read, "loop", fault.FSLinkLoop}, {Write, "loop/x", fault.FSLinkLoop}, {Read, "f/", fault.FSNotDirectory}, {Read, "d/", fault.FSIsDirectory}, {Write, "new/", fault.FSIsDirectory},
				{Read, "f\x00", fault.FSBadPath}, {Write, strings.Repeat("n", 256), fault.FSBadPath}, {Read, "d/../f", ok}, {Read, "f/../f", fault.FSNotDirectory}}, "w/new", ""},
		{"devices and what is like them", "allow=[{target='w',permission='write'},{target='/dev',permission='write'},{target='/proc',permission='write'}]", []string{"far/f = outside", "w/null -> /dev/null", "w/root -> /proc/self/root"},
			[]act{{Read, "/dev/zero", fault.FSSpecialFile}, {Read, "null", fault.FSSpecialFile}, {Edit, "null", fault.FSSpecialFile}, {Edit, "/dev/null", fault.FSSpecialFile}, {Write, "/dev/null", fault.FSNotRead},
				{Read, "root$/far/f", unruled}, {Read, "/proc/self/root$/far/f", unruled}}, "", "far/f"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := podIn(t, c.scope, c.lines...)
			if strings.HasPrefix(c.name, "hard") {
				if err := os.Link(p.path("far/f"), p.path("w/hard")); err != nil {
					t.Fatal(err)
				}
			}
			for _, a := range c.acts {
				args := map[string]any{"path": strings.ReplaceAll(a.path, "$", p.dir)}
				switch a.tool {
				case Write:
					p.call(Read, asJSON(t, args)) // what exists has been read
					args["content"] = "x"
				case Edit:
					args["old_string"], args["new_string"] = "outside", "x"
				case Glob:
					args["pattern"] = "**"
				case Grep:
					args["pattern"] = "."
				}
				r, got := p.call(a.tool, asJSON(t, args))
				if got != a.want {
					t.Errorf("%s %q: %q, want %q (%v)", a.tool, a.path, got, a.want, r.Error)
				}
				if got != "" && strings.Contains(fmt.Sprint(r.Error, r.Text), "outside ") {
					t.Errorf("%s %q: content in the refusal: %v", a.tool, a.path, r)
				}
			}
			if c.absent != "" {
				if _, err := os.Lstat(p.path(c.absent)); err == nil {
					t.Errorf("%s was made", c.absent)
				}
			}
			if c.unchanged != "" {
				if data, err := os.ReadFile(p.path(c.unchanged)); string(data) != "outside" {
					t.Errorf("%s holds %q, %v", c.unchanged, data, err)
				}
			}
		})
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// PATH-009: however a deny rule spells its target and however a call spells the
// path, every tool gives one verdict, and a search leaks neither name nor text.
func TestOneVerdictForEverySpelling(t *testing.T) {
	for _, rule := range []string{"$/w/sec/t.txt", "./w/sec/t.txt", "w/sec/../sec/t.txt", "w/x/../sec/./t.txt", "w/link/t.txt"} {
		p := podIn(t, "allow=[{target='w',permission='write'}]\ndeny=[{target='"+rule+"',permission='read'}]",
			"w/sec/t.txt = treasure", "w/sec/open.txt = plain", "w/sub/", "w/link -> sec", "w/toFile -> sec/t.txt")
		for _, path := range []string{"sec/t.txt", "$/w/sec/t.txt", "./sec/./t.txt", "sub/../sec/t.txt", "link/t.txt", "toFile", "//$/w//sec//t.txt"} {
			path = strings.ReplaceAll(path, "$", p.dir)
			for tool, rest := range map[string]string{
				Read: "", Write: `,"content":"x"`, Edit: `,"old_string":"treasure","new_string":"x"`, Grep: `,"pattern":"."`, Glob: `,"pattern":"*"`,
			} {
				if r, code := p.call(tool, fmt.Sprintf(`{"path":%q%s}`, path, rest)); code != fault.FSOutOfScope {
					t.Errorf("rule %s: %s %s: %q %v", rule, tool, path, code, r)
				}
			}
		}
		for _, args := range []string{`{"pattern":".*"}`, `{"pattern":"e","mode":"count"}`, `{"pattern":"e","path":"link"}`} {
			if r, code := p.call(Grep, args); code != "" || strings.Contains(r.Text, "treasure") || strings.Contains(r.Text, "t.txt:") {
				t.Errorf("rule %s: Grep %s: %q, %s", rule, args, code, r.Text)
			}
		}
		if r, code := p.call(Grep, `{"pattern":"plain"}`); code != "" || !strings.Contains(r.Text, "sec/open.txt") {
			t.Errorf("rule %s: what is beside it is not found: %q, %s", rule, code, r.Text)
		}
		if data, err := os.ReadFile(p.path("w/sec/t.txt")); string(data) != "treasure" {
			t.Errorf("the twin without the guard reads %q, %v", data, err)
		}
	}
}

// PATH-019: names that a temporary file could have do no harm.
func TestPlantedNames(t *testing.T) {
	lines := []string{"far/f = outside", "w/f.txt = old"}
	for _, name := range []string{"f.txt.tmp", ".f.txt.tmp", "f.txt~", fmt.Sprintf(".f.txt.%d", os.Getpid()), ".#f.txt"} {
		lines = append(lines, "w/"+name+" -> $/far/f")
	}
	p := podIn(t, "allow=[{target='w',permission='write'}]", lines...)
	p.call(Read, `{"path":"f.txt"}`)
	if r, code := p.call(Write, `{"path":"f.txt","content":"new"}`); code != "" {
		t.Fatal(r.Error)
	}
	for path, want := range map[string]string{"w/f.txt": "new", "far/f": "outside"} {
		if data, err := os.ReadFile(p.path(path)); string(data) != want {
			t.Errorf("%s holds %q, %v", path, data, err)
		}
	}
	if left, err := filepath.Glob(p.path("w/.sunaba-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
