package config

import "time"

// Settings are the merged and validated settings of one agent.yaml and the
// agent.local.yaml beside it (CONTRACT §2). Paths are absolute and clean but
// not resolved through links: that is the policy's duty. Every field holds its
// default when the file does not set it. Settings do not change after Load and
// may be shared between goroutines.
type Settings struct {
	Path  string // base file, absolute, as typed
	Dir   string // directory of Path: where relative paths start
	Local string // agent.local.yaml beside Path, existing or not

	Application Application
	MCP         MCP
	Ollama      Ollama
	Agent       Agent
	Skills      Skills
	Sandbox     Sandbox
	Approval    Approval
	Logging     Logging

	// Warnings are what does not stop the start but must be shown and logged.
	Warnings []Problem

	values    []Value
	positions map[string]Position
}

// Application holds what concerns the whole program.
type Application struct {
	Language string // a locale identifier; whether it exists is the locale package's word
}

// MCP is the side of the client.
type MCP struct {
	Transport string // stdio | http
	HTTP      HTTP
	Tasks     MCPTasks
}

// HTTP configures the Streamable HTTP transport.
type HTTP struct {
	Listen []string // loopback literals with a port (S1-245)
	Peer   string   // same_user | any
}

// MCPTasks are the values of the tasks extension.
type MCPTasks struct {
	TTL          time.Duration
	PollInterval time.Duration
}

// Ollama configures the model server.
type Ollama struct {
	BaseURL        string
	Model          string
	Think          string // false | true | low | medium | high
	KeepAlive      time.Duration
	RequestTimeout time.Duration
	Retry          Retry
	Options        Options
	ExtraOptions   map[string]any // passed through; never holds a known option (OLL-05)
	Vision         Vision
}

// Retry says how failed communication is repeated (OLL-12).
type Retry struct {
	Retries int // after the first attempt
	Backoff time.Duration
}

// Options are the generation options of Ollama by their documented names. A
// nil pointer or a nil slice leaves the option to the model.
type Options struct {
	NumCtx           int // always sent
	Temperature      *float64
	NumPredict       *int // -1: until the model stops
	TopK             *int
	TopP             *float64
	MinP             *float64
	TypicalP         *float64
	RepeatLastN      *int
	RepeatPenalty    *float64
	PresencePenalty  *float64
	FrequencyPenalty *float64
	Seed             *int
	Stop             []string
	NumKeep          *int
	NumBatch         *int
	NumGPU           *int
	MainGPU          *int
	UseMMap          *bool
	NumThread        *int
	PenalizeNewline  *bool
	NUMA             *bool
}

// Vision bounds the images of one request (S1-103); sizes in bytes.
type Vision struct {
	MaxImages       int
	MaxImageBytes   int64
	MaxRequestBytes int64
}

// Agent bounds the loop.
type Agent struct {
	MaxIterations       int
	MaxRepeatedFailures int
	MaxReplans          int
	MaxTasks            int
	CompactAt           float64 // share of num_ctx
	MustReadFirst       bool
	UserSystemPrompt    string // absolute path; "" none
	UserPromptText      string // the text of that file as it was read by Load
	Results             Results
	EditMemoryLimit     int64 // bytes
}

// Results bound what one tool result shows the model.
type Results struct {
	ReadLines    int
	ReadBytes    int64
	Entries      int
	Matches      int
	CommandLines int
	CommandBytes int64
}

// Skills names the directories that hold Agent Skills.
type Skills struct {
	Directories []string // absolute
}

// Sandbox is the User Sandbox Configuration (S1-037).
type Sandbox struct {
	Profile   string // readonly | development
	Workspace Workspace
	Scope     *Scope // nil: no restriction (C-73)
	Mounts    []Mount
	Entries   []Entry
	Network   Network
	Resources Resources
}

// Workspace is the area the agent works in.
type Workspace struct {
	Root             string // absolute
	Name             string
	Policy           string // allow_all | approve_outside | deny_outside, the canonical word
	ProtectHostTools bool
	Properties       Properties
}

// Properties are the workspace properties the program itself understands;
// Other keeps the rest for tools.
type Properties struct {
	AllowedCommands []string // nil: no extra filter
	MaxFileSizeMB   int64    // 0: no limit
	MaxFiles        int      // 0: no limit
	Environment     map[string]string
	PathAllowlist   []string // nil: no narrowing; as written, relative to the workspace root
	AllowHardLinks  bool
	Other           map[string]any
}

// Scope is sandbox.scope: D0's rules inside workspace and mounts.
type Scope struct {
	AllowGiven bool // false: only denies were given (C-73)
	Allow      []Rule
	Deny       []Rule
}

// Rule is one allow or deny rule.
type Rule struct {
	Target     string // as written, relative to the workspace root
	Permission string // read | write
	Recursive  bool
	Delete     bool // allow rules only
}

// Mount is one further directory.
type Mount struct {
	Path   string // absolute
	Access string // read_only | read_write | read_write_delete
}

// Entry is one executable the broker may start (S1-216).
type Entry struct {
	Alias       string
	Path        string // absolute
	RuntimeRoot string // absolute; "" none
}

// Network is the network mode with its endpoints.
type Network struct {
	Mode        string // none | local | restricted
	Endpoints   []Endpoint
	UnixSockets string // none | own
}

// Endpoint is one host and port; Host is empty in mode local.
type Endpoint struct {
	Host string
	Port int
}

// Resources are the limits of one Task with the profile's values filled in
// (S1-176..183).
type Resources struct {
	Profile   string // constrained | normal | extended
	MemoryMiB int64
	Processes int
	Timeout   time.Duration // upper bound of one command
	Scratch   int64         // bytes
	FileSize  int64         // bytes; 0: none
}

// Approval says how a person is asked.
type Approval struct {
	Channels []string // local, client
	Timeout  time.Duration
}

// Logging configures the logs.
type Logging struct {
	Level string // debug | info | warn | error
	LLM   bool
}

// Position is a place in a configuration file; Line and Column count from 1.
// The zero Position is a default that no file sets.
type Position struct {
	File         string
	Line, Column int
}

// Value is one setting as it holds: its key path and its canonical text.
type Value struct{ Key, Text string }

// At returns where the value of key, such as "sandbox.mounts[0].path", was
// written. A value that no file sets has the zero Position.
func (s *Settings) At(key string) Position { return s.positions[key] }

// Values returns every setting with its typed value in canonical form,
// defaults included, in the order of CONTRACT §2: what show prints as desired
// and what the fingerprint is made of. The slice must not be changed.
func (s *Settings) Values() []Value { return s.values }
