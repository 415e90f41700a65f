package limits

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"sunaba/policy"
)

// slack is how much of the machine's own changes, in bytes, is not held against
// a command: what other programs do shows in the same numbers.
const slack = 256 << 20

// supervisePeriod is how often the process tree is measured.
const supervisePeriod = 50 * time.Millisecond

// The names of limits, as results and the audit report them.
const (
	Processes = "processes"
	Memory    = "memory"
	Disk      = "disk"
	FileSize  = "file_size"
)

// Watch is what one command is held to while it runs.
type Watch struct {
	Resources policy.Resources
	// Own are the file systems of the Task that live in memory and have a size
	// of their own.
	Own []string
	// Disk is what Disks.Begin returned before the command started, lest what it
	// wrote at once be taken for given.
	Disk func() bool
	// Memory is the group that limits memory; nil: it is measured here.
	Memory *MemoryGroup
}

// Supervise measures everything in this process's PID namespace (itself left
// out) until done is closed, and calls exceeded once with the name of the
// first limit that was passed.
func (w Watch) Supervise(done <-chan struct{}, exceeded func(limit string)) {
	tick := time.NewTicker(supervisePeriod)
	defer tick.Stop()
	// The machine is looked at from the first tick on: most commands have ended
	// by then, and a look costs more than starting one.
	var before *host
	r := w.Resources
	limit, lastHidden := r.MemoryMiB<<20, int64(0)
	measured := r.MemoryMiB > 0 && w.Memory == nil
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		var u Usage
		hidden := int64(0)
		if measured {
			u = Measure()
			now := lookAtHost(w.Own)
			if before == nil {
				before = &now
			}
			hidden = u.unmapped(*before, now)
		} else {
			u.Processes = len(processes())
		}
		switch {
		case r.Processes > 0 && u.Processes > r.Processes:
			exceeded(Processes)
			return
		case w.Disk():
			exceeded(Disk)
			return
		// What the machine's numbers say must hold for two looks: they lag.
		case measured && u.Memory+min(hidden, lastHidden) > limit:
			exceeded(Memory)
			return
		case w.Memory.Reached():
			exceeded(Memory)
			return
		}
		lastHidden = hidden
	}
}

// Usage is what the processes of a Task use.
type Usage struct {
	Processes int
	// Memory is resident in them, page tables included, or held by their System
	// V objects, in bytes. Shared pages count once per process: supervision errs
	// on the strict side.
	Memory int64
	shared int64 // the part of Memory that is mapped shared memory
}

// Measure counts the processes of this PID namespace but the first.
func Measure() Usage {
	var u Usage
	for _, name := range processes() {
		status, err := os.ReadFile("/proc/" + name + "/status")
		if err != nil {
			continue // ended meanwhile
		}
		u.Processes++
		f := kibibytes(status)
		u.Memory += f["VmRSS"] + f["VmPTE"]
		u.shared += f["RssShmem"]
	}
	segments, messages := systemV()
	u.Memory += segments + messages
	return u
}

// processes lists the ids of this PID namespace's processes but the first.
func processes() []string {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return name[0] < '0' || name[0] > '9' || name == "1"
	})
}

// host is what nobody's own numbers show: memory that no process has mapped,
// such as an unmapped memfd or what waits in sockets and pipes, appears in the
// numbers of the whole machine only.
type host struct {
	shared int64 // less what own file systems and System V segments hold
	kernel int64 // neither anonymous, nor cache, nor page tables
}

func lookAtHost(own []string) host {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return host{}
	}
	f := kibibytes(text)
	h := host{
		shared: f["Shmem"],
		kernel: f["MemTotal"] - f["MemFree"] - f["Buffers"] - f["Cached"] - f["SwapCached"] - f["SReclaimable"] - f["AnonPages"] - f["PageTables"],
	}
	h.kernel -= waiting()
	segments, _ := systemV()
	h.shared -= segments
	for _, p := range own {
		var st unix.Statfs_t
		if unix.Statfs(p, &st) == nil {
			h.shared -= int64(st.Blocks-st.Bfree) * st.Bsize
		}
	}
	return h
}

// unmapped is by how much the machine uses more than before and u does not
// explain. Other programs count as well: a command is rather stopped for their
// sake than let go on, beyond some slack.
func (u Usage) unmapped(before, now host) int64 {
	return max(0, max(0, now.shared-before.shared-u.shared)+max(0, now.kernel-before.kernel)-slack)
}

// waiting returns the bytes of free pages that wait in lists of the single
// processors, hundreds of MiB after much was freed: MemFree is without them.
func waiting() int64 {
	text, err := os.ReadFile("/proc/zoneinfo")
	if err != nil {
		return 0
	}
	pages := int64(0)
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("count:")); ok {
			n, _ := strconv.ParseInt(string(bytes.TrimSpace(rest)), 10, 64) // the kernel writes numbers
			pages += n
		}
	}
	return pages * int64(os.Getpagesize())
}

// kibibytes reads the lines "Name: 123 kB" of a file of /proc, in bytes.
func kibibytes(text []byte) map[string]int64 {
	out := make(map[string]int64)
	for line := range bytes.Lines(text) {
		name, rest, _ := bytes.Cut(line, []byte(":"))
		number, isSize := bytes.CutSuffix(bytes.TrimSpace(rest), []byte(" kB"))
		if !isSize {
			continue
		}
		if n, err := strconv.ParseInt(string(number), 10, 64); err == nil {
			out[string(name)] = n << 10
		}
	}
	return out
}

// systemV returns the bytes that the System V segments and message queues of
// this IPC namespace hold; they outlive the processes that made them.
func systemV() (segments, messages int64) {
	return column("/proc/sysvipc/shm", "rss"), column("/proc/sysvipc/msg", "cbytes")
}

// column adds up a column of a table of /proc.
func column(file, name string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0 // a kernel without them
	}
	at, sum := -1, int64(0)
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if at < 0 {
			at = slices.IndexFunc(fields, func(f []byte) bool { return string(f) == name })
			if at < 0 {
				return 0
			}
			continue
		}
		if at < len(fields) {
			n, _ := strconv.ParseInt(string(fields[at]), 10, 64) // the kernel writes numbers
			sum += n
		}
	}
	return sum
}
