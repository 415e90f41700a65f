package scopedfs

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"sunaba/scope"
)

// ReadDir lists the entries of a directory that may be read, sorted by name, at
// most max of them (0: all); more reports that there are others. A directory
// that is covered only as the child of a non-recursive rule lists as empty.
func (f *FS) ReadDir(path string, max int) (entries []Entry, more bool, at Path, err error) {
	const op = "list"
	err = f.at(op, path, true, use{need: scope.R}, func(p *place) error {
		at = p.Path
		dir, err := f.openDirectory(op, p)
		if err != nil {
			return err
		}
		defer dir.Close()
		list, cut, err := f.visible(dir, p.Canonical, false)
		if err != nil {
			return p.failed(op, err)
		}
		more = cut
		entries = make([]Entry, 0, min(len(list), 1024))
		for _, n := range list {
			if max > 0 && len(entries) == max {
				more = true
				break
			}
			if e, ok := entryOf(dir, n.text); ok {
				entries = append(entries, e)
			}
		}
		return nil
	})
	return entries, more, at, err
}

// visible returns the names of dir that may be seen, sorted; on a search also
// those that may only be passed through.
func (f *FS) visible(dir *os.File, canonical string, search bool) (list []name, more bool, err error) {
	all, more, err := names(dir)
	if err != nil {
		return nil, false, err
	}
	list = all[:0]
	for _, n := range all {
		child := beneath(canonical, n.text)
		if f.rules.Locate(child) != scope.Within {
			continue
		}
		readable := f.rights(onHandle(dir), child).Has(scope.R)
		n.passing = !readable && search && f.leadsOn(child)
		if readable || n.passing {
			list = append(list, n)
		}
	}
	slices.SortFunc(list, func(a, b name) int { return strings.Compare(a.text, b.text) })
	return list, more, nil
}

// beneath joins a clean directory and one name.
func beneath(dir, name string) string {
	if dir == "/" || dir == "" {
		return dir + name
	}
	return dir + "/" + name
}

// entryOf tells about one name of dir; false when it is gone by now.
func entryOf(dir *os.File, name string) (Entry, bool) {
	self, err := onHandle(dir).child(name)
	if err != nil {
		return Entry{}, false
	}
	defer self.close()
	n, err := self.stat()
	if err != nil {
		return Entry{}, false
	}
	e := Entry{Name: name, Type: n.mode.Type(), Size: n.size, Mode: n.mode, ModTime: n.modified}
	if n.isLink() {
		e.Target, err = self.readlink()
	}
	return e, err == nil
}

// similar returns a readable entry beside p whose name looks like p's but is
// spelled with other code points, or "".
func (f *FS) similar(p *place) string {
	wanted := norm.NFC.String(p.name)
	if isASCII(p.name) || p.dir == none || !f.rules.CapabilityAt(p.dirPath).Has(scope.R) {
		return ""
	}
	dir, err := p.dir.openDir(".", p.dirPath)
	if err != nil {
		return ""
	}
	defer dir.Close()
	list, _, err := f.visible(dir, p.dirPath, false)
	if err != nil {
		return ""
	}
	for _, n := range list {
		if n.text != p.name && norm.NFC.String(n.text) == wanted {
			return n.text
		}
	}
	return ""
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}
