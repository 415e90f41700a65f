package tool

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sunaba/scopedfs"
)

// listFiles lists one directory: directories first, then by name.
func (e *Env) listFiles(_ context.Context, a pathArgs) Result {
	path := orHere(a.Path)
	entries, more, p, err := e.FS.ReadDir(path, e.Limits.Entries)
	if err != nil {
		return e.fail(err)
	}
	entries = slices.DeleteFunc(entries, func(entry scopedfs.Entry) bool {
		return e.unlisted(filepath.Join(p.Canonical, entry.Name))
	})
	slices.SortFunc(entries, func(a, b scopedfs.Entry) int {
		if a.Type.IsDir() != b.Type.IsDir() {
			if a.Type.IsDir() {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	var text strings.Builder
	for _, entry := range entries {
		text.WriteString(valid([]byte(oneLine(entry.Name))))
		switch t := entry.Type.Type(); {
		case t.IsDir():
			text.WriteString("/")
		case t&fs.ModeSymlink != 0:
			text.WriteString(" -> " + valid([]byte(oneLine(entry.Target))))
		case t.IsRegular():
			text.WriteString("\t" + strconv.FormatInt(entry.Size, 10))
		default:
			text.WriteString("\t" + typeName(t))
		}
		text.WriteByte('\n')
	}
	r := Result{OK: true, Scope: e.label(p), Text: text.String(),
		Fields:  []Field{{"path", path}, {"entries", len(entries)}},
		Effects: []Effect{{Kind: EffectRead, Path: p.Canonical}}}
	if more {
		r.Fields = append(r.Fields, Field{"truncated", true})
	}
	return r
}

// unlisted reports whether a listing leaves path out.
func (e *Env) unlisted(path string) bool { return slices.Contains(e.Unlisted, path) }

// oneLine keeps a name with a line break in it from posing as two.
func oneLine(name string) string {
	return strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(name)
}

// typeName names a file type in CONTRACT's words.
func typeName(t fs.FileMode) string {
	switch {
	case t.IsDir():
		return "directory"
	case t.IsRegular():
		return "file"
	case t&fs.ModeSymlink != 0:
		return "link"
	case t&fs.ModeNamedPipe != 0:
		return "pipe"
	case t&fs.ModeSocket != 0:
		return "socket"
	case t&fs.ModeDevice != 0:
		return "device"
	}
	return "other"
}
