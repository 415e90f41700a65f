package limits

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"sunaba/policy"
)

// supervisePeriod is how often the process tree is measured.
const supervisePeriod = 50 * time.Millisecond

// The names of limits, as results and the audit report them.
const (
	Processes = "processes"
	Memory    = "memory"
)

// Supervise measures everything in this process's PID namespace (itself left
// out) until done is closed, and calls exceeded once with the name of the
// first limit that was passed.
func Supervise(r policy.Resources, done <-chan struct{}, exceeded func(limit string)) {
	tick := time.NewTicker(supervisePeriod)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		processes, memory := Measure()
		switch {
		case r.Processes > 0 && processes > r.Processes:
			exceeded(Processes)
			return
		case r.MemoryMiB > 0 && memory > r.MemoryMiB<<20:
			exceeded(Memory)
			return
		}
	}
}

// Measure counts the processes of this PID namespace but the first, and the
// bytes of memory resident in them. Shared pages count once per process:
// supervision errs on the strict side.
func Measure() (processes int, memory int64) {
	dir, err := os.Open("/proc")
	if err != nil {
		return 0, 0
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return 0, 0
	}
	page := int64(os.Getpagesize())
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' || name == "1" {
			continue
		}
		statm, err := os.ReadFile("/proc/" + name + "/statm")
		if err != nil {
			continue // ended meanwhile
		}
		processes++
		if f := bytes.Fields(statm); len(f) > 1 {
			pages, _ := strconv.ParseInt(string(f[1]), 10, 64)
			memory += pages * page
		}
	}
	return processes, memory
}
