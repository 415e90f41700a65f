package attack

// fileTools: the same with the file tools as the attacker; the twin is what the
// tool would do.
func fileTools() []Attack {
	var list []Attack
	add := func(name, tool string, args []string, act string, twin ...string) {
		list = append(list, Attack{Name: name, Tool: tool, Args: args, Act: act, TwinArgs: twin})
	}
	for _, r := range []struct{ name, dir string }{
		{"absolute", "{out}"}, {"dot-dot", "../out"}, {"link", "to-out"}, {"root link", "/proc/self/root{out}"},
		{"working directory link", "/proc/self/cwd/../out"}, {"doubled slashes", "{ws}//..//out"}, {"dots in the middle", "{ws}/deep/../../out"},
	} {
		add("read by "+r.name, "read_file", []string{"path", r.dir + "/secret"}, "read", "{out}/secret")
		add("write by "+r.name, "write_file", []string{"path", r.dir + "/made", "content", "x"}, "create", "{out}")
		add("edit by "+r.name, "edit_file", []string{"path", r.dir + "/secret", "old_string", "s3cret", "new_string", "x"}, "write", "{out}/secret")
		add("list by "+r.name, "list_files", []string{"path", r.dir}, "list", "{out}")
		add("inspect by "+r.name, "inspect_file", []string{"path", r.dir + "/secret"}, "stat", "{out}/secret")
		add("make a directory by "+r.name, "make_directory", []string{"path", r.dir + "/made-dir"}, "mkdir", "{out}")
		add("remove by "+r.name, "remove_path", []string{"path", r.dir + "/secret"}, "remove", "{out}/secret")
		add("move out by "+r.name, "move_file", []string{"from", "plain", "to", r.dir + "/given"}, "rename", "{ws}/plain", "{out}/given")
		add("move in by "+r.name, "move_file", []string{"from", r.dir + "/secret", "to", "taken"}, "rename", "{out}/secret", "{ws}/taken")
		add("search by "+r.name, "search_file", []string{"pattern", "s3cret", "path", r.dir}, "read", "{out}/secret")
	}
	for _, p := range []string{"agent.yaml", ".git/config", "frozen.txt", "frozen/deep/file", "deep/er/skill.md"} {
		add("write "+p, "write_file", []string{"path", p, "content", "x"}, "write", "{ws}/"+p)
		add("remove "+p, "remove_path", []string{"path", p}, "remove", "{ws}/"+p)
		add("move "+p, "move_file", []string{"from", p, "to", "taken"}, "rename", "{ws}/"+p, "{ws}/taken")
	}
	for _, p := range []string{"hidden/state", "key.pem", "private/note", "private/deep/note", "to-ws/key.pem"} {
		add("read "+p, "read_file", []string{"path", p}, "read", "{ws}/"+p)
		add("move "+p, "move_file", []string{"from", p, "to", "taken"}, "rename", "{ws}/"+p, "{ws}/taken")
	}
	for _, p := range []string{"agent.local.yaml", ".envrc", "future-frozen.txt", ".git/hooks/pre-commit", ".vscode/tasks.json"} {
		add("make "+p, "write_file", []string{"path", p, "content", "x"}, "make-all", "{ws}/"+p)
	}
	for _, p := range []string{"deep", ".git", "frozen"} {
		add("move the parent "+p, "move_file", []string{"from", p, "to", "moved"}, "rename", "{ws}/"+p, "{ws}/moved")
	}
	add("write in a read-only mount", "write_file", []string{"path", "{ro}/new", "content", "x"}, "create", "{ro}")
	add("remove where delete is not granted", "remove_path", []string{"path", "{rw}/file"}, "remove", "{rw}/file")
	add("run a program in a mount", "run_command", []string{"argv0", "{rwd}/program"}, "execute", "{rwd}/program")
	add("run a program outside", "run_command", []string{"argv0", "{out}/program"}, "execute", "{out}/program")
	add("run an unapproved program", "run_command", []string{"argv0", "/bin/ls"}, "execute", "{out}/program")
	return in("tool", "development", "guard of the file tools", list)
}
