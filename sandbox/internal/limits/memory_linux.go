package limits

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// MemoryGroup is the Worker's end of the control group that limits its commands'
// memory. A nil one stands for no group: memory is measured. It is not safe for
// concurrent use.
type MemoryGroup struct {
	events *os.File
	seen   int64
	join   *os.File // version 1: what puts a thread inside
	adjust *os.File // version 2, where the Worker is inside: its own oom_score_adj
	given  []byte   // what stands there
}

// OpenMemory takes over the descriptors of Groups.Files. It must be called before
// the Worker gets a /proc of its own, where nothing can be written.
func OpenMemory(first uintptr, count int) (*MemoryGroup, error) {
	if count == 0 {
		return nil, nil
	}
	m := &MemoryGroup{events: os.NewFile(first, "memory events")}
	if count > 1 {
		m.join = os.NewFile(first+1, "memory group")
		return m, nil
	}
	var err error
	if m.adjust, err = os.OpenFile("/proc/self/oom_score_adj", os.O_RDWR, 0); err != nil {
		return nil, fmt.Errorf("control group of memory: %w", err)
	}
	if m.given, err = io.ReadAll(m.adjust); err != nil {
		return nil, fmt.Errorf("control group of memory: %w", err)
	}
	return m, nil
}

// Starting runs start, which starts a process and returns once it is born.
// Where the Worker is in the group as well, the kernel ends anything that was
// started so before it ends the Worker, however little memory is its own.
func (m *MemoryGroup) Starting(start func() error) error {
	if m == nil || m.adjust == nil {
		return start()
	}
	const first = "1000" // the most there is; everybody may raise their own and take that back
	if _, err := m.adjust.WriteAt([]byte(first), 0); err != nil {
		return fmt.Errorf("control group of memory: %w", err)
	}
	err := start()
	// Were this to fail, the Worker would be in as much danger as what it started.
	_, _ = m.adjust.WriteAt(m.given, 0)
	return err
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
