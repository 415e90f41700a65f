package broker

import (
	"context"
	"encoding/json"

	"sunaba/policy"
	"sunaba/sandbox"
	"sunaba/scopedfs"
	"sunaba/tool"
)

// callTool is the one method of the Worker: it runs one internal tool.
const callTool = "tool"

// toolCall is what callTool carries.
type toolCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// Settings are what the tools of a Task need to know besides the policy. They
// travel to the Worker as JSON.
type Settings struct {
	Limits             tool.Limits `json:"limits"`
	MayOverwriteUnread bool        `json:"may_overwrite_unread,omitempty"` // agent.must_read_first: false
}

// NewWorker makes the Handler that runs the internal tools inside the Task's
// confinement, over the same policy that the kernel enforces around it.
func NewWorker(in sandbox.Inside) (sandbox.Handler, error) {
	var s Settings // without a Config, as at a preflight: the defaults
	if len(in.Config) > 0 {
		if err := json.Unmarshal(in.Config, &s); err != nil {
			return nil, err
		}
	}
	rules, err := in.Policy.Rules()
	if err != nil {
		return nil, err
	}
	fs, err := scopedfs.Open(rules, scopedfs.Options{
		Pwd: in.Policy.Workspace.Root, Logical: rules.Logical,
		AllowHardLinks: in.Policy.AllowHardLinks, MaxFileBytes: in.Policy.MaxFileBytes, MaxFiles: in.Policy.MaxFiles,
	})
	if err != nil {
		return nil, err
	}
	return worker{policy: &in.Policy, placeholders: in.Placeholders, tools: tool.NewRegistry(tool.Builtin(tool.Env{
		FS: fs, Runner: in.Runner, Policy: &in.Policy, Limits: s.Limits, MayOverwriteUnread: s.MayOverwriteUnread,
		Unlisted: in.Placeholders,
	})...)}, nil
}

type worker struct {
	tools        *tool.Registry
	policy       *policy.Effective
	placeholders []string
}

// Handle runs one tool, whose refusals are results, or a survey.
func (w worker) Handle(ctx context.Context, method string, params []byte) ([]byte, error) {
	if method == callSurvey {
		var o surveyOrder
		if err := json.Unmarshal(params, &o); err != nil {
			return nil, err
		}
		return json.Marshal(look(ctx, w.policy, w.placeholders, o.Since))
	}
	var c toolCall
	if err := json.Unmarshal(params, &c); err != nil {
		return nil, err
	}
	return json.Marshal(w.tools.Call(ctx, c.Name, c.Arguments))
}
