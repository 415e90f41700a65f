// Package attack is the adversarial suite: what a hostile command, or a hostile
// model with the file tools, tries against a Task's sandbox, each act paired
// with its twin, the same act without the sandbox.
//
// The one rule to keep in mind: an act that fails without the sandbox as well
// proves nothing, and is never counted as stopped.
package attack

import "time"

// Attack is one act against one kind of sandbox.
type Attack struct {
	Name  string // class and act: "outside/read absolute"
	Layer string // what is meant to stop it
	Box   string // the kind of sandbox: a name of boxes
	// Act and Args are the attacker's. In Args {ws}, {out}, {ro}, {rw}, {rwd} and
	// {tmp} stand for directories, {tcp}, {udp}, {unix}, {dgram} for who listens.
	Act  string
	Args []string
	// Tool is the tool that acts instead of a command; Args are then its
	// arguments, name and value in turn, and Act is only the twin's.
	Tool     string
	TwinArgs []string // the twin's, where they differ
	Twin     Twin
	// Evidence is a file that shows the attack's success some time later,
	// whatever the act itself says.
	Evidence string
	Host     func(p Places) error // what the host does before the act
	Timeout  time.Duration        // of the command; 0: ten seconds
}

// Twin says as whom an act is done without the sandbox.
type Twin int

// Twins.
const (
	Plain    Twin = iota // a child of ours
	Child                // a child of a shell of its own
	Master               // with all rights over namespaces of its own
	Twinless             // nothing would end it, or it has no counterpart: the result of the sandbox alone is shown
)

// Status is what became of an attack.
type Status string

// Statuses.
const (
	Stopped  Status = "stopped"  // it failed inside and succeeded outside
	Escaped  Status = "ESCAPED"  // it succeeded inside
	Unproved Status = "unproved" // it failed outside as well
	Broken   Status = "BROKEN"   // the suite could not tell
)

// Result is one line of the report.
type Result struct {
	Attack Attack
	Status Status
	Inside string // what it said inside
	Reason string // why it is unproved or broken
}

// Places are where a tree's parts stand and who listens for it.
type Places struct {
	Workspace, Outside           string
	ReadOnly, ReadWrite, Deleted string // mounts
	Scratch                      string // where anybody may write
	TCP, UDP, Unix, Datagram     string
}
