package scopedfs

import (
	"container/list"
	"sync"
)

// maxTracked bounds a Tracker: about a megabyte of paths and digests.
const maxTracked = 4096

// Tracker remembers what the content of files was when it was last seen, so
// that a change by someone else is noticed before it is overwritten. It keeps
// the 4096 files that were seen last. The zero value is ready; it is safe for
// concurrent use.
type Tracker struct {
	mu     sync.Mutex
	byPath map[string]*list.Element
	order  list.List // of *sighting, oldest first
}

type sighting struct {
	canonical string
	digest    Digest
}

// Seen records that the file at canonical had this digest; an empty digest
// forgets the file.
func (t *Tracker) Seen(canonical string, digest Digest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, ok := t.byPath[canonical]; ok {
		t.order.Remove(at)
		delete(t.byPath, canonical)
	}
	if digest == "" {
		return
	}
	if t.byPath == nil {
		t.byPath = make(map[string]*list.Element)
	}
	t.byPath[canonical] = t.order.PushBack(&sighting{canonical, digest})
	if t.order.Len() > maxTracked {
		oldest := t.order.Front()
		delete(t.byPath, t.order.Remove(oldest).(*sighting).canonical)
	}
}

// Digest returns what the file at canonical held when it was last seen.
func (t *Tracker) Digest(canonical string) (digest Digest, seen bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, ok := t.byPath[canonical]
	if !ok {
		return "", false
	}
	return at.Value.(*sighting).digest, true
}
