package broker

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sunaba/fault"
	"sunaba/internal/agent"
	"sunaba/internal/audit"
	"sunaba/policy"
	"sunaba/scope"
)

// callSurvey is the Worker's method that looks for what commands left.
const callSurvey = "survey"

// Bounds of one survey.
const (
	surveyTime    = 5 * time.Second
	surveyEntries = 300_000
	surveyKept    = 200
)

// surveyOrder and survey are what callSurvey carries.
type surveyOrder struct {
	Since time.Time `json:"since"`
}

type survey struct {
	Left []agent.Leftover `json:"left"`
	Cut  bool             `json:"cut"` // a bound was reached
}

// look walks workspace and writable mounts and finds what was changed since
// then and matters outside: files that host tools execute or obey, programs that
// act as their owner, and links that lead out (C-85). It runs in the Worker, whose
// view is the policy's.
//
// The clock of files may be behind by some milliseconds: less than a sandbox
// takes to be made, before which no command runs. What is protected, or stands
// for it, no command can have changed.
func look(ctx context.Context, p *policy.Effective, placeholders []string, since time.Time) survey {
	ctx, cancel := context.WithTimeout(ctx, surveyTime)
	defer cancel()
	l := looker{policy: p, placeholders: placeholders, since: since, ctx: ctx}
	for _, root := range p.Roots {
		if (root.Kind != policy.RootWorkspace && root.Kind != policy.RootMount) || !root.Capability.Has(scope.W) {
			continue
		}
		l.root, l.moved, l.hooks = root.Path, "", ""
		_ = filepath.WalkDir(root.Path, l.visit)
	}
	return l.found
}

// looker is one look.
type looker struct {
	ctx          context.Context
	policy       *policy.Effective
	placeholders []string
	since        time.Time
	root         string
	entries      int
	found        survey
	// Beneath moved everything counts as changed: the directory was put there.
	// Beneath hooks hooks do.
	moved, hooks string
}

func (l *looker) visit(path string, d fs.DirEntry, err error) error {
	if l.entries++; l.ctx.Err() != nil || l.entries > surveyEntries || len(l.found.Left) >= surveyKept {
		l.found.Cut = true
		return fs.SkipAll
	}
	if d == nil || path == l.root {
		return nil
	}
	if l.covered(path) {
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	info, ierr := d.Info()
	if ierr != nil {
		return nil // gone meanwhile
	}
	fresh := !changedAt(info).Before(l.since)
	if err != nil { // a directory that cannot be read: could it be before?
		l.found.Cut = l.found.Cut || fresh
		return nil
	}
	rel, rerr := filepath.Rel(l.root, path)
	if rerr != nil {
		return nil
	}
	rel = filepath.ToSlash(rel)
	if d.IsDir() {
		l.enter(rel, path, info, fresh)
		return nil
	}
	within := func(dir string) bool { return dir != "" && strings.HasPrefix(path, dir+string(filepath.Separator)) }
	isHook := filepath.Base(filepath.Dir(path)) == "hooks"
	if !fresh && !within(l.moved) && !(isHook && within(l.hooks)) {
		return nil
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		if target, err := os.Readlink(path); err == nil && leadsOut(l.policy, path, target) {
			l.found.Left = append(l.found.Left, agent.Leftover{Path: path, Target: target})
			return nil
		}
	}
	actsAsOwner := info.Mode().IsRegular() && info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0
	if actsAsOwner || policy.IsHostTool(rel, info.Mode(), l.isGit) {
		l.found.Left = append(l.found.Left, agent.Leftover{Path: path})
	}
	return nil
}

// enter notes whether a directory was put in its place since: its own change is
// then younger than that of its entries. One whose entries changed as well cannot
// be told from one in which something was merely made; of git's the hooks are
// named all the same.
func (l *looker) enter(rel, path string, info fs.FileInfo, fresh bool) {
	if !fresh || !policy.IsToolFolder(rel, l.isGit) {
		return
	}
	inside := func(dir string) bool { return dir != "" && strings.HasPrefix(path, dir+string(filepath.Separator)) }
	if changedAt(info).After(info.ModTime()) && !inside(l.moved) {
		l.moved = path
	}
	if !inside(l.hooks) {
		l.hooks = path
	}
}

// covered reports whether no command can have changed path: it is protected,
// denied, or stands for such a name.
func (l *looker) covered(path string) bool {
	denied := l.policy.Scope != nil && slices.ContainsFunc(l.policy.Scope.Deny, func(r scope.Rule) bool { return r.Target == path && r.Recursive })
	return denied || slices.Contains(l.placeholders, path) ||
		slices.ContainsFunc(l.policy.Protected, func(x policy.Protected) bool { return x.Path == path })
}

// isGit reports whether dir, beneath the root, has the parts by which git knows
// a directory of its own.
func (l *looker) isGit(dir string) bool {
	for _, part := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(l.root, filepath.FromSlash(dir), part)); err != nil {
			return false
		}
	}
	return true
}

// leadsOut reports whether a link at path with that target names something
// outside of workspace and mounts; links on the way are not followed.
func leadsOut(p *policy.Effective, path, target string) bool {
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	target = filepath.Clean(target)
	for _, root := range p.Roots {
		inFiles := root.Kind == policy.RootWorkspace || root.Kind == policy.RootMount
		if inFiles && (target == root.Path || strings.HasPrefix(target, root.Path+string(filepath.Separator))) {
			return false
		}
	}
	return true
}

// Survey reports what the Task's commands left that matters outside of the
// sandbox, in the order of the tree, and whether all was looked at. The Worker
// tells it; the audit has it as reported.
func (x *Box) Survey(ctx context.Context) (left []agent.Leftover, whole bool, err error) {
	if err := x.ready(ctx); err != nil {
		return nil, false, err
	}
	params, err := json.Marshal(surveyOrder{x.began})
	if err != nil {
		return nil, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, surveyTime+callGrace)
	defer cancel()
	if x.sandbox == nil {
		return nil, false, fault.New(fault.PlatformWorker, "survey", "cause", "the sandbox is gone")
	}
	reply, err := x.sandbox.Call(ctx, callSurvey, params)
	if err != nil {
		return nil, false, err
	}
	var s survey
	if err := json.Unmarshal(reply, &s); err != nil {
		return nil, false, fault.Wrap(err, fault.PlatformWorker, "survey", "cause", "an unreadable result")
	}
	if len(s.Left) > surveyKept {
		return nil, false, fault.New(fault.PlatformWorker, "survey", "cause", "an impossible result")
	}
	for _, l := range s.Left {
		event := "task.host_tool"
		if l.Target != "" {
			event = "task.link_outside"
		}
		err = errors.Join(err, x.append(audit.Record{Event: event, SessionID: x.session, TaskID: x.task, Path: l.Path, Reported: true}))
	}
	return s.Left, !s.Cut, err
}
