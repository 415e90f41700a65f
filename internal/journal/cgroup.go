package journal

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// cgroupWait bounds the wait for the processes of a killed cgroup to be gone.
const cgroupWait = 2 * time.Second

// undoCgroup ends what still runs in a cgroup and removes it. Its child groups
// were journalled by themselves. A missing one is fine.
func undoCgroup(e Entry) error {
	err := os.Remove(e.Path)
	if err == nil || missing(err) {
		return nil
	}
	// Version 2 can kill the whole group; without the file we can only wait.
	if kill, kerr := os.OpenFile(filepath.Join(e.Path, "cgroup.kill"), os.O_WRONLY, 0); kerr == nil {
		_, _ = kill.WriteString("1")
		_ = kill.Close()
	}
	for end := time.Now().Add(cgroupWait); errors.Is(err, syscall.EBUSY) && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
		if err = os.Remove(e.Path); err == nil || missing(err) {
			return nil
		}
	}
	return err
}

// Cgroups journals control groups by their paths, as package sandbox asks for
// it. It is for one sandbox and not safe for concurrent use.
type Cgroups struct {
	Run *Run
	ids map[string]int
}

// Add records, durably enough, that the group is about to be made.
func (c *Cgroups) Add(path string) error {
	added, err := c.Run.Add(Entry{Kind: KindCgroup, Path: path})
	if err != nil {
		return err
	}
	if c.ids == nil {
		c.ids = make(map[string]int)
	}
	c.ids[path] = added[0].ID
	return nil
}

// Retire records that the group is gone.
func (c *Cgroups) Retire(path string) error {
	id := c.ids[path]
	delete(c.ids, path)
	return c.Run.Retire(id)
}
