// Package landlock restricts a thread, or all threads of the process, to
// path-beneath rules.
//
// The one rule to keep in mind: strict, never best effort. A kernel that
// cannot handle a right that matters is reported, not worked around.
package landlock

import (
	"errors"
	"fmt"
	"syscall"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"sunaba/sandbox/internal/ablation"
	"sunaba/scope"
)

// Access is a set of Landlock file-system rights.
type Access uint64

// Groups of rights (design: write ≠ delete ≠ execute; rename needs REMOVE on
// the source directory and REFER across directories).
const (
	read    Access = ll.AccessFSReadFile | ll.AccessFSReadDir
	write   Access = ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSMakeReg | ll.AccessFSMakeDir | ll.AccessFSMakeSym | ll.AccessFSMakeFifo | ll.AccessFSMakeSock
	remove  Access = ll.AccessFSRemoveFile | ll.AccessFSRemoveDir
	execute Access = ll.AccessFSExecute
	refer   Access = ll.AccessFSRefer
	// onFile are the rights that may stand in a rule for a single file.
	onFile Access = ll.AccessFSExecute | ll.AccessFSWriteFile | ll.AccessFSReadFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev

	// Device lets programs read, write and control the devices beneath a path.
	Device Access = ll.AccessFSReadFile | ll.AccessFSReadDir | ll.AccessFSWriteFile | ll.AccessFSIoctlDev
	// List lets directories be listed.
	List Access = ll.AccessFSReadDir
)

// MinABI is the oldest Landlock that can hold this product's promises:
// version 3 is the first that separates truncation (kernel 6.2).
const MinABI = 3

// ForCommands translates c for commands: delete is its own right, so a rename
// needs write and delete (C-77).
func ForCommands(c scope.Capability) Access {
	a := common(c)
	if c.Has(scope.D) {
		a |= remove
	}
	if c.Has(scope.W | scope.D) {
		a |= refer
	}
	return a
}

// ForFileTools translates c for the Worker's own layer: file tools save by
// rename, so write carries the rights to replace; the guard alone separates
// delete for them (C-77).
func ForFileTools(c scope.Capability) Access {
	a := common(c)
	if c.Has(scope.W) {
		a |= remove | refer
	}
	return a
}

func common(c scope.Capability) Access {
	var a Access
	if c.Has(scope.R) {
		a |= read
	}
	if c.Has(scope.W) {
		a |= write
	}
	if c.Has(scope.X) {
		a |= execute
	}
	return a
}

// Rule grants Access beneath the file or directory that FD (O_PATH) names.
type Rule struct {
	FD     int
	Access Access
}

// ABI returns the kernel's Landlock version, or an error when it has none.
func ABI() (int, error) {
	v, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0, fmt.Errorf("landlock: %w", err)
	}
	return v, nil
}

// Ruleset is a built set of rules, ready to be applied; Close releases it.
type Ruleset struct{ fd int }

// Build makes a ruleset that handles every right the kernel of version abi
// knows and grants only rules. With scoped, and where the kernel can, signals
// and abstract sockets are cut off from processes outside the domain.
func Build(abi int, rules []Rule, scoped bool) (*Ruleset, error) {
	if abi < MinABI {
		return nil, fmt.Errorf("landlock: version %d, need %d", abi, MinABI)
	}
	handled := uint64(ll.AccessFSTruncate<<1 - 1)
	for name, access := range map[string]Access{
		"landlock write": write, "landlock delete": remove | refer, "landlock execute": execute, "landlock read": read,
	} {
		if ablation.Off(name) {
			handled &^= uint64(access)
		}
	}
	if abi >= 5 {
		handled |= ll.AccessFSIoctlDev
	}
	attr := ll.RulesetAttr{HandledAccessFS: handled}
	if scoped && abi >= 6 && !ablation.Off("landlock scope") {
		attr.Scoped = ll.ScopeSignal | ll.ScopeAbstractUnixSocket
	}
	fd, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return nil, fmt.Errorf("landlock: create: %w", err)
	}
	for _, r := range rules {
		access := uint64(r.Access) & handled
		var st unix.Stat_t
		if err := unix.Fstat(r.FD, &st); err != nil {
			return nil, errors.Join(fmt.Errorf("landlock: rule: %w", err), unix.Close(fd))
		}
		if st.Mode&unix.S_IFMT != unix.S_IFDIR {
			access &= uint64(onFile)
		}
		if access == 0 {
			continue
		}
		if err := ll.LandlockAddPathBeneathRule(fd, &ll.PathBeneathAttr{ParentFd: r.FD, AllowedAccess: access}, 0); err != nil {
			return nil, errors.Join(fmt.Errorf("landlock: add rule: %w", err), unix.Close(fd))
		}
	}
	return &Ruleset{fd: fd}, nil
}

// RestrictAllThreads applies the ruleset to every thread of the process; the
// process must have no_new_privs on all of them.
func (r *Ruleset) RestrictAllThreads() error {
	if err := ll.AllThreadsLandlockRestrictSelf(r.fd, 0); err != nil {
		return fmt.Errorf("landlock: restrict all threads: %w", err)
	}
	return nil
}

// RestrictThread applies the ruleset to the calling thread alone, which the
// caller must have locked and must never unlock.
func (r *Ruleset) RestrictThread() error {
	if _, _, errno := syscall.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); errno != 0 {
		return fmt.Errorf("landlock: restrict thread: %w", errno)
	}
	return nil
}

// Close releases the ruleset; what was restricted stays so.
func (r *Ruleset) Close() error { return unix.Close(r.fd) }
