package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"sunaba/fault"
)

// LocalName is the name of the override file beside the base file (S1-212).
const LocalName = "agent.local.yaml"

const (
	maxFileBytes   = 1 << 20
	maxPromptBytes = 64 << 10
)

// Load reads the base file at path and the agent.local.yaml beside it, merges
// them, and validates the whole. A relative path starts at the working
// directory. Every error it returns is a *Problems that lists all that is
// wrong. (S1-206..214)
func Load(path string) (*Settings, error) {
	base, err := filepath.Abs(path)
	if err != nil {
		at := Position{File: path}
		return nil, &Problems{List: []Problem{problem(at, "", fault.ConfigUnreadable, "unreadable", "path", path)}}
	}
	s := &Settings{Path: base, Dir: filepath.Dir(base)}
	s.Local = filepath.Join(s.Dir, LocalName)

	root, problems, ok := readTree(s.Path, true)
	if s.Local != s.Path {
		local, more, localOK := readTree(s.Local, false)
		root, problems, ok = merge(root, local), append(problems, more...), ok && localOK
	}
	if !ok {
		return nil, &Problems{List: problems}
	}
	d := &decoder{dir: s.Dir, problems: problems, positions: map[string]Position{}}
	d.decode(s, root)
	s.values, s.positions, s.Warnings = d.values, d.positions, d.warnings
	s.inOrder(d.problems)
	s.inOrder(s.Warnings)
	if len(d.problems) > 0 {
		return nil, &Problems{List: d.problems, Language: language(root)}
	}
	return s, nil
}

// inOrder sorts problems as a reader of the files meets them: the base file
// from top to bottom, then the local one.
func (s *Settings) inOrder(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		if a.File != b.File {
			if a.File == s.Path {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// language returns the configured language as far as a file with problems
// tells it, so that they can be explained in it.
func language(root *node) string {
	n := root.get("application").get("language")
	if n == nil || n.kind != scalar || strings.ContainsAny(n.text, `/\. `) {
		return ""
	}
	return n.text
}

// readTree reads and parses one file. An absent optional file is an empty
// one; anything else that cannot be read is a problem.
func readTree(path string, required bool) (root *node, problems []Problem, ok bool) {
	data, reason := readFile(path, maxFileBytes)
	if reason == "absent" && !required {
		return nil, nil, true
	}
	if reason != "" {
		at := Position{File: path}
		return nil, []Problem{problem(at, "", fault.ConfigUnreadable, reason, "path", path)}, false
	}
	p := &parser{file: path}
	root, ok = p.parse(data)
	if root == nil && ok && required {
		root = &node{kind: mapping, at: Position{File: path, Line: 1, Column: 1}}
	}
	return root, p.problems, ok
}

// readFile returns the content of a regular file of at most limit bytes, or
// the reason why not. A dangling link is not an absent file.
func readFile(path string, limit int64) (data []byte, reason string) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, "absent"
	}
	info, err := os.Stat(path) // before opening: a FIFO would block
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "dangling"
	case err != nil:
		return nil, whyUnreadable(err)
	case info.IsDir():
		return nil, "directory"
	case !info.Mode().IsRegular():
		return nil, "not_regular"
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, whyUnreadable(err)
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, whyUnreadable(err)
	case int64(len(data)) > limit:
		return nil, "too_large"
	}
	return data, ""
}

func whyUnreadable(err error) string {
	reason := "unreadable"
	if errors.Is(err, fs.ErrPermission) {
		reason = "forbidden"
	}
	return reason
}

// prompt reads the user system prompt at the path that c names.
func (c cursor) prompt() (path, text string) {
	if !c.given() || c.node.kind == scalar && c.node.text == "" && !c.node.plain {
		c.note("")
		return "", ""
	}
	path = c.filePath()
	if path == "" {
		return "", ""
	}
	data, reason := readFile(path, maxPromptBytes)
	switch {
	case reason != "":
		c.problem(fault.ConfigUnreadable, reason, "path", path)
	case !utf8.Valid(data):
		c.problem(fault.ConfigValue, "prompt_not_text", "path", path)
	}
	return path, string(data)
}

// Fingerprint is the SHA-256, in hexadecimal, of the canonical JSON of the
// merged settings and of the text of the user system prompt (C-71, S1-221).
// Comments, layout and the order of keys do not count.
func (s *Settings) Fingerprint() string {
	values := make(map[string]string, len(s.values))
	for _, v := range s.values {
		values[v.Key] = v.Text
	}
	prompt := sha256.Sum256([]byte(s.Agent.UserPromptText))
	b, err := json.Marshal(struct {
		Settings map[string]string `json:"settings"`
		Prompt   string            `json:"user_system_prompt"`
	}{values, hex.EncodeToString(prompt[:])})
	if err != nil { // a map of strings always marshals
		panic("config: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
