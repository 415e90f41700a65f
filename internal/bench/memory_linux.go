package bench

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"
)

// peakMemory runs one job and samples what its process tree holds, sharing pages
// fairly where the kernel tells how.
func (*stage) peakMemory(c *client) (peak memory, err error) {
	done := make(chan struct{})
	result := make(chan error, 1)
	go func() {
		_, err := c.job()
		close(done)
		result <- err
	}()
	peak.how = "shared pages divided"
	for {
		var sum int64
		for _, pid := range family(c.cmd.Process.Pid) {
			if line, err := os.ReadFile("/proc/" + pid + "/cmdline"); err == nil && string(line) == "sunaba-worker\x00" {
				if n, ok := field("/proc/"+pid+"/status", "VmRSS:"); ok {
					peak.worker = max(peak.worker, n)
				}
			}
			n, ok := field("/proc/"+pid+"/smaps_rollup", "Pss:")
			if !ok {
				if n, ok = field("/proc/"+pid+"/status", "VmRSS:"); ok {
					peak.how = "shared pages counted in each process"
				}
			}
			sum += n
		}
		peak.all = max(peak.all, sum)
		select {
		case <-done:
			return peak, <-result
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// family is a process and all its descendants.
func family(pid int) []string {
	all := []string{strconv.Itoa(pid)}
	for i := 0; i < len(all); i++ {
		tasks, err := os.ReadDir("/proc/" + all[i] + "/task")
		if err != nil {
			continue // ended meanwhile
		}
		for _, t := range tasks {
			children, err := os.ReadFile("/proc/" + all[i] + "/task/" + t.Name() + "/children")
			if err == nil {
				all = append(all, strings.Fields(string(children))...)
			}
		}
	}
	return all
}

// field reads a line such as "Pss:  12 kB" of a file in /proc, in bytes.
func field(path, name string) (int64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 3 && words[0] == name {
			n, err := strconv.ParseInt(words[1], 10, 64)
			return n << 10, err == nil
		}
	}
	return 0, false
}
