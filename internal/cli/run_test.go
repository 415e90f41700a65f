package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sunaba/fault"
	"sunaba/internal/config"
	"sunaba/internal/screen"
	"sunaba/policy"
	"sunaba/sandbox"
)

// Covers: S1-080
func TestDefaultConfigIsBesideTheExecutable(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(filepath.Dir(exe), "agent.yaml")
	for _, args := range [][]string{nil, {"show"}, {"apply"}, {"apply", "--yes"}} {
		var out, errs bytes.Buffer
		if code := Run(args, Streams{In: strings.NewReader(""), Out: &out, Err: &errs}); code != exitInvalid ||
			!strings.Contains(errs.String(), want) || out.Len() > 0 {
			t.Errorf("%q: exit %d, %s", args, code, errs.String())
		}
	}
}

// --yes cannot stand in for a person where everything is at stake (C-88).
func TestYesIsNotEnough(t *testing.T) {
	for name, tt := range map[string]struct {
		policy   string
		channels []string
		refused  bool
	}{
		"deny":   {"deny_outside", []string{"local"}, false},
		"ask":    {"approve_outside", []string{"local"}, false},
		"all":    {"allow_all", nil, true},
		"client": {"deny_outside", []string{"local", "client"}, true},
	} {
		c := &candidate{settings: &config.Settings{}, resolved: &policy.Resolution{}}
		c.settings.Approval.Channels = tt.channels
		c.resolved.Effective.Workspace.Policy = tt.policy
		if err := c.yesAllowed(); (err != nil) != tt.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type absentModel struct{}

func (absentModel) Probe(context.Context) error {
	return fault.New(fault.LLMModelMissing, "probe", "model", "x\ny")
}

// A model server that does not answer is a warning, and its words cannot break
// the line (C-91, C-92).
func TestModelIsOnlyAWarning(t *testing.T) {
	c := &candidate{texts: textsIn("en"), settings: &config.Settings{}, resolved: &policy.Resolution{}}
	var p screen.Page
	var out bytes.Buffer
	c.warningSection(t.Context(), &p, outside{})
	if err := p.Write(&out, false); err != nil || out.Len() > 0 {
		t.Errorf("without anything to warn of: %q %v", out.String(), err)
	}
	c.warningSection(t.Context(), &p, outside{Model: absentModel{}})
	if err := p.Write(&out, false); err != nil || !strings.Contains(out.String(), "! ") ||
		!strings.Contains(out.String(), `x\ny`) || !strings.Contains(out.String(), "llm.model_missing") {
		t.Errorf("got %q %v", out.String(), err)
	}
}

type machine bool

func (m machine) Lines(context.Context) ([]string, bool) {
	return []string{"user namespaces are missing", "  the remedy"}, bool(m)
}

// What this machine cannot enforce is said before it is applied, with the
// remedy; where all is well nothing is said.
func TestApplyTellsWhatCannotBeEnforcedHere(t *testing.T) {
	for _, fit := range []machine{true, false} {
		c := &candidate{texts: textsIn("en"), settings: &config.Settings{}, resolved: &policy.Resolution{}, notYet: fault.New(fault.PolicyNotApplied, "load", "reason", "never")}
		var out bytes.Buffer
		if _, err := c.present(t.Context(), &out, outside{Platform: fit}); err != nil {
			t.Fatal(err)
		}
		if said := strings.Contains(out.String(), "! The server would not start") && strings.Contains(out.String(), "the remedy"); said == bool(fit) {
			t.Errorf("fit %t:\n%s", fit, out.String())
		}
	}
}

// Each missing mechanism is told with its own remedy, in every language.
//
// Covers: S1-095
func TestEachMissingMechanismIsTold(t *testing.T) {
	err := errors.Join(
		fault.New(fault.PlatformUnavailable, "probe", "what", "seccomp filters", "remedy", "seccomp", "cause", "one"),
		fault.New(fault.PlatformUnavailable, "probe", "what", "a pids control group", "remedy", "fence", "cause", "two"),
	)
	for _, id := range []string{"en", "ja", "zh-CN"} {
		x := textsIn(id)
		said := x.platformFault(err)
		for _, want := range []string{"seccomp filters", "one", x.text("platform.remedy.seccomp"), "a pids control group", "two", x.text("platform.remedy.fence")} {
			if !strings.Contains(said, want) || strings.Contains(said, "platform.remedy.") {
				t.Errorf("%s: %q lacks %q", id, said, want)
			}
		}
	}
}

// Every mechanism this system has is told in every language; a new one is not
// lost before it has texts.
func TestMechanismsHaveTexts(t *testing.T) {
	for _, id := range []string{"en", "ja", "zh-CN"} {
		p := platform{texts: textsIn(id)}
		for _, name := range []string{"namespaces", "landlock", "seccomp", "fence", "process limit", "memory limit", "disk limit", "network", "network notices"} {
			for _, full := range []bool{true, false} {
				m := sandbox.Mechanism{Name: name, Full: full, Detail: "version 7"}
				if line := p.mechanism(m); strings.Contains(line, "platform.") || strings.Contains(line, "{") {
					t.Errorf("%s: %s", id, line)
				}
			}
		}
		if line := p.mechanism(sandbox.Mechanism{Name: "new thing", Detail: "half"}); !strings.Contains(line, "new thing") || !strings.Contains(line, "half") {
			t.Errorf("%s: %s", id, line)
		}
	}
}
