// Package tool holds the internal tools: what the model may call. Each tool is
// one file; file tools act through a scopedfs.FS, commands through a Runner.
//
// The one rule to keep in mind: a tool never decides what is allowed; the
// guard it is built on does, on the resolved path and the open handle.
package tool

import (
	"context"
	"encoding/json"
	"errors"

	"sunaba/fault"
)

// Spec is what the model is told of a tool. Names and argument names are
// CONTRACT §3's; descriptions are short because prompt tokens are dear.
type Spec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // a JSON schema of type object, bytes stable
}

// Tool is one internal tool. Call gets arguments that were already checked
// against Spec.Parameters; it is never called concurrently for one Task.
type Tool interface {
	Spec() Spec
	Call(ctx context.Context, args json.RawMessage) Result
}

// AsFault returns err as a coded error; one without a code becomes fs.failed.
func AsFault(err error) *fault.Error {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e
	}
	return fault.Wrap(err, fault.FSFailed, "")
}
