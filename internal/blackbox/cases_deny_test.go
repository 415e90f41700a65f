package blackbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCasesDeny: deny rules, spelt in every way, for tools and commands alike.
//
// Covers: SEC-INV-04, C-66, C-69, C-73
func TestCasesDeny(t *testing.T) {
	b := open(t, "", "", func(h *house) {
		h.configure(development + "  scope:\n    deny:\n" +
			"      - { target: " + h.ws + "/sec/abs.txt, permission: read }\n" +
			"      - { target: ./sec/dot.txt, permission: read }\n" +
			"      - { target: sec/../sec/up.txt, permission: read }\n" +
			"      - { target: cfg/.secret, permission: read }\n" +
			"      - { target: h/.keys, permission: read }\n" +
			"      - { target: uni/\u304c.md, permission: read }\n" +
			"      - { target: other/.env, permission: write }\n" +
			"      - { target: new/later.env, permission: write }\n")
		for _, name := range []string{"abs", "dot", "up"} {
			h.write("sec/"+name+".txt", "hidden words")
		}
		h.write("sec/free.txt", "free words")
		h.write("cfg/.secret", "hidden words")
		h.write("cfg/x", "x")
		h.write("h/dots/id_real", "real id")
		h.mkdir(h.path("h/.keys"))
		h.link("../dots/id_real", "h/.keys/id")
		h.write("h/.keys/plain", "hidden words")
		h.write("uni/\u304b\u3099.md", "hidden words")
		h.mkdir(h.path("other"))
		h.mkdir(h.path("sub"))
	})

	// Three spellings of the rule, three of the path, every tool and a command.
	b.run(t, "PATH-009", func(t *testing.T) {
		for _, name := range []string{"abs.txt", "dot.txt", "up.txt"} {
			for _, path := range []string{"sec/" + name, b.ws + "/sec/" + name, "./cfg/../sec/" + name} {
				for i, got := range b.tries(
					do("read_file", args{"path": path}),
					do("search_file", args{"path": path, "pattern": "words"}),
					do("search_file", args{"path": filepath.Dir(path), "pattern": "words", "include": name}),
					do("find_files", args{"path": filepath.Dir(path), "pattern": name}),
					do("edit_file", args{"path": path, "old_string": "hidden", "new_string": "z"}),
					do("write_file", args{"path": path, "content": "z"}),
					do("move_file", args{"from": path, "to": "moved.txt"}),
					do("inspect_file", args{"path": path}),
					do("remove_path", args{"path": path}),
					do("run_command", args{"argv": []string{"sh", "-c", "cat " + path}}),
				) {
					if strings.Contains(got.raw, "hidden words") {
						t.Errorf("%s, call %d leaks: %s", path, i, got.raw)
					}
					switch i {
					case 2, 3: // a walk may show names, no content
						if !got.ok || (i == 2 && got.head["matches"] != 0.0) {
							t.Errorf("%s, call %d: %s", path, i, got.raw)
						}
					case 9:
						if !got.ok || got.exit() == 0 {
							t.Errorf("%s by command: %s", path, got.raw)
						}
					default:
						b.refused(fmt.Sprint(path, " call ", i), got, "fs.out_of_scope")
					}
				}
			}
			b.holds("sec/"+name, "hidden words")
		}
		b.holds("moved.txt", "<missing>")
		b.has("the twin", b.must("read_file", args{"path": "sec/free.txt"}).text, "free words")
	})

	// Where names differ by case, only the denied one is denied. (Volumes that
	// fold: scopedfs, TestDenyFolds and its kin; none can be made here.)
	b.run(t, "PATH-001", func(t *testing.T) {
		b.refuse("read_file", args{"path": "cfg/.secret"}, "fs.out_of_scope")
		b.refuse("read_file", args{"path": "CFG/.Secret"}, "fs.not_found")
		b.must("write_file", args{"path": "cfg/.SECRET", "content": "x"})
		b.holds("cfg/.secret", "hidden words")
		b.refuse("search_file", args{"path": "Cfg", "pattern": "."}, "fs.not_found")
	})

	// The spelling that was asked for is judged, and so is its target; another
	// name of the target is not (docs: deny binds names and resolved targets).
	b.run(t, "PATH-027", func(t *testing.T) {
		for _, path := range []string{"h/.keys/id", "h/.keys/plain", "h/dots/../.keys/id"} {
			if got := b.refuse("read_file", args{"path": path}, "fs.out_of_scope"); strings.Contains(got.raw, "real id") {
				t.Error(got.raw)
			}
			if got, code := b.shell("cat " + path); code == 0 || strings.Contains(got.text, "words") || strings.Contains(got.text, "real id") {
				t.Errorf("by command: %s", got.raw)
			}
		}
		b.has("the target", b.must("read_file", args{"path": "h/dots/id_real"}).text, "real id")
		if got, code := b.shell("cat h/dots/id_real"); code != 0 || !strings.Contains(got.text, "real id") {
			t.Errorf("the target by command: %s", got.raw)
		}
	})

	// A rule in one Unicode form denies the other too. (The tools' half of 029.)
	b.run(t, "PATH-029", func(t *testing.T) {
		for _, path := range []string{"uni/\u304b\u3099.md", "uni/\u304c.md"} {
			b.refuse("read_file", args{"path": path}, "fs.out_of_scope")
			b.refuse("write_file", args{"path": path, "content": "x"}, "fs.out_of_scope", "fs.read_only")
		}
		b.holds("uni/\u304b\u3099.md", "hidden words")
	})

	// A rule holds wherever a call or a command stands, and for what does not
	// exist yet. (Globs in rules yield to C-73: see TestCasesConfig.)
	b.run(t, "PATH-007", func(t *testing.T) {
		for _, path := range []string{"other/.env", b.ws + "/other/.env", "sub/../other/.env", "new/later.env"} {
			b.refuse("write_file", args{"path": path, "content": "A=1"}, "fs.read_only", "fs.out_of_scope")
			got := b.try("run_command", args{"argv": []string{"sh", "-c", "echo A=1 > " + filepath.Join(b.ws, "sub", "..", strings.TrimPrefix(path, b.ws))}, "working_dir": "sub"})
			if !got.ok || got.exit() == 0 {
				t.Errorf("%s by command: %s", path, got.raw)
			}
		}
		if got := b.try("run_command", args{"argv": []string{"sh", "-c", "echo A=1 > ../other/.env; echo A=1 > ../other/twin"}, "working_dir": "sub"}); got.exit() != 0 {
			t.Errorf("the twin: %s", got.raw)
		}
		b.holds("other/.env", "<missing>")
		b.holds("new/later.env", "<missing>")
		b.holds("other/twin", "A=1\n")
	})
}

