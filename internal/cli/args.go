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
// written with a directory: ./serve. The path is returned beside what is wrong
// as well, which is told in the language of that configuration (I18N-06).
func parse(args []string) (c command, wrong *fault.Error) {
	var words []string
	former, options := "", true
	for _, a := range args {
		var e *fault.Error
		switch {
		case options && a == "--":
			options = false
		case options && strings.HasPrefix(a, "-"):
			e = c.option(a)
		case a == "":
			e = fault.New(fault.UsageArguments, "cli", "argument", `""`)
		case options && former == "" && len(words) == 0 && slices.Contains(removedWords, a):
			former = a
		default:
			words = append(words, a)
		}
		if wrong == nil {
			wrong = e
		}
	}
	asked := c.verb
	if len(words) > 0 {
		switch words[0] {
		case "apply":
			c.verb, words = verbApply, words[1:]
		case "show":
			c.verb, words = verbShow, words[1:]
		}
	}
	if len(words) > 0 {
		c.path = words[0]
	}
	switch {
	case asked != verbServe: // help and version need no more
		c.verb = asked
	case wrong != nil:
	case former != "":
		wrong = removed(former, former)
	case len(words) > 1:
		extra := words[1]
		if c.verb == verbServe && !strings.ContainsAny(words[0], `./\`) {
			extra, c.path = words[0], words[1] // a misspelt command rather than a path
		}
		wrong = fault.New(fault.UsageArguments, "cli", "argument", extra)
	case c.yes && c.verb != verbApply:
		wrong = fault.New(fault.UsageArguments, "cli", "argument", "--yes")
	}
	return c, wrong
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
