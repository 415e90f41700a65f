package policy

import (
	"io/fs"
	"testing"
)

// Covers: C-85
func TestIsHostTool(t *testing.T) {
	bare := func(dir string) bool { return dir == "bare" }
	for rel, want := range map[string]bool{
		".envrc": true, "sub/.envrc": true, "a/b/.mcp.json": true, "a/.vscode/tasks.json": true, ".idea/x/y.xml": true, "sub/.claude/settings.json": true,
		".git/hooks/pre-commit": true, "vendor/x/.git/hooks/post-checkout": true, ".git/hooks/pre-commit.sample": false,
		"x/.git/config": true, "x/.git/config.worktree": true, ".git/commondir": true, "x/.git": true, ".vscode": true,
		".git/modules/lib/config": true, ".git/modules/a/b/hooks/post-checkout": true, ".git/worktrees/w/gitdir": true, "x.git/hooks/pre-receive": true,
		"x.git/config": true, "bare/hooks/update": true, "bare/config": true, "bare/sub/config": false, ".husky/pre-commit": true, "a/.githooks/x": true,
		"a/lefthook.yml": true, ".pre-commit-config.yaml": true, ".git/refs/heads/config": false, "x.gitty/config": false, "hooks/x": false,
		"config": false, "src/config": false, "hooks/pre-commit": false, "x/.git/HEAD": false, "x/.git/objects/aa/config": false, "a.envrc": false, "main.go": false,
	} {
		if got := IsHostTool(rel, 0o644, bare); got != want {
			t.Errorf("%s: %v", rel, got)
		}
	}
	itself := func(dir string) bool { return dir == "" } // the workspace is a repository without a work tree
	for _, rel := range []string{"config", "hooks/pre-commit"} {
		if !IsHostTool(rel, 0o644, itself) {
			t.Errorf("%s of the workspace itself", rel)
		}
	}
	if IsHostTool("sub/.git", fs.ModeDir|0o755, bare) {
		t.Error("a repository's directory is nothing by itself")
	}
	for rel, want := range map[string]bool{
		".git": true, "a/.vscode": true, "a/x.git": true, "bare": true, "bare/hooks": true, ".git/hooks": true, "hooks": false, "src": false,
		".git/objects": false, "a/.husky": true,
	} {
		if got := IsToolFolder(rel, bare); got != want {
			t.Errorf("folder %s: %v", rel, got)
		}
	}
}
