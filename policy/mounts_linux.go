package policy

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// mountTable is what the kernel says is mounted where, in order of placement.
type mountTable []mountPoint

// mountPoint shows the directory tree of a device at a path.
type mountPoint struct {
	device string // major:minor
	tree   string // path within the file system
	at     string
}

// mounts reads the table of this process; an unreadable one is empty.
func mounts() mountTable {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	return parseMounts(string(text))
}

func parseMounts(text string) mountTable {
	var out mountTable
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) > 4 {
			out = append(out, mountPoint{device: fields[2], tree: unescape(fields[3]), at: unescape(fields[4])})
		}
	}
	return out
}

// unescape undoes the octal escapes of the table.
func unescape(s string) string {
	for i := 0; i+3 < len(s); i++ {
		if s[i] != '\\' {
			continue
		}
		if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
			s = s[:i] + string([]byte{byte(c)}) + s[i+4:]
		}
	}
	return s
}

// shown returns every tree of a file system that is seen at or beneath p; at is
// where.
func (t mountTable) shown(p string) []mountPoint {
	var own mountPoint
	var out []mountPoint
	for _, m := range t {
		switch {
		case beneath(p, m.at) && len(m.at) >= len(own.at): // of equals the last one is on top
			own = m
		case beneath(m.at, p):
			out = append(out, m)
		}
	}
	if own.at != "" {
		own.tree = path.Join(own.tree, strings.TrimPrefix(p, own.at))
		own.at = p
		out = append(out, own)
	}
	return out
}

// alias returns a path at or beneath where that shows something of dir by
// another mount, and as what it is known in dir; "" when there is none that is
// wanted. A mount can be hidden by a later one, so that the two are not the same.
func (t mountTable) alias(dir, where string, wanted func(known, at string) bool) (at, known string) {
	for _, a := range t.shown(dir) {
		for _, b := range t.shown(where) {
			known, at := a.at, b.at
			switch {
			case a.device != b.device:
				continue
			case beneath(b.tree, a.tree):
				known = path.Join(a.at, strings.TrimPrefix(b.tree, a.tree))
			case beneath(a.tree, b.tree):
				at = path.Join(b.at, strings.TrimPrefix(a.tree, b.tree))
			default:
				continue
			}
			if known != at && wanted(known, at) {
				return at, known
			}
		}
	}
	return "", ""
}

// together reports whether a file at or beneath a may have a name at or beneath
// b: no file has names on two file systems. It is yes where the table tells too
// little.
func (t mountTable) together(a, b string) bool {
	as, bs := t.devices(a), t.devices(b)
	return as == nil || bs == nil || slices.ContainsFunc(as, func(d string) bool { return slices.Contains(bs, d) })
}

// devices returns those on which a file at or beneath p may lie, nil when that
// is not known.
func (t mountTable) devices(p string) (list []string) {
	var deeper []string
	length := 0
	for _, m := range t {
		switch {
		case beneath(p, m.at): // a later one of those may cover a deeper one
			if len(m.at) >= length {
				list, length = nil, len(m.at)
			}
			list = append(list, m.device)
		case beneath(m.at, p):
			deeper = append(deeper, m.device)
		}
	}
	if list == nil {
		return nil
	}
	return append(list, deeper...)
}
