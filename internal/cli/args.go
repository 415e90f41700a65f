package cli

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"sunaba/fault"
)

type verb uint8

const (
	verbServe verb = iota
	verbApply
	verbShow
	verbHelp
	verbVersion
)

// command is one understood command line; path is "" for the default.
type command struct {
	verb verb
	path string
	yes  bool
}

// Former commands and options (S1-092, S1-093); the locale keys
// "usage.removed.<name>" say what replaces each.
var (
	removedWords   = []string{"serve", "check", "executable", "sandbox"}
	removedOptions = []string{"config", "lang", "transport", "path", "runtime-root", "no-runtime", "format"}
)

// parse reads the arguments. A path that is spelled like a former command is
// written with a directory: ./serve.
func parse(args []string) (c command, wrong *fault.Error) {
	var words []string
	options := true
	for _, a := range args {
		switch {
		case options && a == "--":
			options = false
		case options && strings.HasPrefix(a, "-"):
			if wrong := c.option(a); wrong != nil {
				return c, wrong
			}
		case a == "":
			return c, fault.New(fault.UsageArguments, "cli", "argument", `""`)
		default:
			words = append(words, a)
		}
	}
	if c.verb == verbHelp || c.verb == verbVersion {
		return c, nil
	}
	if len(words) > 0 {
		switch {
		case words[0] == "apply":
			c.verb, words = verbApply, words[1:]
		case words[0] == "show":
			c.verb, words = verbShow, words[1:]
		case options && slices.Contains(removedWords, words[0]):
			return c, removed(words[0], words[0])
		}
	}
	switch {
	case len(words) > 1:
		return c, fault.New(fault.UsageArguments, "cli", "argument", words[1])
	case c.yes && c.verb != verbApply:
		return c, fault.New(fault.UsageArguments, "cli", "argument", "--yes")
	case len(words) == 1:
		c.path = words[0]
	}
	return c, nil
}

func (c *command) option(a string) *fault.Error {
	switch a {
	case "--help", "-h":
		c.verb = verbHelp
		return nil
	case "--version":
		if c.verb != verbHelp {
			c.verb = verbVersion
		}
		return nil
	case "--yes":
		c.yes = true
		return nil
	}
	name, _, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
	if slices.Contains(removedOptions, name) {
		return removed("--"+name, name)
	}
	return fault.New(fault.UsageArguments, "cli", "argument", a)
}

func removed(shown, name string) *fault.Error {
	return fault.New(fault.UsageRemoved, "cli", "argument", shown, "name", name)
}

// defaultConfig is agent.yaml beside the executable (S1-080).
func defaultConfig() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(exe), "agent.yaml"), nil
}

// Version returns the version that was built in, "devel" when none was.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
