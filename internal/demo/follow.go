package demo

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
)

// tail reads the lines that are added to the files of a pattern, file by file
// in the order of their names. A line counts once its end has been written.
type tail struct {
	pattern string
	at      map[string]int64
}

func follow(pattern string) *tail { return &tail{pattern: pattern, at: map[string]int64{}} }

// next returns the lines added since the last call.
func (t *tail) next() ([][]byte, error) {
	files, err := filepath.Glob(t.pattern)
	if err != nil {
		return nil, err
	}
	var lines [][]byte
	for _, path := range files {
		added, err := t.added(path)
		if err != nil {
			return nil, err
		}
		end := bytes.LastIndexByte(added, '\n') + 1
		t.at[path] += int64(end)
		for line := range bytes.Lines(added[:end]) {
			lines = append(lines, bytes.TrimRight(line, "\n"))
		}
	}
	return lines, nil
}

func (t *tail) added(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(t.at[path], io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(f)
}
