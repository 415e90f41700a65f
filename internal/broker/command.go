package broker

import (
	"encoding/json"
	"path/filepath"

	"sunaba/fault"
	"sunaba/policy"
	"sunaba/tool"
)

// checked returns the arguments of a call as its tool takes them.
func checked(name string, raw json.RawMessage) (json.RawMessage, error) {
	for _, s := range tool.Catalogue() {
		if s.Name == name {
			return tool.Arguments(s, raw)
		}
	}
	return nil, fault.New(fault.ToolUnknown, name, "name", name, "known", "")
}

// judgement is what the broker decided of a command before its execution.
type judgement struct {
	argv0    string // what is started, as far as it is known here
	approved bool   // it is an Approved Entry Executable with the approved bytes
	refusal  error
}

// judge decides before execution what the broker must decide itself (PRC-09):
// which Approved Entry Executable a command starts, and that its bytes are
// still the approved ones. A path or an unknown name is the matter of the
// Worker's guard.
func (b *Broker) judge(args json.RawMessage) judgement {
	var a struct {
		Argv    []string `json:"argv"`
		Command string   `json:"command"`
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return judgement{refusal: fault.Wrap(err, fault.ToolArguments, tool.RunCommand, "tool", tool.RunCommand)}
	}
	e := b.entry(a.Argv, a.Command)
	if e == nil {
		var j judgement
		if len(a.Argv) > 0 {
			j.argv0 = a.Argv[0]
		}
		return j
	}
	f, err := e.Open()
	if err != nil {
		return judgement{argv0: e.Path, refusal: err}
	}
	return judgement{argv0: e.Path, approved: true, refusal: f.Close()}
}

// entry returns the approved executable that argv or command names, nil for
// none.
func (b *Broker) entry(argv []string, command string) *policy.Entry {
	for i := range b.cfg.Policy.Entries {
		e := &b.cfg.Policy.Entries[i]
		if len(argv) == 0 {
			if command != "" && e.Shell {
				return e
			}
			continue
		}
		path := filepath.Clean(argv[0])
		if argv[0] == e.Alias || path == e.Logical || path == e.Path {
			return e
		}
	}
	return nil
}
