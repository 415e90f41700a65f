package ollamatest

import (
	"embed"
	"fmt"
)

//go:embed scripts/*.txt
var scripts embed.FS

// Named returns one of the scripts that come with the package: good, clumsy or
// hostile. vars are as in Parse; each script names the ones it needs.
func Named(name string, vars ...string) (*Script, error) {
	text, err := scripts.ReadFile("scripts/" + name + ".txt")
	if err != nil {
		return nil, fmt.Errorf("no script %q comes with the package", name)
	}
	return Parse(name+".txt", string(text), vars...)
}
