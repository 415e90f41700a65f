// Package session keeps Sessions and their Tasks in memory, runs one Task at a
// time in order of arrival, and remembers in a content-free ledger which Tasks
// existed.
//
// The one rule to keep in mind: content never reaches the disk (SES-03, SD-25).
package session

import (
	"time"

	"sunaba/fault"
)

// State is the state of a Task (S1-065..070).
type State string

// The states; completed, failed and cancelled are terminal.
const (
	Queued    State = "queued"
	Planning  State = "planning"
	Running   State = "running"
	Completed State = "completed"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// Terminal reports whether no transition leaves s.
func (s State) Terminal() bool { return s == Completed || s == Failed || s == Cancelled }

// Image is one image of a request, decoded.
type Image struct {
	MIMEType string
	Data     []byte
}

// Request is one accepted agent_run.
type Request struct {
	Text            string
	SessionID       string   // "" starts a new Session
	Temperature     *float64 // this Task only
	Images          []Image
	ClientRequestID string // "" none; bound to the request's digest (C-89)
	Owner           string // the connection that owns the Task; "" none (HTTP, C-37)
}

// Ticket is the immediate answer to a Request.
type Ticket struct {
	TaskID, SessionID string
	Status            State // queued, or the present state for a repeated ClientRequestID
	CreatedAt         time.Time
}

// Progress counts the tasks of the TaskGraph; Current is the running one's title.
type Progress struct {
	Completed int    `json:"completed"`
	Total     int    `json:"total"`
	Current   string `json:"current"`
}

// Tokens are measured, not estimated (S1-129).
type Tokens struct {
	Input  int `json:"input"`
	Output int `json:"output"`
	Total  int `json:"total"`
}

// Status is what may be told of a Task.
type Status struct {
	TaskID, SessionID   string
	State               State
	Progress            Progress
	Iterations, Replans int
	Tokens              Tokens
	Error               *fault.Error // last error; nil none
	Result              string       // final text, terminal states only
	AwaitsApproval      bool
	CreatedAt, Updated  time.Time
}
