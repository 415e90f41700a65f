package scopedfs

import (
	"io/fs"
	"path"
	"time"
)

// node is what the system tells about one file system object.
type node struct {
	device, inode     uint64
	links             uint64
	mode              fs.FileMode
	size              int64
	modified, changed time.Time
	owner, group      int
}

// same reports whether n and other are one object.
func (n node) same(other node) bool { return n.device == other.device && n.inode == other.inode }

// untouched reports whether the content of n cannot have changed since other
// was taken of the same object; a rename alone does not count as a change.
func (n node) untouched(other node) bool {
	return n.same(other) && n.size == other.size && n.modified.Equal(other.modified)
}

func (n node) isLink() bool { return n.mode&fs.ModeSymlink != 0 }

// info is a node with its name, as io/fs has it.
type info struct {
	name string
	node node
}

func infoOf(canonical string, n node) fs.FileInfo { return info{path.Base(canonical), n} }

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.node.size }
func (i info) Mode() fs.FileMode  { return i.node.mode }
func (i info) ModTime() time.Time { return i.node.modified }
func (i info) IsDir() bool        { return i.node.mode.IsDir() }
func (i info) Sys() any           { return nil }
