// Package policy turns settings into the Effective Sandbox Policy, the only
// thing that is ever evaluated, and keeps its applied snapshot.
//
// The one rule to keep in mind: what is not named is denied, and a layer can
// only narrow.
package policy

import (
	"net/netip"
	"time"

	"sunaba/scope"
)

// Effective is the Effective Sandbox Policy: the resolved allow list of one
// configuration (S1-039, S1-159). Every path in it is absolute, clean and
// resolved through its links. It is plain data: it travels to the Worker as
// JSON and is stored in the applied snapshot. The zero value allows nothing.
type Effective struct {
	Profile         string            `json:"profile"` // readonly | development
	Workspace       Workspace         `json:"workspace"`
	Roots           []Root            `json:"roots"`           // workspace first, then mounts, runtime roots, executables
	Scope           *Narrowing        `json:"scope,omitempty"` // nil: no restriction (C-73)
	Protected       []Protected       `json:"protected"`       // lose write and delete under every policy (C-71, C-85)
	Entries         []Entry           `json:"entries"`         // Approved Entry Executables
	Network         Network           `json:"network"`
	Resources       Resources         `json:"resources"`
	Environment     map[string]string `json:"environment,omitempty"`
	AllowedCommands []string          `json:"allowed_commands"`           // nil: no extra filter; empty: none is allowed
	MaxFileBytes    int64             `json:"max_file_bytes,omitempty"`   // 0: no limit
	MaxFiles        int               `json:"max_files,omitempty"`        // 0: no limit
	AllowHardLinks  bool              `json:"allow_hard_links,omitempty"` // C-63
	// Confinement is by what the system enforces all this.
	Confinement Confinement `json:"confinement,omitempty"`
}

// Confinement names the means of enforcement. It is a fact of the host, not a
// setting; it is part of what is applied, so that another host does not weaken
// what was approved.
type Confinement string

// The means of enforcement.
const (
	// ByNamespaces is the whole of it: a tree, a network and processes of the
	// Task's own.
	ByNamespaces Confinement = ""
	// ByLandlock is what is left without user namespaces: Landlock and seccomp
	// around a Worker that starts no program.
	ByLandlock Confinement = "landlock"
)

// Workspace names the area the agent works in.
type Workspace struct {
	Root    string `json:"root"`    // resolved
	Logical string `json:"logical"` // absolute, as configured
	Name    string `json:"name"`
	Policy  string `json:"policy"` // allow_all | approve_outside | deny_outside
}

// RootKind says where a file-system root comes from (FS-01).
type RootKind string

// The kinds of roots. File tools reach workspace and mounts only (C-80).
const (
	RootWorkspace  RootKind = "workspace"
	RootMount      RootKind = "mount"
	RootRuntime    RootKind = "runtime"
	RootExecutable RootKind = "executable" // one single file
)

// Root is one file-system root with what it grants beneath itself.
type Root struct {
	Path       string           `json:"path"`
	Logical    string           `json:"logical"`
	Kind       RootKind         `json:"kind"`
	Capability scope.Capability `json:"capability"`
	Source     string           `json:"source"` // file:line of the setting
}

// Narrowing is sandbox.scope: D0's rules with resolved targets. A nil Allow
// means that only denies were given: everything the other layers grant, minus
// the denies (C-73).
type Narrowing struct {
	Allow []scope.Rule `json:"allow"`
	Deny  []scope.Rule `json:"deny"`
}

// Protected is a path, existing or not, that no policy lets the agent change.
type Protected struct {
	Path   string `json:"path"`
	Hidden bool   `json:"hidden,omitempty"` // loses read as well (store, logs)
	Why    string `json:"why"`              // locale key suffix: config, local, executable, locales, prompt, skills, entry, host_tool, state
	Source string `json:"source"`
	Dir    bool   `json:"dir,omitempty"` // what a placeholder for it is when nothing exists there
	// Content is what a placeholder file must hold lest it break its readers.
	Content string `json:"content,omitempty"`
}

// Identity is what an executable looked like when its bytes were hashed (C-82).
type Identity struct {
	SHA256 string    `json:"sha256"` // hexadecimal, lower case
	Device uint64    `json:"device"`
	Inode  uint64    `json:"inode"`
	Size   int64     `json:"size"`
	MTime  time.Time `json:"mtime"`
	CTime  time.Time `json:"ctime"`
}

// Entry is one Approved Entry Executable (S1-046, PRC-01).
type Entry struct {
	Alias       string   `json:"alias"`
	Logical     string   `json:"logical"` // absolute, as configured: argv[0] of the process
	Path        string   `json:"path"`    // resolved
	RuntimeRoot string   `json:"runtime_root,omitempty"`
	Shell       bool     `json:"shell,omitempty"` // decided on the resolved name (PRC-06)
	Identity    Identity `json:"identity"`
	Source      string   `json:"source"`
}

// Network is the network part of the policy (S1-169..175).
type Network struct {
	Mode        string     `json:"mode"` // none | local | restricted
	Endpoints   []Endpoint `json:"endpoints,omitempty"`
	UnixSockets string     `json:"unix_sockets"`     // none | own
	Source      string     `json:"source,omitempty"` // file:line of the mode
}

// Endpoint is one permitted host and port (S1-171, S1-172). What it resolved to
// is pinned at each start and is no part of the applied comparison (C-90).
type Endpoint struct {
	Host      string       `json:"host,omitempty"` // as configured, a name or an address; "" in mode local
	Port      int          `json:"port"`
	Addresses []netip.Addr `json:"addresses,omitempty"` // what the broker may dial, in this order; none: the endpoint is closed
	Closed    string       `json:"closed,omitempty"`    // why it is closed: a locale key suffix; "" when it is open
	Source    string       `json:"source,omitempty"`    // file:line of the setting
}

// Resources are the limits of one Task (S1-176..183).
type Resources struct {
	Profile       string        `json:"profile"`
	MemoryMiB     int64         `json:"memory_mib"`
	Processes     int           `json:"processes"` // processes, not threads (SD-28)
	Timeout       time.Duration `json:"timeout"`   // upper bound of one command
	ScratchBytes  int64         `json:"scratch_bytes"`
	FileSizeBytes int64         `json:"file_size_bytes,omitempty"` // RLIMIT_FSIZE; 0: none
}
