package scopedfs

import (
	"path"
	"strings"

	"sunaba/fault"
)

const (
	maxName = 255      // bytes of one component
	maxPath = 64 << 10 // bytes of a path as asked
)

// place is where a walk arrived: an object, or names that are missing beneath
// an open directory. It holds handles; close gives them back.
type place struct {
	Path
	dir      handle   // the directory that holds name; none for the top itself
	dirPath  string   // its canonical path
	name     string   // the entry of dir
	self     handle   // the object; none when it is missing
	node     node     // of self
	missing  []string // what is to be made beneath dir, name first; nil when it exists
	broken   error    // why there is neither the object nor a way to make it
	link     string   // the last link that was followed; "" when none was
	dangling bool     // what is missing is what a link says
	wantsDir bool     // the spelling demands a directory
}

func (p *place) close() {
	p.dir.close()
	p.self.close()
}

func (p *place) exists() bool { return p.self != none }

// standsStill looks whether the walk arrived where its path says.
func (p *place) standsStill() error {
	switch {
	case p.exists():
		return p.self.stillAt(p.Canonical)
	case p.dir != none:
		return p.dir.stillAt(p.dirPath)
	}
	return nil
}

// stillAt compares path with what the kernel says of the open handle, where it
// can be asked. A difference means that a directory was moved meanwhile; one of
// case only is a volume that folds names.
func (h handle) stillAt(path string) error {
	if real := h.realPath(); real != "" && real != path && !strings.EqualFold(real, path) {
		return errMoved
	}
	return nil
}

// absolute returns asked as an absolute path, otherwise as it was spelled.
func (f *FS) absolute(op, asked string) (string, error) {
	abs := asked
	if !strings.HasPrefix(asked, "/") {
		abs = f.o.Pwd + "/" + asked
	}
	bad := asked == "" || len(asked) > maxPath || strings.ContainsRune(asked, 0) || !strings.HasPrefix(abs, "/") || f.o.Pwd == "" && abs != asked
	for name := range strings.SplitSeq(asked, "/") {
		bad = bad || len(name) > maxName
	}
	if bad {
		return "", fault.New(fault.FSBadPath, op, "path", clip(asked))
	}
	return f.logical(abs), nil
}

// clip keeps an absurd path from filling a message.
func clip(asked string) string {
	if len(asked) <= maxName {
		return asked
	}
	return strings.ToValidUTF8(asked[:maxName], "") + "…"
}

// logical maps the configured spelling of a root. What follows a ".." stays as
// it is: only the walk can tell where that leads.
func (f *FS) logical(abs string) string {
	if f.o.Logical == nil {
		return abs
	}
	head, tail, dots := strings.Cut(abs+"/", "/../")
	head = f.o.Logical(path.Clean("/" + head))
	if dots {
		return head + "/../" + tail
	}
	return head
}
