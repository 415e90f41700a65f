package audit

import "sunaba/fault"

// Record is one line of the audit log, its members in CONTRACT §7's order.
// Empty members are left out. Seq, Time, Prev and Hash are the Log's to set.
// It never holds argument bodies, images, Base64 or credentials (S1-229):
// arguments appear as Digest, files as canonical Path.
type Record struct {
	Seq       uint64     `json:"seq"`
	Time      string     `json:"time"` // RFC 3339 with nanoseconds, UTC
	Event     string     `json:"event"`
	SessionID string     `json:"session_id,omitempty"`
	TaskID    string     `json:"task_id,omitempty"`
	PlanTask  string     `json:"plan_task,omitempty"`
	Tool      string     `json:"tool,omitempty"`
	Decision  string     `json:"decision,omitempty"` // allow, deny, approve, reject
	Rule      string     `json:"rule,omitempty"`     // file:line of the setting that decided
	Path      string     `json:"path,omitempty"`     // canonical
	Argv0     string     `json:"argv0,omitempty"`    // resolved executable
	ExitCode  *int       `json:"exit_code,omitempty"`
	Bytes     *int64     `json:"bytes,omitempty"`
	Digest    string     `json:"digest,omitempty"` // SHA-256
	Channel   string     `json:"channel,omitempty"`
	Code      fault.Code `json:"code,omitempty"`
	Limit     string     `json:"limit,omitempty"` // the limit that stopped a process
	// What network.allow and network.deny are about.
	Protocol string `json:"protocol,omitempty"` // tcp, or family and type of a socket that was refused
	Endpoint string `json:"endpoint,omitempty"` // as configured: host:port, or :port in mode local
	Address  string `json:"address,omitempty"`  // dialled, or attempted inside the sandbox
	Failed   string `json:"failed,omitempty"`   // why what was allowed was not reached
	Count    int    `json:"count,omitempty"`    // how often, when more than once
	Reported bool   `json:"reported,omitempty"` // told by the Worker, not seen by the broker
	Prev     string `json:"prev"`
	Hash     string `json:"hash,omitempty"`
}
