package config

import "regexp"

var reasonPattern = regexp.MustCompile(`(?:fault\.Config\w+, |unavailable\(|reason, pairs := |reason :?= |return nil, |return "", )"([a-z0-9_]+)"`)

// wordsAfterCode returns the reasons that a source file names.
func wordsAfterCode(source string) []string {
	var out []string
	for _, m := range reasonPattern.FindAllStringSubmatch(source, -1) {
		out = append(out, m[1])
	}
	for _, m := range regexp.MustCompile(`"(v1_[a-z]+)"`).FindAllStringSubmatch(source, -1) {
		out = append(out, m[1])
	}
	return out
}
