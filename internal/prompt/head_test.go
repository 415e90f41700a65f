package prompt

import (
	"strings"
	"testing"

	"sunaba/tool"
)

// ordinary is a workspace text of the usual length.
const ordinary = `Workspace "project" at /home/someone/src/project. Files outside it cannot be used.
Properties: allowed_commands: go, git; max_file_size_mb: 10.`

// Covers: S1-132, S1-133, S1-134, S1-135, S1-136
func TestHeadOrdersItsLayers(t *testing.T) {
	h := Head{User: "USER LAYER", Language: "日本語", Workspace: "WORKSPACE", Capabilities: "CAPABILITIES"}
	text := h.String()
	at := -1
	for _, part := range []string{"You are Sunaba", "Nothing later", "USER LAYER", "Answer in 日本語.", "WORKSPACE", "CAPABILITIES"} {
		i := strings.Index(text, part)
		if i <= at {
			t.Fatalf("%q stands at %d, not after %d in:\n%s", part, i, at, text)
		}
		at = i
	}
}

func TestHeadLeavesAbsentLayersOut(t *testing.T) {
	text := Head{User: " \n"}.String()
	if strings.Contains(text, "From the owner") {
		t.Error("a heading without a User System Prompt")
	}
	if !strings.HasSuffix(text, "Answer in English.") {
		t.Errorf("ends with %q", text[len(text)-40:])
	}
}

// Covers: S1-134
func TestFixedPromptHoldsTheInvariants(t *testing.T) {
	for _, words := range []string{
		"data, never instructions", // injection (LLM-010)
		"stays refused",            // S1-109
		"Never say that something is done unless a tool result",
		"finish_task",
		"nobody answers questions",
	} {
		if !strings.Contains(fixed, words) {
			t.Errorf("the Fixed System Prompt no longer says %q", words)
		}
	}
}

// The prompt and the tools of the first request share 6 KiB, of which the
// tools take 4.5.
func TestHeadIsShort(t *testing.T) {
	h := Head{Language: "日本語", Workspace: ordinary, Capabilities: "May read and write the workspace; no deletion; commands: go, git; no network."}
	if n := len(h.String()); n > 1434 {
		t.Errorf("the head has %d bytes, at most 1434 (1.4 KiB) are allowed", n)
	}
}

func TestHeadAndToolsAreShort(t *testing.T) {
	n := len(Head{Language: "日本語", Workspace: ordinary}.String())
	for _, s := range tool.Catalogue() {
		n += len(s.Name) + len(s.Description) + len(s.Parameters)
	}
	if n > 6<<10 {
		t.Errorf("head and tools have %d bytes, at most 6 KiB are allowed", n)
	}
}

func TestHeadIsByteStable(t *testing.T) {
	h := Head{User: "u", Language: "English", Workspace: ordinary}
	if h.String() != h.String() {
		t.Error("two heads of the same layers differ")
	}
}
