package limits

import (
	"errors"
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

// What commands leave free of a file system that is not theirs alone: diskFloor
// bytes and inodeFloor files, or half of what was free when the Task began
// where that is less.
const (
	diskFloor  = 1 << 30
	inodeFloor = 10_000
)

// room is what is free for this user: bytes and inodes.
type room struct{ bytes, files int64 }

// Disks watches the file systems on which a Task's commands can take room. It
// is no quota: what others write in the same moment counts as well, and what
// was written stays. The zero value watches nothing.
type Disks struct {
	paths  []string
	floors []room
}

// WatchDisks looks at the file systems of paths as the Task finds them. A path
// that does not exist is left out; one that cannot be looked at is an error.
func WatchDisks(paths []string) (Disks, error) {
	var d Disks
	for _, p := range paths {
		free, err := lookAtDisk(p)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return Disks{}, fmt.Errorf("limit disk: %w", err)
		}
		d.paths = append(d.paths, p)
		d.floors = append(d.floors, room{min(diskFloor, free.bytes/2), min(inodeFloor, free.files/2)})
	}
	return d, nil
}

// Begin looks at the disks before a command starts. The function it returns
// reports that room was taken since, beneath the floor.
func (d Disks) Begin() (passed func() bool) {
	before := d.look()
	return func() bool { return d.passed(before, d.look()) }
}

// look returns what is free now; what cannot be told is unbounded.
func (d Disks) look() []room {
	out := make([]room, len(d.paths))
	for i, p := range d.paths {
		free, err := lookAtDisk(p)
		if err != nil { // moved away by the host: the next write there fails as well
			free = room{math.MaxInt64, math.MaxInt64}
		}
		out[i] = free
	}
	return out
}

// passed reports that a command took room beneath the floor. One that takes
// none may go on there: it may be about to make room.
func (d Disks) passed(before, now []room) bool {
	for i, floor := range d.floors {
		if now[i].bytes < floor.bytes && now[i].bytes < before[i].bytes ||
			now[i].files < floor.files && now[i].files < before[i].files {
			return true
		}
	}
	return false
}

func lookAtDisk(path string) (room, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return room{}, fmt.Errorf("%s: %w", path, err)
	}
	free := room{int64(st.Bavail) * st.Bsize, int64(st.Ffree)}
	if st.Files == 0 { // inodes as needed
		free.files = math.MaxInt64
	}
	return free, nil
}