// TestCasesScope: what is allowed to be written is one directory; a mount is
// read only.
//
// Covers: SEC-INV-04, C-64, C-69, C-73
func TestCasesScope(t *testing.T) {
	b := open(t, "", "", func(h *house) {
		h.write(h.dir+"/ro/f", "kept")
		h.configure(development + "  mounts: [ { path: ./ro, access: read_only } ]\n  scope:\n    allow:\n" +
			"      - { target: ., permission: read }\n      - { target: ./out, permission: write }\n      - { target: " + h.dir + "/ro, permission: read }\n" +
			"    deny: [ { target: ./deny/k, permission: read } ]\n")
		h.mkdir(h.path("private"))
		h.write("private/there.txt", "there")
		h.write("deny/k", "hidden words")
		h.link("../private/next.txt", "out/next")
		h.link(h.ws+"/private/abs.txt", "out/abs")
		h.link("next", "out/chain")
		h.link("../private/there.txt", "out/there")
		h.link("made.txt", "out/inside")
	})

	// A link to what does not exist is judged by where it leads.
	b.run(t, "PATH-003", func(t *testing.T) {
		for name, real := range map[string]string{"next": "next.txt", "abs": "abs.txt", "chain": "next.txt", "there": "there.txt"} {
			got := b.refuse("write_file", args{"path": "out/" + name, "content": "1"}, "fs.read_only", "fs.dangling_link", "fs.out_of_scope")
			b.has("the refusal", got.message+got.hint, b.ws+"/private/"+real)
			if _, code := b.shell("echo 1 > out/" + name); code == 0 {
				t.Errorf("a command wrote through out/%s", name)
			}
		}
		b.holds("private/next.txt", "<missing>")
		b.holds("private/abs.txt", "<missing>")
		b.holds("private/there.txt", "there")
		b.refuse("write_file", args{"path": "out/inside", "content": "1"}, "fs.dangling_link") // C-64
		b.must("write_file", args{"path": "out/plain", "content": "1"})
	})

	// No second name for what may only be read, or not even that.
	b.run(t, "PATH-011", func(t *testing.T) {
		for _, source := range []string{b.dir + "/ro/f", "deny/k", "private/there.txt"} {
			for _, how := range []string{"ln %s out/alias", "ln -L %s out/alias", "cp -l %s out/alias"} {
				got, code := b.shell(fmt.Sprintf(how, source) + " && echo x > out/alias; cat out/alias; test ! -e out/alias")
				if code != 0 || strings.Contains(got.text, "hidden words") {
					t.Errorf(how+": %s", source, got.raw)
				}
				_ = os.Remove(b.path("out/alias"))
			}
		}
		b.holds(b.dir+"/ro/f", "kept")
		b.holds("deny/k", "hidden words")
		b.holds("private/there.txt", "there")
	})
}
