package attack

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Report prints a table of results and what they come to; it returns how many
// attacks were not stopped.
func Report(out io.Writer, results []Result) (bad int) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "attack\tstopped by\tresult\t")
	count := map[Status]int{}
	for _, r := range results {
		count[r.Status]++
		line := string(r.Status)
		switch r.Status {
		case Unproved:
			line += ": without the sandbox " + oneLine(r.Reason)
		case Escaped, Broken:
			bad++
			line += ": " + oneLine(r.Inside+r.Reason)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t\n", r.Attack.Name, r.Attack.Layer, line)
	}
	_ = w.Flush() // to a terminal or a buffer
	fmt.Fprintf(out, "\n%d attacks: %d stopped, %d escaped, %d unproved on this machine\n",
		len(results), count[Stopped], count[Escaped]+count[Broken], count[Unproved])
	return bad
}

func oneLine(s string) string {
	const most = 100
	s = strings.Join(strings.Fields(s), " ")
	return s[:min(len(s), most)]
}

// Escapes are the names of the attacks that succeeded.
func Escapes(results []Result) []string {
	var out []string
	for _, r := range results {
		if r.Status == Escaped || r.Status == Broken {
			out = append(out, r.Attack.Name)
		}
	}
	slices.Sort(out)
	return out
}
