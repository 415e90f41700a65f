package attack

import (
	"os"
	"slices"
	"strings"
)

// All is the whole catalogue, in the order of the report.
func All() []Attack {
	return slices.Concat(
		outside(), protected(), rights(), execution(),
		systemCalls(), namespaces(), identity(), others(), kernelFiles(), inheritance(),
		sockets(), network(), bombs(), fileTools(),
	)
}

// in gives each of list its class, sandbox and layer where it has none.
func in(class, box, layer string, list []Attack) []Attack {
	for i := range list {
		a := &list[i]
		a.Name = class + "/" + a.Name
		if a.Box == "" {
			a.Box = box
		}
		if a.Layer == "" {
			a.Layer = layer
		}
	}
	return list
}

// outside: what stands beside the workspace does not exist, by whatever route.
func outside() []Attack {
	routes := []struct{ name, dir string }{
		{"absolute", "{out}"}, {"dot-dot", "{ws}/../out"}, {"link", "{ws}/to-out"}, {"root link", "/proc/self/root{out}"},
		{"working directory link", "/proc/self/cwd/../out"}, {"other process's root", "/proc/thread-self/root{out}"},
	}
	var list []Attack
	for _, r := range routes {
		add := func(act string, args ...string) {
			list = append(list, Attack{Name: act + " by " + r.name, Act: act, Args: args})
		}
		secret, dir := r.dir+"/secret", r.dir
		for _, act := range []string{"read", "read-path", "stat", "write", "append", "truncate", "remove", "chmod", "chown", "touch", "set-attribute", "set-user-id", "map-write", "watch"} {
			add(act, secret)
		}
		for _, act := range []string{"list", "chdir", "create", "mkdir", "symlink", "fifo", "socket-file"} {
			add(act, dir)
		}
		add("link-read", secret, "{ws}/linked")
		add("rename", secret, "{ws}/taken")
		list = append(list, Attack{Name: "rename to the outside by " + r.name, Act: "rename", Args: []string{"{ws}/plain", dir + "/given"}})
		add("execute", dir+"/program")
		add("copy-range", secret, "{ws}/plain")
		add("execute-copy", dir+"/program", "{ws}/copied")
		add("exchange", secret, "{ws}/exchanged")
	}
	for _, p := range []string{"/etc/hostname", "/etc/machine-id", "/etc/shadow", "/etc/fstab", "/var/log/dpkg.log", "/root/.bashrc"} {
		list = append(list, Attack{Name: "read " + p, Act: "read", Args: []string{p}})
	}
	for _, p := range []string{"/var", "/sys", "/root", "/home", "/boot", "/opt", "/run", "/sys/fs/cgroup", "/dev/input", "/dev/disk"} {
		list = append(list, Attack{Name: "list " + p, Act: "list", Args: []string{p}})
	}
	return in("outside", "development", "mount namespace", list)
}

// protected: rules inside the workspace hold for commands.
func protected() []Attack {
	var list []Attack
	add := func(name, act string, args ...string) { list = append(list, Attack{Name: name, Act: act, Args: args}) }
	// Files that must not change: our own settings, what host tools run, and
	// what a rule freezes.
	for _, p := range []string{"agent.yaml", ".git/config", "frozen.txt", "frozen/deep/file", "deep/er/skill.md"} {
		for _, act := range []string{"write", "append", "truncate", "remove", "chmod", "touch", "set-attribute", "map-write"} {
			add(act+" "+p, act, "{ws}/"+p)
		}
		spare := "{ws}/spare"
		add("rename away "+p, "rename", "{ws}/"+p, spare)
		add("rename over "+p, "replace", "{ws}/"+p, spare)
		add("exchange "+p, "exchange", "{ws}/"+p, spare)
		add("write through a hard link to "+p, "link-write", "{ws}/"+p, spare)
		add("put a link over "+p, "link-over", "{ws}/"+p, spare)
		add("copy into "+p, "copy-range", "{ws}/plain", "{ws}/"+p)
		if strings.Contains(p, "/") {
			add("move the parent of "+p, "move-and-remake", "{ws}/"+p, "{ws}/moved")
		}
	}
	// Names that do not exist yet.
	for _, p := range []string{"agent.local.yaml", ".envrc", "future-frozen.txt"} {
		add("make "+p, "make", "{ws}/"+p)
		add("rename to "+p, "replace", "{ws}/"+p, "{ws}/spare")
		add("put a link at "+p, "link-over", "{ws}/"+p, "{ws}/spare")
		add("make a directory "+p, "mkdir-all", "{ws}/"+p+"/inner")
	}
	for _, p := range []string{".git/hooks", ".vscode", "future-dir"} {
		add("make a file in the later "+p, "create", "{ws}/"+p)
		add("make a directory in "+p, "mkdir-all", "{ws}/"+p+"/inner")
		add("remove "+p, "remove", "{ws}/"+p)
		add("rename "+p, "rename", "{ws}/"+p, "{ws}/moved")
	}
	add("make a hook", "make", "{ws}/.git/hooks/pre-commit")
	add("move .git and make a hook", "move-and-remake", "{ws}/.git/config", "{ws}/.git2")
	// What must not be read.
	for _, p := range []string{"hidden/state", "key.pem", "private/note", "private/deep/note"} {
		for _, act := range []string{"read", "read-path", "write", "append", "truncate", "map-write"} {
			add(act+" "+p, act, "{ws}/"+p)
		}
		add("read through a hard link to "+p, "link-read", "{ws}/"+p, "{ws}/spare")
		add("copy "+p, "copy-range", "{ws}/"+p, "{ws}/plain")
		if strings.Contains(p, "/") {
			add("move the parent of "+p, "move-and-read", "{ws}/"+p, "{ws}/moved")
		}
		add("read "+p+" through a link", "read", "{ws}/to-ws/"+p)
		add("read "+p+" by the root link", "read", "/proc/self/root{ws}/"+p)
	}
	for _, p := range []string{"hidden", "private", "private/deep"} {
		add("list "+p, "list", "{ws}/"+p)
		add("make a file in "+p, "create", "{ws}/"+p)
		add("watch "+p, "watch", "{ws}/"+p)
	}
	list = append(list, Attack{
		Name: "read what the host makes at a denied name", Act: "read", Args: []string{"{ws}/future.txt"},
		Host: func(p Places) error { return overwrite(p.Workspace+"/future.txt", "s3cret") },
	})
	save := func(name string) func(Places) error { // as an editor does
		return func(p Places) error {
			path := p.Workspace + "/" + name
			if err := os.WriteFile(path+".new", []byte("s3cret, and new"), 0o644); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		}
	}
	for name, act := range map[string]string{"key.pem": "read", "future.txt": "read", "agent.yaml": "write", "frozen.txt": "write", "agent.local.yaml": "write"} {
		list = append(list, Attack{Name: act + " " + name + " that the host replaced", Act: act, Args: []string{"{ws}/" + name}, Host: save(name), Layer: "watch"})
	}
	slices.SortStableFunc(list[len(list)-5:], func(a, b Attack) int { return strings.Compare(a.Name, b.Name) })
	return in("protected", "development", "mounts over the workspace", list)
}

