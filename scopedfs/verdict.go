package scopedfs

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"

	"sunaba/fault"
	"sunaba/scope"
)

// use is what an act needs of a place.
type use struct {
	need    scope.Capability
	content bool // changes the content of a file: its other names count (C-63)
	making  bool // may make what is missing
	passing bool // a directory that only leads to what may be read will do
}

// judge decides on the place a walk arrived at, before anything else is said
// about it (C-80).
func (f *FS) judge(op string, p *place, u use) error {
	refuse := func(code fault.Code, lacking scope.Capability) error {
		return f.refuse(op, code, p.Asked, p.Canonical, p.link, lacking)
	}
	if f.rules.Locate(p.Canonical) != scope.Within {
		return refuse(fault.FSOutsideWorkspace, u.need)
	}
	c := f.rights(p.dir, p.Canonical)
	if !c.Has(scope.R) {
		if u.passing && p.exists() && p.node.mode.IsDir() && f.leadsOn(p.Canonical) {
			return nil
		}
		return refuse(fault.FSOutOfScope, scope.R)
	}
	if u.content && p.exists() && p.node.mode.IsRegular() && p.node.links > 1 && !f.o.AllowHardLinks {
		return refuse(fault.FSHardLink, 0)
	}
	if u.making && p.dangling {
		return refuse(fault.FSDanglingLink, 0)
	}
	switch lacking := u.need &^ c; {
	case lacking == 0:
		return nil
	case lacking.Has(scope.W), lacking.Has(scope.D) && !c.Has(scope.W):
		return refuse(fault.FSReadOnly, scope.W)
	case lacking.Has(scope.D):
		return refuse(fault.FSNoDelete, scope.D)
	default:
		return refuse(fault.FSNoExecute, scope.X)
	}
}

// refuse makes the error of a decision, with the rule it rests on.
func (f *FS) refuse(op string, code fault.Code, asked, canonical, link string, lacking scope.Capability) error {
	args := fault.Args{"path": asked, "resolved": canonical}
	if link != "" {
		args["link"] = link
	}
	args["rule"], args["source"] = "", ""
	if lacking != 0 {
		why := f.rules.Why(canonical, lacking)
		args["rule"], args["source"] = why["rule"], why["source"]
		if variant := why["case"]; variant != "" { // the rules know a fitter sentence
			args["case"] = variant
		}
	}
	return &fault.Error{Code: code, Op: op, Args: args}
}

// order is the order of verdicts; a code that is not in it comes last.
var order = []fault.Code{
	fault.FSBadPath, fault.FSOutsideWorkspace, fault.FSOutOfScope, fault.FSHardLink, fault.FSDanglingLink,
	fault.FSReadOnly, fault.FSNoDelete, fault.FSNoExecute, fault.FSDeniedBeneath, fault.FSNotFound, fault.FSExists,
}

// earlier returns the error whose verdict comes first.
func earlier(a, b error) error {
	rank := func(err error) int {
		at := slices.Index(order, fault.CodeOf(err))
		if at < 0 {
			at = len(order)
		}
		return at
	}
	switch {
	case a == nil:
		return b
	case b == nil || rank(a) <= rank(b):
		return a
	}
	return b
}

// absent is the error for a place that cannot be had: nothing is there, or
// the walk could not go on. It names an entry that only looks the same.
func (f *FS) absent(op string, p *place) error {
	if p.broken != nil {
		return p.failed(op, p.broken)
	}
	err := p.failed(op, fs.ErrNotExist)
	if e, ok := errors.AsType[*fault.Error](err); ok && len(p.missing) == 1 {
		if similar := f.similar(p); similar != "" {
			e.Args["similar"] = similar
		}
	}
	return err
}

// codes tells the stable code of each system error; the rest is fs.failed.
var codes = []struct {
	err  error
	code fault.Code
}{
	{fs.ErrNotExist, fault.FSNotFound},
	{syscall.ENOTDIR, fault.FSNotDirectory},
	{syscall.EISDIR, fault.FSIsDirectory},
	{syscall.ENOTEMPTY, fault.FSNotEmpty}, // before EEXIST: the former is also fs.ErrExist
	{fs.ErrExist, fault.FSExists},
	{fs.ErrPermission, fault.FSPermission},
	{syscall.EROFS, fault.FSPermission},
	{syscall.EXDEV, fault.FSCrossVolume},
	{syscall.ENAMETOOLONG, fault.FSBadPath},
}

// failed turns what the system said about a place into a coded error.
func (p *place) failed(op string, err error) error {
	if _, ok := errors.AsType[*fault.Error](err); ok || errors.Is(err, errMoved) {
		return err
	}
	code := fault.FSFailed
	for _, c := range codes {
		if errors.Is(err, c.err) {
			code = c.code
			break
		}
	}
	e := fault.Wrap(err, code, op, "path", p.Asked, "resolved", p.Canonical)
	if p.link != "" {
		e.Args["link"] = p.link
	}
	return e
}

// fail is failed with a code that the system has no word for.
func (p *place) fail(op string, code fault.Code, pairs ...string) error {
	return fault.New(code, op, append([]string{"path", p.Asked, "resolved", p.Canonical}, pairs...)...)
}

// isExchanged reports whether err can only mean that an object that was seen a
// moment ago is another one now.
func isExchanged(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO)
}
