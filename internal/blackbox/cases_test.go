package blackbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// cases lists the 81 real faults of other products that this one must not
// have, each with where it is shown:
//
//   - a test function of this package: its subtest of that name;
//   - another test: "covered by";
//   - "needs": the part that is not built yet, and what of the case is shown
//     already;
//   - "yields to": the decision that settles it otherwise, and what is shown.
const cases = `
PATH-001 TestCasesDeny; volumes that fold: covered by scopedfs
PATH-003 TestCasesScope
PATH-005 TestCasesPath
PATH-007 TestCasesDeny, TestCasesConfig; globs yield to C-73
PATH-009 TestCasesDeny
PATH-011 TestCasesScope
PATH-013 TestCasesPath
PATH-015 TestCasesPath
PATH-017 TestCasesPath
PATH-019 TestCasesPath
PATH-021 TestCasesRoots; reading outside yields to C-07, C-80
PATH-023 TestCasesPath
PATH-025 TestCasesPath
PATH-027 TestCasesDeny
PATH-029 TestCasesPath, TestCasesDeny
EDIT-002 TestCasesEdit
EDIT-004 TestCasesEdit; its skill needs skills
EDIT-006 TestCasesEdit
EDIT-008 TestCasesEdit; its patch needs apply_patch
EDIT-010 TestCasesEdit; its patch needs apply_patch
EDIT-012 TestCasesEdit
EDIT-014 TestCasesEdit; several edits in one call yield to CONTRACT 3 and need apply_patch
EDIT-016 TestCasesEdit
EDIT-018 TestCasesEdit
EDIT-020 TestCasesEdit
EDIT-022 TestCasesEdit
EDIT-024 needs apply_patch
EDIT-026 TestCasesEdit
SRCH-001 TestCasesSearch
SRCH-003 TestCasesSearch
SRCH-005 TestCasesSearch
SRCH-007 TestCasesSearch
SRCH-009 TestCasesSearch
SRCH-011 TestCasesSearch
SRCH-013 TestCasesSearch
SRCH-015 TestCasesSearch
EXEC-001 TestCasesAllowed
EXEC-003 TestCasesExec
EXEC-005 TestCasesExec
EXEC-007 TestCasesTimeout, TestCasesExec
EXEC-009 TestCasesExec
EXEC-011 TestCasesExec
EXEC-013 TestCasesExec
EXEC-015 TestCasesExec
EXEC-017 TestCasesExec
EXEC-019 TestCasesExec
MCP-001 TestCasesMCP; stopping the job itself yields to C-36, C-70
MCP-003 TestCasesMCP
MCP-005 TestCasesMCP
MCP-007 TestCasesMCP
MCP-009 TestCasesMCP
MCP-011 TestCasesMCP
MCP-013 TestCasesMCP
LLM-002 TestCasesLLM; a failure after an effect of the right kind yields to C-81: it is named in the report
LLM-004 TestCasesWindow
LLM-006 TestCasesLLM
LLM-008 TestCasesLLM
LLM-010 TestCasesLLM; what a person is shown needs approvals
LLM-012 TestCasesLLM
LLM-014 TestCasesLLM
LLM-016 TestCasesServer
PLAN-002 TestCasesPlan
PLAN-004 TestCasesPlan
SKILL-001 needs skills
SKILL-003 needs skills
SKILL-005 needs skills
SKILL-007 needs skills
CONF-002 TestCasesConfig
CONF-004 TestCasesConfig
CONF-006 TestCasesConfig
I18N-002 TestCasesLocale; parity of the shipped files: covered by internal/locale
AUD-002 TestCasesCrash
AUD-004 TestCasesSecrets
CRSH-001 TestCasesCrash, TestKilledServer
CRSH-003 TestCasesCrash
PERM-001 needs approvals
PERM-003 needs approvals
APPLY-001 TestCasesApply
SBX-001 TestCasesExec
SBX-003 TestCasesExec
SBX-005 covered by TestNoNamespaces
`

// TestCasesAreListed: every case once, and what is said to be shown is there.
func TestCasesAreListed(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if f != "cases_test.go" {
			source.Write(text)
		}
	}
	seen := map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(cases)) {
		id, where, _ := strings.Cut(strings.TrimSpace(line), " ")
		if seen[id] {
			t.Errorf("%s is listed twice", id)
		}
		seen[id] = true
		tested, _, _ := strings.Cut(where, ";")
		shown := false
		for name := range strings.SplitSeq(tested, ", ") {
			if !strings.HasPrefix(name, "Test") {
				name = strings.TrimPrefix(name, "covered by ")
			} else {
				shown = true
			}
			if strings.HasPrefix(name, "Test") && !strings.Contains(source.String(), "func "+name+"(") {
				t.Errorf("%s: there is no %s", id, name)
			}
		}
		if has := strings.Contains(source.String(), `"`+id+`"`) || strings.Contains(source.String(), `"`+id+` `); has != shown {
			t.Errorf("%s: listed as %q, a subtest is there: %v", id, where, has)
		}
	}
	if len(seen) != 81 {
		t.Errorf("%d cases are listed, not 81", len(seen))
	}
}
