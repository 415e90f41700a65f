//go:build !linux

package scopedfs

import (
	"io/fs"
	"os"

	"sunaba/fault"
)

// handle has no implementation on this system: openTop fails, so that none of
// the methods below is ever called on an open FS.
type handle int

const none handle = -1

const maxNames = 0

type name struct {
	text string
	kind fs.FileMode
	sure bool

	passing bool
}

var errSystem = fault.New(fault.PlatformUnsupported, "open")

func openTop() (handle, error) { return none, errSystem }

func (handle) close()                                        {}
func (handle) child(string) (handle, error)                  { return none, errSystem }
func (handle) descend(string) (handle, error)                { return none, errSystem }
func (handle) readlink() (string, error)                     { return "", errSystem }
func (handle) realPath() string                              { return "" }
func (handle) openRead(string, string) (*os.File, error)     { return nil, errSystem }
func (handle) openWrite(string, string) (*os.File, error)    { return nil, errSystem }
func (handle) openDir(string, string) (*os.File, error)      { return nil, errSystem }
func (handle) create(string, uint32) (*os.File, error)       { return nil, errSystem }
func (handle) mkdir(string) error                            { return errSystem }
func (handle) unlink(string) error                           { return errSystem }
func (handle) rmdir(string) error                            { return errSystem }
func (handle) exchange(string, string) error                 { return errSystem }
func (handle) replace(string, string) error                  { return errSystem }
func (handle) move(string, handle, string) error             { return errSystem }
func (handle) stat() (node, error)                           { return node{}, errSystem }
func (handle) lookup(string) (node, error)                   { return node{}, errSystem }
func onHandle(*os.File) handle                               { return none }
func foldsNames(handle) bool                                 { return true }
func names(*os.File) (list []name, more bool, err error)     { return nil, false, errSystem }
func dress(made *os.File, old *os.File, like node) (ok bool) { return false }
