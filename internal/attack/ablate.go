package attack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"text/tabwriter"
)

// Mechanism is one thing that a test build can leave out, with the attacks that
// are tried without it.
type Mechanism struct {
	Name    string
	Attacks string // regular expression over names
	// Covered says what stops the same where the mechanism alone stops nothing;
	// "" means that without it something must get out.
	Covered string
	// Master: shown as root only, who has what an ordinary user has not.
	Master bool
}

// Mechanisms are all that can be left out. What cannot, because nothing stands
// without it, is the user, mount, pid and uts namespaces, the new root, and no new
// privileges: the set-up fails.
func Mechanisms() []Mechanism {
	return []Mechanism{
		{Name: "network namespace", Attacks: "^socket/", Covered: "seccomp: there are no sockets to connect, and without the namespace no listeners to connect to"},
		{Name: "ipc namespace", Attacks: "^others/find"},
		{Name: "cgroup namespace", Attacks: "^outside/list /sys", Covered: "no cgroup file system in sight"},
		{Name: "close on exec", Attacks: "^inherited/", Covered: "the broker starts the Worker with what it hands down only, and all it opens closes"},
		{Name: "read-only mounts", Attacks: "^(rights|protected|readonly|kernel|outside)/"},
		{Name: "noexec mounts", Attacks: "^(rights|readonly)/.*execute"},
		{Name: "nodev mounts", Attacks: "^kernel/", Covered: "no capability to make a device"},
		{Name: "nosuid mounts", Attacks: "^(identity|rights)/", Covered: "no new privileges"},
		{Name: "pins", Attacks: "^protected/", Covered: "the watch, which stops whoever moves a name on the way, after it is moved"},
		{Name: "locks", Attacks: "^protected/"},
		{Name: "masks", Attacks: "^(protected|network)/"},
		{Name: "watch", Attacks: "that the host replaced"},
		{Name: "masks of proc", Attacks: "^kernel/"},
		{Name: "frozen proc", Attacks: "^kernel/", Covered: "the whole of /proc is mounted read-only"},
		{Name: "capabilities", Attacks: "^(identity|namespace|call)/"},
		{Name: "bounding set", Attacks: "^identity/"},
		{Name: "not dumpable", Attacks: "^others/", Covered: "Landlock: commands stand in a domain of their own"},
		{Name: "landlock of the Worker", Attacks: "^tool/", Covered: "mounts, and the guard of the file tools"},
		{Name: "landlock of commands", Attacks: "^(rights|others)/"},
		{Name: "landlock write", Attacks: "^(rights|protected|readonly)/", Covered: "read-only mounts"},
		{Name: "landlock delete", Attacks: "^rights/"},
		{Name: "landlock execute", Attacks: "^(rights|readonly)/.*execute", Covered: "noexec mounts"},
		{Name: "landlock read", Attacks: "^(outside|protected)/read", Covered: "mount namespace, masks"},
		{Name: "landlock scope", Attacks: "^others/", Covered: "seccomp: no signal to the Worker"},
		{Name: "seccomp", Attacks: "^(call|namespace|socket|others|identity)/"},
		{Name: "seccomp forbidden", Attacks: "^(call|namespace)/"},
		{Name: "seccomp clone3", Attacks: "^namespace/"},
		{Name: "seccomp new namespaces", Attacks: "^namespace/clone "},
		{Name: "seccomp controls", Attacks: "^call/(TIO|FIO|a control)"},
		{Name: "seccomp set-user-id", Attacks: "^rights/set-user-id"},
		{Name: "seccomp memory as a file", Attacks: "^readonly/execute from"},
		{Name: "seccomp signals", Attacks: "^others/(signal|forge)", Covered: "Landlock: signals are scoped; the Worker ignores what remains"},
		{Name: "seccomp others' limits", Attacks: "^(others|identity)/"},
		{Name: "seccomp others' priorities", Attacks: "^identity/"},
		{Name: "seccomp sockets", Attacks: "^(socket|network)/"},
		{Name: "seccomp socket pairs", Attacks: "^(socket|network)/"},
		{Name: "end of command", Attacks: "^others/outlive"},
		{Name: "supervision", Attacks: "^limit/"},
		{Name: "memory group", Attacks: "^limit/(more memory|memory without|shared memory|page)", Covered: "supervision: without a group memory is measured every 50 ms"},
		{Name: "fence", Attacks: "^limit/more threads"},
		{Name: "rlimit open files", Attacks: "^limit/more descriptors"},
		{Name: "rlimit file size", Attacks: "^limit/one large"},
		{Name: "rlimit core", Attacks: "^limit/", Covered: "a core is written to the workspace or scratch, as any file; the limit keeps the host's handler from being started"},
	}
}

// ablated is the variable by which a test build is told what to leave out.
const ablated = "SUNABA_ABLATE"

// Ablate plays the attacks of each mechanism without it, in a build that can
// leave it out, prints what got out, and returns how many mechanisms are
// neither needed nor covered. program is such a build, called as cmd/attack is.
func Ablate(program string, out io.Writer) (bad int, err error) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "without\tgets out\t")
	for _, m := range Mechanisms() {
		if m.Master && os.Geteuid() != 0 {
			continue
		}
		escapes, err := without(program, m)
		if err != nil {
			return bad, fmt.Errorf("without %s: %w", m.Name, err)
		}
		switch {
		case len(escapes) == 0 && m.Covered == "":
			bad++
			fmt.Fprintf(w, "%s\tNOTHING, and nothing is said to cover it\t\n", m.Name)
		case len(escapes) == 0:
			fmt.Fprintf(w, "%s\tnothing; covered by %s\t\n", m.Name, m.Covered)
		default:
			const shown = 3
			more := ""
			if len(escapes) > shown {
				more = fmt.Sprintf(" and %d more", len(escapes)-shown)
			}
			fmt.Fprintf(w, "%s\t%s%s\t\n", m.Name, strings.Join(escapes[:min(shown, len(escapes))], "; "), more)
		}
	}
	return bad, w.Flush()
}

// without returns the names of the attacks that succeed without m.
func without(program string, m Mechanism) ([]string, error) {
	c := exec.Command(program, "-alone", "-escapes", "-run", m.Attacks)
	c.Env = append(os.Environ(), ablated+"="+m.Name)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		return nil, errors.Join(err, errors.New(errs.String()))
	}
	names := strings.Split(strings.TrimSpace(out.String()), "\n")
	return slices.DeleteFunc(names, func(n string) bool { return n == "" }), nil
}
