package policy

import (
	"io/fs"
	"testing"
)

// Covers: C-85
func TestIsHostTool(t *testing.T) {
	for rel, want := range map[string]bool{
		".envrc": true, "sub/.envrc": true, "a/b/.mcp.json": true, "a/.vscode/tasks.json": true, ".idea/x/y.xml": true, "sub/.claude/settings.json": true,
		".git/hooks/pre-commit": true, "vendor/x/.git/hooks/post-checkout": true, ".git/hooks/pre-commit.sample": false,
		"x/.git/config": true, "x/.git/config.worktree": true, ".git/commondir": true, "x/.git": true, ".vscode": true,
		"config": false, "src/config": false, "hooks/pre-commit": false, "x/.git/HEAD": false, "x/.git/objects/aa/config": false, "a.envrc": false, "main.go": false,
	} {
		if got := IsHostTool(rel, 0o644); got != want {
			t.Errorf("%s: %v", rel, got)
		}
	}
	if IsHostTool("sub/.git", fs.ModeDir|0o755) {
		t.Error("a repository's directory is nothing by itself")
	}
}
