package tool

import (
	"strconv"
	"strings"
	"sync"
)

// maxOutputs bounds what one Task keeps of elided command output, in bytes.
const maxOutputs = 8 << 20

// outputPrefix marks a path that names kept output instead of a file.
const outputPrefix = "output:"

// Outputs keeps the output of commands that was elided for the model, in
// memory, at most 8 MiB: the oldest goes first. The zero value is ready; it is
// safe for concurrent use.
type Outputs struct {
	mu    sync.Mutex
	last  int // the newest id
	first int // the oldest id that is still there
	texts map[int]string
	bytes int
}

// Put keeps text and returns the id read_file takes as "output:<id>".
func (o *Outputs) Put(text string) (id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.texts == nil {
		o.texts, o.first = map[int]string{}, 1
	}
	o.last++
	o.texts[o.last] = text
	o.bytes += len(text)
	for o.bytes > maxOutputs && o.first < o.last {
		o.bytes -= len(o.texts[o.first])
		delete(o.texts, o.first)
		o.first++
	}
	return strconv.Itoa(o.last)
}

// Get returns the text kept under id.
func (o *Outputs) Get(id string) (text string, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := strconv.Atoi(strings.TrimSpace(id))
	if err != nil {
		return "", false
	}
	text, ok = o.texts[n]
	return text, ok
}
