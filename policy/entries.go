package policy

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sunaba/fault"
	"sunaba/internal/pattern"
	"sunaba/scope"
)

var (
	aliasForm = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$`)

	// versionTail is what distributions append to a program's name.
	versionTail = pattern.Lazy(`[-.0-9]+$`)
)

// shells are the names that make an executable a shell (PRC-06, C-24).
var shells = []string{
	"sh", "bash", "dash", "zsh", "ksh", "mksh", "fish", "busybox", "ash", "tcsh", "csh", "rbash",
	"cmd", "powershell", "pwsh",
}

// runners are names whose arguments are programs or code in their own right,
// so that approving one approves what it can be told to run (EXEC-003).
var runners = []string{
	"env", "nice", "nohup", "timeout", "time", "find", "fd", "xargs", "parallel", "watch", "setsid", "stdbuf",
	"sudo", "su", "doas", "ssh", "python", "pypy", "perl", "ruby", "node", "deno", "bun", "php", "lua", "luajit",
	"awk", "gawk", "mawk", "sed", "make", "gmake", "ninja", "cmake", "git", "npm", "npx", "pnpm", "yarn", "pip",
	"uv", "cargo", "go", "java", "mvn", "gradle", "dotnet", "vim", "vi", "emacs", "tar", "rsync", "gdb",
}

// entries resolves the execution entries with their runtime roots.
func (r *resolver) entries() {
	aliases := map[string]string{}
	for _, in := range r.in.Entries {
		if !aliasForm().MatchString(in.Alias) {
			r.problem(fault.PolicyEntry, "entry_alias", in.Source, "alias", in.Alias)
		} else if first, dup := aliases[in.Alias]; dup {
			r.problem(fault.PolicyEntry, "entry_twice", in.Source, "alias", in.Alias, "first", first)
		} else {
			aliases[in.Alias] = in.Source
		}
		e, ok := r.entry(in)
		if in.RuntimeRoot != "" {
			runtime, runtimeOK := r.runtime(in)
			e.RuntimeRoot, ok = runtime, ok && runtimeOK
		}
		if !ok {
			continue
		}
		r.e.Entries = append(r.e.Entries, e)
		r.warnRunner(e)
	}
	r.executables()
}

func (r *resolver) entry(in EntryInput) (Entry, bool) {
	path, linkErr := resolve(in.Path)
	if linkErr != nil {
		r.unresolvable(in.Path, in.Source, linkErr)
		return Entry{}, false
	}
	refuse := func(reason string) (Entry, bool) {
		r.problem(fault.PolicyEntry, reason, in.Source, "alias", in.Alias, "path", path)
		return Entry{}, false
	}
	for _, root := range r.e.Roots {
		if root.Kind == RootMount && beneath(path, root.Path) { // FS-09
			return refuse("entry_in_mount")
		}
	}
	f, err := openResolved(path)
	if err != nil {
		return refuse("entry_unreadable")
	}
	defer f.Close()
	id, err := Identify(f)
	switch {
	case errors.Is(err, errNotRegular):
		return refuse("entry_not_regular")
	case errors.Is(err, errMoving):
		return refuse("entry_changing")
	case err != nil:
		return refuse("entry_unreadable")
	case !executable(f):
		return refuse("entry_not_executable")
	}
	return Entry{
		Alias: in.Alias, Logical: in.Path, Path: path,
		Shell: isShell(path), Identity: id, Source: in.Source,
	}, true
}

// runtime resolves the runtime root of an entry and adds it as a root with
// read and execute.
func (r *resolver) runtime(in EntryInput) (string, bool) {
	path, ok := r.directory(in.RuntimeRoot, in.Source, scope.R|scope.X)
	if !ok {
		return "", false
	}
	if root, yes := r.writable(path); yes { // C-82
		r.problem(fault.PolicyRuntimeWritable, "runtime_writable", in.Source, "path", path, "root", root.Path)
		return "", false
	}
	if !r.isRuntime(path) {
		r.e.Roots = append(r.e.Roots, Root{path, in.RuntimeRoot, RootRuntime, scope.R | scope.X, in.Source})
	}
	return path, true
}

// executables adds one single-file root for every entry that no tree of the
// system covers.
func (r *resolver) executables() {
	for _, e := range r.e.Entries {
		covered := slices.ContainsFunc(systemTrees(), func(tree string) bool { return beneath(e.Path, tree) }) ||
			slices.ContainsFunc(r.e.Roots, func(x Root) bool { return x.Kind == RootExecutable && x.Path == e.Path })
		if !covered {
			r.e.Roots = append(r.e.Roots, Root{e.Path, e.Logical, RootExecutable, scope.R | scope.X, e.Source})
		}
	}
}

func (r *resolver) warnRunner(e Entry) {
	for _, path := range []string{e.Path, e.Logical} {
		if name := plainName(path); slices.Contains(runners, name) {
			r.warn(fault.PolicyEntry, "entry_runner", e.Source, "alias", e.Alias, "name", name)
			return
		}
	}
}

func isShell(path string) bool { return slices.Contains(shells, plainName(path)) }

// plainName is the name of a program without directory, extension and version.
func plainName(path string) string {
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(path)), ".exe")
	return versionTail().ReplaceAllString(name, "")
}

func isDirectory(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

func isRegular(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
