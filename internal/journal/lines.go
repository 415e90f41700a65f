package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// The steps of a resource in the journal file.
const (
	stepIntent  = "intent"
	stepMade    = "made"
	stepRetired = "retired"
)

// line is one line of journal.jsonl.
type line struct {
	Step string `json:"step"`
	Entry
}

// maxJournal bounds the file a recovery reads, in bytes.
const maxJournal = 16 << 20

// pending reads a journal and returns the entries that were not retired, in
// the order they were added. A torn last line is what a crash leaves and counts
// as not written: its resource does not exist yet. Anything else that cannot
// be read is an error. A missing file has no entries.
func pending(path string) ([]Entry, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxJournal+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxJournal {
		return nil, errors.New("journal too large")
	}
	return replay(data)
}

func replay(data []byte) ([]Entry, error) {
	var open []Entry
	for n := 1; ; n++ {
		text, rest, whole := bytes.Cut(data, []byte("\n"))
		if !whole {
			return open, nil
		}
		data = rest
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		at := slices.IndexFunc(open, func(e Entry) bool { return e.ID == l.ID })
		switch {
		case l.Step == stepIntent && at < 0:
			open = append(open, l.Entry)
		case l.Step == stepMade && at >= 0:
			open[at].Device, open[at].Inode = l.Device, l.Inode
		case l.Step == stepRetired && at >= 0:
			open = slices.Delete(open, at, at+1)
		default:
			return nil, fmt.Errorf("line %d: %q of entry %d is out of order", n, l.Step, l.ID)
		}
	}
}
