package ollama

import (
	"context"
	"errors"
	"time"

	"sunaba/fault"
)

var (
	errWhole  = errors.New("the request took longer than request_timeout")
	errSilent = errors.New("no further chunk in time")
)

// watchdog ends one attempt that outlives one of its bounds.
type watchdog struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	whole  *time.Timer
	silent *time.Timer
	idle   time.Duration
}

// watch bounds an attempt as a whole and until its first chunk.
func watch(parent context.Context, cfg Config) (context.Context, *watchdog) {
	ctx, cancel := context.WithCancelCause(parent)
	after := func(d time.Duration, cause error) *time.Timer {
		return time.AfterFunc(d, func() { cancel(cause) })
	}
	return ctx, &watchdog{
		ctx: ctx, cancel: cancel, idle: cfg.Idle,
		whole: after(cfg.RequestTimeout, errWhole), silent: after(cfg.FirstByte, errSilent),
	}
}

// progress notes that a chunk has arrived; the next one has until idle.
func (w *watchdog) progress() { w.silent.Reset(w.idle) }

func (w *watchdog) stop() {
	w.whole.Stop()
	w.silent.Stop()
	w.cancel(nil)
}

// judge replaces f when a bound ended the attempt. That is not tried again:
// the same request would only hang as long once more.
func (w *watchdog) judge(f *failure) *failure {
	cause := context.Cause(w.ctx)
	if errors.Is(cause, errWhole) || errors.Is(cause, errSilent) {
		return &failure{fault: fault.Wrap(cause, fault.LLMUnavailable, "chat")}
	}
	return f
}
