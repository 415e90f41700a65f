package blackbox

// The programs are built by a command the test cache cannot see. These imports
// make a cached result depend on what goes into them; no name of theirs is
// used.
import (
	_ "sunaba/internal/broker"
	_ "sunaba/internal/cli"
	_ "sunaba/internal/demo"
)
