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
// then and matters outside: files that host tools execute or obey, and links
// that lead out (C-85). It runs in the Worker, whose view is the policy's.
//
// The clock of files may be behind by some milliseconds: less than a sandbox
// takes to be made, before which no command runs. What is protected, or stands
// for it, no command can have changed.
func look(ctx context.Context, p *policy.Effective, placeholders []string, since time.Time) survey {
	var s survey
	ctx, cancel := context.WithTimeout(ctx, surveyTime)
	defer cancel()
	entries := 0
	for _, root := range p.Roots {
		if (root.Kind != policy.RootWorkspace && root.Kind != policy.RootMount) || !root.Capability.Has(scope.W) {
			continue
		}
		_ = filepath.WalkDir(root.Path, func(path string, d fs.DirEntry, err error) error {
			if entries++; ctx.Err() != nil || entries > surveyEntries || len(s.Left) >= surveyKept {
				s.Cut = true
				return fs.SkipAll
			}
			if err != nil || path == root.Path { // what cannot be seen was not made here
				return nil
			}
			if slices.Contains(placeholders, path) || slices.ContainsFunc(p.Protected, func(x policy.Protected) bool { return x.Path == path }) {
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
			info, err := d.Info()
			if err != nil || changedAt(info).Before(since) {
				return nil
			}
			if left, ok := leftover(p, root.Path, path, info); ok {
				s.Left = append(s.Left, left)
			}
			return nil
		})
	}
	return s
}

func leftover(p *policy.Effective, root, path string, info fs.FileInfo) (agent.Leftover, bool) {
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		if err == nil && leadsOut(p, path, target) {
			return agent.Leftover{Path: path, Target: target}, true
		}
	}
	rel, err := filepath.Rel(root, path)
	if err != nil || info.IsDir() || !policy.IsHostTool(filepath.ToSlash(rel), info.Mode()) {
		return agent.Leftover{}, false
	}
	return agent.Leftover{Path: path}, true
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
