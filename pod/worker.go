package pod

import (
	"slices"

	"sunaba/tool"
)

// defaultMaxTurns bounds the answers of the model within one Run.
const defaultMaxTurns = 32

// Worker is a Model with the settings by which a Pod drives it. It never
// changes, and several Pods may share one.
type Worker struct {
	model    Model
	system   string
	maxTurns int
	texts    tool.Texts
	limits   tool.Limits
	extra    []tool.Tool
}

// Option adjusts a Worker.
type Option func(*Worker)

// NewWorker returns a Worker that asks model. Without options there is no
// system message, 32 turns bound a run, and the tools' limits are their
// defaults. A Pod cannot be made with a nil model.
func NewWorker(model Model, options ...Option) *Worker {
	w := &Worker{model: model, maxTurns: defaultMaxTurns, texts: codesOnly{}}
	for _, o := range options {
		o(w)
	}
	return w
}

// WithSystem sets the system message of new sessions. A restored session keeps
// the one it was stored with.
func WithSystem(text string) Option { return func(w *Worker) { w.system = text } }

// WithMaxTurns bounds how many answers of the model one Run may take; a value
// below 1 leaves the default of 32.
func WithMaxTurns(n int) Option {
	return func(w *Worker) {
		if n > 0 {
			w.maxTurns = n
		}
	}
}

// WithTexts sets the words in which refusals are told to the model; nil leaves
// the default, which tells the code and its facts.
func WithTexts(t tool.Texts) Option {
	return func(w *Worker) {
		if t != nil {
			w.texts = t
		}
	}
}

// WithLimits bounds what the tools send to the model; zero fields stand for
// their defaults.
func WithLimits(l tool.Limits) Option { return func(w *Worker) { w.limits = l } }

// WithTools adds tools beside Read, Write, Edit, Glob and Grep, which no other
// tool can replace. What an added tool does is not bound by the Scope.
func WithTools(tools ...tool.Tool) Option {
	return func(w *Worker) { w.extra = append(slices.Clone(w.extra), tools...) }
}
