package pod

import (
	"maps"
	"slices"
	"strings"

	"sunaba/fault"
	"sunaba/tool"
)

// codesOnly are the words of a Worker without texts: codes and facts, which a
// model reads well enough.
type codesOnly struct{}

func (codesOnly) Fault(code fault.Code, args fault.Args) (message, hint string) {
	facts := make([]string, 0, len(args))
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if args[name] != "" && name != tool.Case {
			facts = append(facts, name+": "+args[name])
		}
	}
	return strings.Join(append([]string{string(code)}, facts...), "; "), ""
}
