package mcpserver

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// readLines hands over the lines of in without their ends, each at most limit
// bytes; a longer one is skipped and handed over as nil. Blank lines are left
// out; the last one needs no line end. It returns nil at the end of in.
func readLines(in io.Reader, limit int64, deliver func([]byte) bool) error {
	r := bufio.NewReaderSize(in, 64<<10)
	var line []byte
	tooLong, first := false, true
	for {
		part, err := r.ReadSlice('\n')
		if int64(len(line)+len(part)) > limit {
			tooLong, line = true, nil
		}
		if !tooLong {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if first {
			line, first = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF")), false
		}
		line = bytes.TrimSpace(line)
		if tooLong {
			line = nil
		}
		if (tooLong || len(line) > 0) && !deliver(line) {
			return nil
		}
		line, tooLong = nil, false
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
