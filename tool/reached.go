package tool

import (
	"bytes"

	"sunaba/sandbox"
)

// reached are the limits that refuse instead of stopping a command, with what
// the system's library says of them.
var reached = []struct{ says, limit string }{
	{"No space left on device", "space"},
	{"Too many open files", "open_files"},
	{"File too large", "file_size"},
	{"fork: Resource temporarily unavailable", "processes"}, // bash
	{"Cannot fork", "processes"},                            // dash
	{"can't start new thread", "processes"},                 // Python
}

// limitReached returns the name of the limit that a failed command's own words
// tell of, also the end of its hint's locale key; "" for none. They are no more
// than its words: the host's disk may be full as well.
func limitReached(c sandbox.Capture) string {
	end := append(c.Head[:len(c.Head):len(c.Head)], c.Tail...)
	end = end[max(0, len(end)-blockedTail):]
	for _, r := range reached {
		if bytes.Contains(end, []byte(r.says)) {
			return r.limit
		}
	}
	return ""
}
