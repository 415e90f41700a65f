package policy

import "net/netip"

// Input is what a configuration asks for, in the policy's own words; the
// config package fills it. Paths are absolute and clean, not yet resolved.
// Every Source is the place of the setting, such as "agent.yaml:12:5".
type Input struct {
	Profile         string // readonly | development
	Workspace       WorkspaceInput
	Scope           *ScopeInput // nil: no restriction
	Mounts          []MountInput
	Entries         []EntryInput
	Network         Network
	Resources       Resources
	Environment     []Variable
	AllowedCommands []string // nil: no extra filter
	MaxFileBytes    int64    // 0: no limit
	MaxFiles        int      // 0: no limit
	AllowHardLinks  bool
	Own             Own
	// Lookup resolves the names of endpoints; nil asks the system.
	Lookup Lookup
	// Machine returns this machine's addresses, to which no name may lead; nil is
	// the function Machine. Where it fails, no name may lead anywhere.
	Machine func() ([]netip.Prefix, error)
	// Starting: what was agreed to begins. An endpoint whose name now leads where
	// no name may lead is closed instead of being a problem.
	Starting bool
}

// WorkspaceInput is the workspace as configured.
type WorkspaceInput struct {
	Root, Name, Policy string
	ProtectHostTools   bool // C-85
	Source             string
}

// MountInput is one mount as configured.
type MountInput struct {
	Path, Access string // read_only | read_write | read_write_delete
	Source       string
}

// EntryInput is one execution entry as configured.
type EntryInput struct {
	Alias, Path, RuntimeRoot string // RuntimeRoot "" none
	Source                   string
}

// ScopeInput is sandbox.scope as configured.
type ScopeInput struct {
	AllowGiven bool // false: everything the other layers grant, minus Deny
	Allow      []RuleInput
	Deny       []RuleInput
	Source     string
}

// RuleInput is one rule; a relative Target starts at the workspace root.
type RuleInput struct {
	Target, Permission string // read | write
	Recursive, Delete  bool
	Source             string
}

// Variable is one environment variable for commands.
type Variable struct{ Name, Value, Source string }

// Own are the program's own files, which the agent must not change (C-71).
// Empty fields name nothing.
type Own struct {
	Config           string // base file
	Local            string // agent.local.yaml beside it, existing or not
	Executable       string // the running program
	LocaleDirs       []string
	UserSystemPrompt string
	SkillDirs        []string
	StateDir         string
	// Listeners are the addresses at which we serve; port 0 is not known yet.
	Listeners []netip.AddrPort
	Model     string // host:port of the model's server
}
