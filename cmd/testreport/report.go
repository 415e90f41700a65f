package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is one line of "go test -json"; Test is "" for what concerns a whole
// package.
type event struct {
	Action, Package, Test, Output string
	ImportPath                    string // of a build
	Elapsed                       float64
}

func (e event) key() string { return e.Package + e.ImportPath + " " + e.Test }

// report reads events until r ends and writes to w what a person wants to see.
// ok is false when anything failed, nothing passed, or a skip is unexpected;
// expected gets "package test".
func report(r io.Reader, w io.Writer, expected func(skipped string) bool) (ok bool, err error) {
	var passed, failed, skipped, broken int
	ok = true
	output := map[string]*strings.Builder{}
	var running []event // seen and without an end, in order
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			break
		}
		if err != nil {
			return false, err
		}
		var e event
		if json.Unmarshal(line, &e) != nil { // not of the stream: for the reader's eyes
			fmt.Fprintf(w, "%s", line)
			continue
		}
		said := output[e.key()]
		if said == nil {
			said = &strings.Builder{}
			output[e.key()] = said
			if e.Test != "" {
				running = append(running, e)
			}
		}
		switch e.Action {
		case "output", "build-output":
			said.WriteString(e.Output)
			continue
		case "pass", "skip", "fail", "build-fail":
			delete(output, e.key())
			running = slices.DeleteFunc(running, func(r event) bool { return r.key() == e.key() })
		}
		switch {
		case e.Action == "build-fail", e.Action == "fail" && e.Test == "":
			broken++
			for _, r := range running { // a panic, or the end of patience
				if r.Package == e.Package && e.Package != "" {
					failed++
					fmt.Fprint(w, output[r.key()])
				}
			}
			fmt.Fprintf(w, "%sFAIL  %s%s\n", said, e.Package, e.ImportPath)
		case e.Action == "fail":
			failed++
			fmt.Fprint(w, said)
		case e.Action == "pass" && e.Test == "":
			fmt.Fprintf(w, "ok    %-32s %6.1f s\n", e.Package, e.Elapsed)
		case e.Action == "pass":
			passed++
		case e.Action == "skip" && e.Test != "":
			skipped++
			word := "skip "
			if !expected(e.Package + " " + e.Test) {
				word, ok = "UNEXPECTED skip ", false
			}
			fmt.Fprintf(w, "%s %s %s: %s\n", word, e.Package, e.Test, reason(said.String()))
		}
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	return ok && failed+broken == 0 && passed > 0, nil
}

// reason is the line that says why a test was skipped.
func reason(output string) string {
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			return line
		}
	}
	return "no reason given"
}

// parseSkips reads a list of expected skips: "who package test", one a line,
// who being "any" or what -as names, with reasons in comments after #.
func parseSkips(text, who string) (expected func(skipped string) bool, err error) {
	set := map[string]bool{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line, _, _ = strings.Cut(" "+line, " #") // a subtest may be named seed#1
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case len(words) != 3:
			return nil, fmt.Errorf("line %d: want: who package test # reason", number)
		case words[0] == "any" || words[0] == who:
			set[words[1]+" "+words[2]] = true
		}
	}
	return func(skipped string) bool { return set[skipped] }, nil
}
