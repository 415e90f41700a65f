package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"sunaba/fault"
)

// ErrTorn says that the last line has no end: the process died while writing
// it. Everything before it is whole.
var ErrTorn = errors.New("audit: the last line is torn")

// maxLine bounds a line Verify reads; records stay far below it.
const maxLine = 1 << 20

var hashKey = []byte(`,"hash":"`)

// Verify reads one audit file and checks that its lines are an unbroken chain
// that continues prev, the last hash of the file before it ("" for the first
// file of a process). It returns the last hash and the number of good lines.
// A bad line is a fault of code platform.audit_chain with its number; ErrTorn
// comes with the values up to the torn line.
func Verify(r io.Reader, prev string) (last string, n int, err error) {
	last = prev
	if last == "" {
		last = noHash
	}
	var seq uint64
	in := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		switch {
		case err == io.EOF && len(line) == 0:
			return last, n, nil
		case err == io.EOF:
			return last, n, ErrTorn
		case err == bufio.ErrBufferFull:
			return last, n, badLine(n+1, nil)
		case err != nil:
			return last, n, err
		}
		record, hash, err := unseal(line[:len(line)-1])
		if err != nil {
			return last, n, badLine(n+1, err)
		}
		first := n == 0 && (prev != "" || record.Seq == 1)
		if record.Prev != last || !(first || n > 0 && record.Seq == seq+1) {
			return last, n, badLine(n+1, nil)
		}
		last, seq = hash, record.Seq
		n++
	}
}

// unseal takes a line apart and compares its hash with its bytes.
func unseal(line []byte) (r Record, hash string, err error) {
	at := bytes.LastIndex(line, hashKey)
	if at < 0 {
		return r, "", errors.New("no hash")
	}
	hash, ok := strings.CutSuffix(string(line[at+len(hashKey):]), `"}`)
	body := append(bytes.Clone(line[:at]), '}')
	if !ok || digest(body) != hash {
		return r, "", errors.New("the hash does not fit the line")
	}
	err = json.Unmarshal(body, &r)
	return r, hash, err
}

func badLine(n int, err error) error {
	return fault.Wrap(err, fault.PlatformAuditChain, "verify", "line", strconv.Itoa(n))
}