// rights: write is not delete, and a mount has what it was given.
func rights() []Attack {
	var list []Attack
	add := func(name, layer, act string, args ...string) {
		list = append(list, Attack{Name: name, Layer: layer, Act: act, Args: args})
	}
	for _, act := range []string{"write", "append", "truncate", "remove", "chmod", "touch", "set-attribute", "map-write", "set-flags"} {
		add(act+" in a read-only mount", "read-only mount", act, "{ro}/file")
	}
	for _, act := range []string{"create", "mkdir", "symlink", "fifo", "socket-file"} {
		add(act+" in a read-only mount", "read-only mount", act, "{ro}")
	}
	add("rename in a read-only mount", "read-only mount", "rename", "{ro}/file", "{ro}/other")
	add("link out of a read-only mount", "read-only mount", "link", "{ro}/file", "{ro}/other")
	for _, c := range [][]string{
		{"remove", "{rw}/file"}, {"remove", "{rw}/empty"}, {"rename", "{rw}/file", "{rw}/other"}, {"rename", "{rw}/file", "{rw}/dir/file"},
		{"replace", "{rw}/file", "{rw}/spare"}, {"exchange", "{rw}/file", "{rw}/spare"}, {"link-over", "{rw}/file", "{rw}/spare"},
		{"rename", "{rw}/file", "{ws}/taken"},
	} {
		add(strings.Join(c, " ")+" where delete is not granted", "Landlock", c[0], c[1:]...)
	}
	for _, dir := range []string{"{ro}", "{rw}", "{rwd}"} {
		for _, act := range []string{"execute", "execute-loader", "execute-handle", "map-execute"} {
			add(act+" in mount "+dir, "noexec mount", act, dir+"/program")
		}
	}
	add("execute a program made in a mount", "noexec mount", "execute-made", "{rwd}")
	add("execute a script made in a mount", "noexec mount", "execute-script", "{rwd}")
	for _, mode := range []string{"set-user-id"} {
		add(mode+" in the workspace", "seccomp", mode, "{ws}/program")
	}
	return in("rights", "development", "", list)
}

// execution: in profile readonly nothing but what was approved is executed, and
// nothing is written.
func execution() []Attack {
	var list []Attack
	add := func(name, layer, act string, args ...string) {
		list = append(list, Attack{Name: name, Layer: layer, Act: act, Args: args})
	}
	for _, act := range []string{"execute", "execute-loader", "execute-handle", "map-execute"} {
		add(act+" in the workspace", "noexec mount", act, "{ws}/program")
	}
	add("execute a copy in scratch", "noexec mount", "execute-copy", "{ws}/program", "{tmp}/copied")
	add("execute through a link", "noexec mount", "execute-link", "{ws}/program", "{tmp}/linked")
	add("execute what was made in scratch", "noexec mount", "execute-made", "{tmp}")
	add("execute a script made in scratch", "noexec mount", "execute-script", "{tmp}")
	add("execute what was made in shared memory", "noexec mount", "execute-made", "/dev/shm")
	add("execute from memory", "seccomp", "execute-memfd")
	for _, act := range []string{"write", "append", "truncate", "remove", "chmod", "touch", "set-attribute", "map-write"} {
		add(act+" in the workspace", "read-only mount", act, "{ws}/plain")
	}
	for _, act := range []string{"create", "mkdir", "symlink", "fifo", "socket-file"} {
		add(act+" in the workspace", "read-only mount", act, "{ws}")
	}
	add("rename in the workspace", "read-only mount", "rename", "{ws}/plain", "{ws}/other")
	return in("readonly", "readonly", "", list)
}
