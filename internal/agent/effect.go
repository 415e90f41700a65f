package agent

import "sunaba/tool"

// observed is what was seen to happen since a task began (C-81).
type observed struct{ read, write, execute bool }

// add takes in the result of one call.
func (o *observed) add(name string, r tool.Result) (changed bool) {
	if r.OK && reads(name) {
		o.read = true
	}
	for _, e := range r.Effects {
		switch e.Kind {
		case tool.EffectRead:
			o.read = o.read || r.OK
		case tool.EffectWrite, tool.EffectDelete:
			// Also of a call that failed half-way: what changed has changed.
			changed = changed || e.Changed
		case tool.EffectExecute:
			if r.OK { // it ended by itself
				o.execute = true
				o.write = o.write || e.ExitCode == 0
			}
		}
	}
	o.write = o.write || changed
	return changed
}

// covers reports whether what was seen is enough for a task of that effect. A
// stronger effect covers a weaker one; an unknown one is never covered.
func (o observed) covers(effect string) bool {
	switch effect {
	case "none":
		return true
	case "read":
		return o.read || o.write || o.execute
	case "write":
		return o.write
	case "execute":
		return o.execute
	}
	return false
}

// missing tells the model what would have to be seen.
func missing(effect string) string {
	switch effect {
	case "read":
		return "no file was read, listed or searched and no command was run"
	case "write":
		return "no file was changed and no command ended with exit code 0"
	case "execute":
		return "no command was run to its end"
	}
	return "the expected effect was not observed"
}
