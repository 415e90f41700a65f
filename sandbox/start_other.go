//go:build !linux

package sandbox

import (
	"context"

	"sunaba/fault"
	"sunaba/policy"
)

// Sandbox is one Task's confinement. There is no backend on this system yet:
// none can be started, and nothing runs without one.
type Sandbox struct{}

var errNoBackend = fault.New(fault.PlatformUnsupported, "sandbox", "what", "this operating system", "source", "", "path", "")

// Start refuses: platform.unsupported.
func Start(context.Context, Options) (*Sandbox, error) { return nil, errNoBackend }

// Current refuses: platform.unsupported.
func (*Sandbox) Current() error { return errNoBackend }

// Call refuses: platform.unsupported.
func (*Sandbox) Call(context.Context, string, []byte) ([]byte, error) { return nil, errNoBackend }

// Close does nothing.
func (*Sandbox) Close() error { return nil }

// InWorker reports false: there are no Workers.
func InWorker() bool { return false }

// Serve refuses: platform.unsupported.
func Serve(func(Inside) (Handler, error)) error { return errNoBackend }

// CloseOnExec does nothing: handles are not inherited here unless asked for.
func CloseOnExec() error { return nil }

// Confinement returns policy.ByNamespaces: what Probe refuses.
func Confinement(*policy.Effective) policy.Confinement { return policy.ByNamespaces }

// Probe refuses: platform.unsupported.
func Probe(context.Context, Options) ([]Mechanism, error) { return nil, errNoBackend }
