package limits

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// MemoryGroup is the Worker's end of the control group that limits its commands'
// memory. A nil one stands for no group: memory is measured. It is not safe for
// concurrent use.
type MemoryGroup struct {
	events *os.File
	join   *os.File // nil: the Worker was born inside
	seen   int64
}

// OpenMemory takes over the descriptors of Groups.Files.
func OpenMemory(first uintptr, count int) *MemoryGroup {
	if count == 0 {
		return nil
	}
	m := &MemoryGroup{events: os.NewFile(first, "memory events")}
	if count > 1 {
		m.join = os.NewFile(first+1, "memory group")
	}
	return m
}

// Join puts the calling thread into the group, and with it all that it will
// start; the Worker's other threads and its own memory stay outside.
func (m *MemoryGroup) Join() error {
	if m == nil || m.join == nil {
		return nil
	}
	if _, err := unix.Write(int(m.join.Fd()), []byte("0")); err != nil {
		return fmt.Errorf("control group of memory: %w", err)
	}
	return nil
}

// Reached reports that the kernel ended a process of the group for want of
// memory since Reached last said so. What cannot be read counts as reached.
func (m *MemoryGroup) Reached() bool {
	if m == nil {
		return false
	}
	var text [1024]byte
	n, err := unix.Pread(int(m.events.Fd()), text[:], 0)
	if err != nil {
		return true
	}
	for line := range bytes.Lines(text[:n]) {
		if count, ok := bytes.CutPrefix(line, []byte("oom_kill ")); ok {
			kills, err := strconv.ParseInt(string(bytes.TrimSpace(count)), 10, 64)
			reached := err != nil || kills > m.seen
			m.seen = kills
			return reached
		}
	}
	return true
}
