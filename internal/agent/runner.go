package agent

import (
	"context"

	"sunaba/fault"
	"sunaba/tool"
)

// The limits that hold where a Config leaves them zero (AGT-02, AGT-03,
// PLN-02, S1-111).
const (
	DefaultIterations       = 128
	DefaultRepeatedFailures = 5
	DefaultReplans          = 3
	DefaultTasks            = 32
	DefaultNumCtx           = 16384
	DefaultCompactAt        = 0.80
)

// Texts turns codes and keys into text of the configured language. The locale
// catalogue implements it.
type Texts interface {
	tool.Texts
	// Text returns the text of key with args in its placeholders.
	Text(key string, args fault.Args) string
}

// Config is what every Task of one server shares. Zero limits mean the
// defaults.
type Config struct {
	Model  Model
	Texts  Texts
	System string // the head of every conversation: prompt.Head's text, byte-stable
	Root   string // workspace root; paths beneath it are reported relative to it; "" as they are

	MaxIterations       int     // model calls of one Task, planning included (AGT-02)
	MaxRepeatedFailures int     // consecutive failures of one cause (AGT-03)
	MaxReplans          int     // (S1-111)
	MaxTasks            int     // nodes of the TaskGraph (PLN-02)
	NumCtx              int     // tokens of the model's window
	CompactAt           float64 // share of NumCtx at which old results are shortened (S1-131)
}

// Job is one accepted request.
type Job struct {
	SessionID, TaskID string
	Request           string
	Images            [][]byte
	Temperature       *float64   // this Task only (OLL-06); nil: as configured
	History           []Exchange // earlier Tasks of the Session, oldest first
}

// Exchange is an earlier request of a Session with its final answer.
type Exchange struct{ Request, Result string }

// Phase says whether a Task is being planned or worked.
type Phase string

// The phases an Observer hears of.
const (
	Planning Phase = "planning"
	Working  Phase = "running"
)

// Progress is what may be told of a Task while it runs.
type Progress struct {
	Phase               Phase
	Completed, Total    int    // tasks of the TaskGraph
	Current             string // title of the running task
	Iterations, Replans int
	Usage               Usage        // measured tokens of the whole Task (S1-129)
	Last                *fault.Error // the last failure; nil: none
}

// Outcome is how a Task ended. Err nil: completed; agent.cancelled: cancelled;
// anything else: failed. Result is text for a person in every case (C-81).
type Outcome struct {
	Err      *fault.Error
	Result   string
	Plan     string // the TaskGraph at the end, one line a task
	Progress Progress
}

// Event is one thing an audit wants to know of the loop. It is free of content:
// Detail holds numbers and identifiers only.
type Event struct {
	Kind     string // task.plan, task.replan, task.tool_refused, task.no_effect, task.done, task.overrun
	PlanTask string
	Tool     string
	Code     fault.Code
	Detail   string
}

// Recorder keeps Events. An error ends the Task: what cannot be recorded is not
// done.
type Recorder interface {
	Record(ctx context.Context, e Event) error
}

// Observer hears of every change of Progress, from the goroutine of Run; it
// must not block.
type Observer interface {
	Observe(p Progress)
}

// Runner runs Tasks. It holds no state of a Task: Run may be called again and
// again, and concurrently if Model allows it.
type Runner struct{ cfg Config }

// New returns a Runner. Zero limits are replaced by the defaults.
func New(cfg Config) *Runner {
	fill := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	fill(&cfg.MaxIterations, DefaultIterations)
	fill(&cfg.MaxRepeatedFailures, DefaultRepeatedFailures)
	fill(&cfg.MaxReplans, DefaultReplans)
	fill(&cfg.MaxTasks, DefaultTasks)
	fill(&cfg.NumCtx, DefaultNumCtx)
	if cfg.CompactAt <= 0 || cfg.CompactAt > 1 {
		cfg.CompactAt = DefaultCompactAt
	}
	return &Runner{cfg: cfg}
}
