// Command testreport reads what "go test -json" writes, shows what failed and
// what was skipped, and ends with the counts. It exits with 1 when a test
// failed, when nothing ran, or, given a list of skips, when a test was skipped
// that is not on it.
//
//	go test -json ./... | testreport [-skips FILE -as WHO]
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	path := flag.String("skips", "", "the `file` of the skips that are expected; without it every skip is")
	who := flag.String("as", "", "as `whom` the tests ran: the first column of that file")
	flag.Parse()
	ok, err := run(*path, *who)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
	}
	if !ok || err != nil {
		os.Exit(1)
	}
}

func run(path, who string) (bool, error) {
	expected := func(string) bool { return true }
	if path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return false, err
		}
		if expected, err = parseSkips(string(text), who); err != nil {
			return false, fmt.Errorf("%s: %w", path, err)
		}
	}
	return report(os.Stdin, os.Stdout, expected)
}
