package policy

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParseGitConfig(t *testing.T) {
	for text, want := range map[string]string{
		"[core]\n\thooksPath = .husky\n":                                 "core.hookspath=.husky",
		"[CORE]HooksPath=a b  # c\n":                                     "core.hookspath=a b",
		"[core]\nhookspath = \"a # b\" c ; d\n":                          "core.hookspath=a # b c",
		"[core]\nhookspath = a\\\n  b\n":                                 "core.hookspath=a  b",
		"[core]\nhookspath = a\\\\b\\\"c\\n\n":                           "core.hookspath=a\\b\"c\n",
		"[includeIf \"gitdir:~/x/\"]\n path = y\n":                       "includeif.gitdir:~/x/.path=y",
		"[remote \"a\\\"]b\"] url = z":                                   "remote.a\"]b.url=z",
		"[core]\nbare\nhookspath=x\n":                                    "core.bare= core.hookspath=x",
		"; only\n# comments\n\n":                                         "",
		"[core]\r\nhookspath = x\r\n":                                    "core.hookspath=x",
		"\xef\xbb\xbf[core]\nhookspath = x\n":                            "core.hookspath=x",
		"[core]\na = b\n[broken\nhookspath = x\n":                        "core.a=b",
		"[core]\na = \"open\nhookspath = x\n":                            "core.a=\"open",
		"[core]\na = \\q\n":                                              "",
		"[core \"x]\nhookspath = y\n":                                    "",
		"hookspath = x\n":                                                ".hookspath=x",
		"[core]\n= x\n":                                                  "",
		"[a]\x00[core]\nhookspath = x\n":                                 "",
		"[core]\nhookspath =\n":                                          "core.hookspath=",
		"[core]\nhookspath = \"\"\n":                                     "core.hookspath=",
		"[core]\nhookspath = \" x \"\n":                                  "core.hookspath= x ",
		"[core]\nhookspath = x" + strings.Repeat(" ", 100) + "\ny = z\n": "core.hookspath=x core.y=z",
	} {
		var got []string
		for _, s := range parseGitConfig(strings.NewReader(text)) {
			got = append(got, s.key+"="+s.value)
		}
		// A value that never ends is what git refuses; nothing after it counts.
		if strings.Contains(text, "\"open") {
			want = ""
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// What the parser makes of a configuration is what git makes of it.
func FuzzGitConfig(f *testing.F) {
	for _, text := range []string{"[core]\nhooksPath = .husky\n", "[a \"b\"]\nc = \"d\\\ne\" # f\n", "[a.B]\nc\n", "[a]\nb = c\\"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range parseGitConfig(strings.NewReader(text)) {
			if len(s.key)+len(s.value) > 2*len(text)+1 {
				t.Errorf("%q out of %q", s, text)
			}
		}
	})
}

func TestGitAgrees(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("needs git")
	}
	path := filepath.Join(t.TempDir(), "config")
	for _, text := range []string{
		"[core]\n\thooksPath = .husky\n", "[CORE]HooksPath=a b  # c\n", "[core]\nhookspath = \"a # b\" c ; d\n",
		"[core]\nhookspath = a\\\n  b\n", "[core]\nhookspath = a\\\\b\\\"c\n", "[core]\r\nhookspath = x\r\n", "[core]\nhookspath = \" x \"\n",
		"[core]\nhookspath = \"a\"\"b\" \"c\"\n", "[core]\nhookspath = a;b\n", "\xef\xbb\xbf[core]\nhookspath = x\n",
		"[core] ; c\nhookspath = x\n", "[core]hookspath = x\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(git, "config", "-f", path, "core.hookspath").Output()
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		got := parseGitConfig(strings.NewReader(text))
		if len(got) != 1 || got[0].value != strings.TrimSuffix(string(out), "\n") {
			t.Errorf("%q: %q, git says %q", text, got, out)
		}
	}
}

// Where git really looks is protected, however it is told to look there; what
// lies elsewhere is not.
//
// Covers: C-85
func TestGitPlaces(t *testing.T) {
	root := grow(t, "project/", "state/", "home/", "out/", "tool*")
	t.Setenv("HOME", filepath.Join(root, "home"))
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(root, "home/.config"))
	write := func(path, text string) {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		err := os.WriteFile(path, []byte(text), 0o644)
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			err = errors.Join(os.Remove(path), os.Symlink(target, path))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, row := range map[string]struct {
		files map[string]string
		want  []string // beneath project, as well as what always is
		not   []string
	}{
		"no repository":    {nil, nil, []string{".husky"}},
		"hooksPath":        {map[string]string{"project/.git/config": "[core]\nhooksPath = tools/hooks\n"}, []string{"tools/hooks"}, []string{"tools"}},
		"hooksPath, husky": {map[string]string{"project/.git/config": "[core]\nhooksPath = .husky/_\n"}, []string{".husky"}, nil},
		"hooksPath, parts": {map[string]string{"project/.git/config": "[core]\nhooksPath = .githooks/unix\n"}, []string{".githooks"}, nil},
		"hooksPath, _":     {map[string]string{"project/.git/config": "[core]\nhooksPath = conf/husky/_\n"}, []string{"conf/husky"}, []string{"conf"}},
		"a link": {
			map[string]string{"project/.git/config": "", "project/scripts/check": "", "project/.git/hooks/pre-push": "-> ../../scripts/check"},
			[]string{"scripts/check"}, []string{"scripts"},
		},
		"hooksPath, inside": {map[string]string{"project/.git/config": "[core]\nhooksPath = " + root + "/project/h\n"}, []string{"h"}, nil},
		"hooksPath, out":    {map[string]string{"project/.git/config": "[core]\nhooksPath = ../out\n"}, nil, []string{"../out"}},
		"of the user": {
			map[string]string{"project/.git/config": "", "home/.gitconfig": "[core]\nhooksPath = .githooks\n"},
			[]string{".githooks"}, nil,
		},
		"of the user, elsewhere": {
			map[string]string{"project/.git/config": "", "home/.config/git/config": "[core]\nhooksPath = ~/../project/z\n"},
			[]string{"z"}, nil,
		},
		"included": {
			map[string]string{"project/.git/config": "[include]\npath = ../shared.cfg\n", "project/shared.cfg": "[core]\nhooksPath = deep\n"},
			[]string{"shared.cfg", "deep"}, nil,
		},
		"included by itself": {map[string]string{"project/.git/config": "[include]\npath = config\n[core]\nhooksPath = x\n"}, []string{"x"}, nil},
		"included under a condition": {
			map[string]string{"project/.git/config": "[includeIf \"onbranch:main\"]\npath = ../main.cfg\n"},
			[]string{"main.cfg"}, nil,
		},
		"a directory of its own": {
			map[string]string{"project/.git": "gitdir: .bare\n", "project/.bare/config": "[core]\nfsmonitor = ./mon\n"},
			[]string{".bare/hooks", ".bare/config", ".bare/config.worktree", ".bare/commondir", "mon", ".git"}, []string{".bare"},
		},
		"a work tree": {
			map[string]string{
				"project/.git": "gitdir: " + root + "/project/main/.git/worktrees/w\n", "project/main/.git/worktrees/w/commondir": "../..\n",
				"project/main/.git/config": "",
			},
			[]string{"main/.git/hooks", "main/.git/config", "main/.git/worktrees/w/config.worktree"}, nil,
		},
		"a work tree of elsewhere": {map[string]string{"project/.git": "gitdir: ../out/.git\n"}, []string{".git"}, []string{"../out/.git/hooks"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, dir := range []string{"project", "home"} {
				if err := os.RemoveAll(filepath.Join(root, dir)); err != nil {
					t.Fatal(err)
				}
				if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for path, text := range row.files {
				write(path, text)
			}
			in := basic(root)
			in.Workspace.ProtectHostTools = true
			r, err := Resolve(in)
			if err != nil {
				t.Fatal(err)
			}
			protected := func(path string) bool {
				return slices.ContainsFunc(r.Effective.Protected, func(p Protected) bool {
					return p.Path == filepath.Join(root, "project", path) && p.Why == "host_tool"
				})
			}
			for _, path := range append(row.want, ".git/hooks", ".vscode") {
				if !protected(path) {
					t.Errorf("%s is not protected", path)
				}
			}
			for _, path := range row.not {
				if protected(path) {
					t.Errorf("%s is protected", path)
				}
			}
		})
	}
	if err := os.RemoveAll(filepath.Join(root, "project/.git")); err != nil { // of whichever row came last
		t.Fatal(err)
	}
	write("project/.git/config", "[core]\nhooksPath = .\n")
	in := basic(root)
	in.Workspace.ProtectHostTools = true
	if got := verdict(t, in); !slices.Contains(got, "policy.root hooks_everywhere") {
		t.Errorf("hooks everywhere: %q", got)
	}
	in.Workspace.ProtectHostTools = false
	if got := verdict(t, in); got != nil {
		t.Errorf("unprotected: %q", got)
	}
}
