package pod

import (
	"context"

	"sunaba/tool"
)

// Model is a client of a language model (C-19).
//
// Chat answers the conversation so far with one Assistant message; it may ask
// for the given tools. The messages belong to the Pod and must not be changed.
// An error ends the run; what can be retried, Chat retries itself. ctx ends the
// call. A Model that several Pods share must be safe for concurrent use.
type Model interface {
	Chat(ctx context.Context, messages []Message, tools []tool.Spec) (Message, error)
}

// ModelFunc is a function as a Model.
type ModelFunc func(ctx context.Context, messages []Message, tools []tool.Spec) (Message, error)

// Chat calls f.
func (f ModelFunc) Chat(ctx context.Context, messages []Message, tools []tool.Spec) (Message, error) {
	return f(ctx, messages, tools)
}
