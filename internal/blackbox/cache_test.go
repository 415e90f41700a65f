package blackbox

import (
	"runtime"

	"sunaba/internal/broker"
	"sunaba/internal/cli"
)

// linked makes the test program hold what the built program holds: it is built
// by a command the test cache cannot see, and a blank import alone would leave
// no trace in the test program, whose bytes a cached result depends on.
// Nothing of it is ever called.
var linked = []any{cli.Run, broker.NewWorker}

func dependOnTheProduct() { runtime.KeepAlive(linked) }
