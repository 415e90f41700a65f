// Package gitignore judges paths by Git's ignore rules.
//
// The one rule to keep in mind: the deepest file that has a matching line
// decides, within it the last matching line; and beneath an ignored directory
// nothing can be brought back. Matching is on bytes, as in Git.
package gitignore

import "strings"

// Set holds the ignore files of one tree. Paths are relative to the tree's
// root, slash separated, without leading or trailing slash; the root is "".
// The zero value ignores nothing. A Set may be read from several goroutines
// once no more files are added.
type Set struct {
	files   map[string][]pattern // by the directory that holds the file
	exclude []pattern            // .git/info/exclude: weaker than every file
}

// Add reads the text of the .gitignore in directory dir. Lines that are not
// valid patterns match nothing, as in Git.
func (s *Set) Add(dir string, text []byte) {
	if patterns := parse(text); len(patterns) > 0 {
		if s.files == nil {
			s.files = map[string][]pattern{}
		}
		s.files[dir] = patterns
	}
}

// Exclude reads the text of .git/info/exclude, which every .gitignore outranks.
func (s *Set) Exclude(text []byte) { s.exclude = parse(text) }

// Match reports whether path itself is ignored, taking for granted that no
// directory above it is: what a walk asks that skips ignored directories.
func (s *Set) Match(path string, isDir bool) bool {
	if len(s.files) == 0 && len(s.exclude) == 0 {
		return false
	}
	for dir := parent(path); ; dir = parent(dir) {
		if patterns, ok := s.files[dir]; ok {
			rel := path
			if dir != "" {
				rel = path[len(dir)+1:]
			}
			if ignored, decided := judge(patterns, rel, isDir); decided {
				return ignored
			}
		}
		if dir == "" {
			break
		}
	}
	ignored, _ := judge(s.exclude, path, isDir)
	return ignored
}

// Ignored reports whether path is ignored, itself or through a directory above it.
func (s *Set) Ignored(path string, isDir bool) bool {
	for i := 0; i < len(path); i++ {
		if path[i] == '/' && s.Match(path[:i], true) {
			return true
		}
	}
	return s.Match(path, isDir)
}

func parent(path string) string {
	return path[:max(0, strings.LastIndexByte(path, '/'))]
}

// judge asks one file's patterns, the last first.
func judge(patterns []pattern, rel string, isDir bool) (ignored, decided bool) {
	for i := len(patterns) - 1; i >= 0; i-- {
		if patterns[i].match(rel, isDir) {
			return !patterns[i].negated, true
		}
	}
	return false, false
}
