package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"sunaba/policy"
	"sunaba/sandbox"
	"sunaba/scope"
)

// The measuring program's other parts, as its first argument.
const (
	source   = "source"   // a server that sends as many bytes as a line asks for
	download = "download" // its client
)

// Part plays the part that args name, for the measurements that need a second
// program; false where they name none.
func Part(args []string) (played bool, err error) {
	if len(args) == 0 {
		return false, nil
	}
	switch args[0] {
	case Nothing: // the floor of a start
	case source:
		err = serveBytes(os.Stdout)
	case download:
		err = fetchBytes(os.Stdout, args[1:])
	default:
		return false, nil
	}
	return true, err
}

const block = 1 << 20

func serveBytes(out io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, l.Addr())
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			data := make([]byte, block)
			lines := bufio.NewScanner(c)
			for lines.Scan() {
				n, err := strconv.Atoi(lines.Text())
				for ; err == nil && n > 0; n -= block {
					_, err = c.Write(data[:min(n, block)])
				}
				if err != nil {
					return
				}
			}
		}()
	}
}

// fetchBytes asks args[0] for args[1] bytes, args[2] times, and prints how long
// one takes in the median, in nanoseconds; each by a connection of its own when
// args[3] is "anew".
func fetchBytes(out io.Writer, args []string) error {
	if len(args) != 4 {
		return errors.New("download: address, bytes, times, how")
	}
	size, err1 := strconv.Atoi(args[1])
	times, err2 := strconv.Atoi(args[2])
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	var (
		c    net.Conn
		took samples
		data = make([]byte, block)
	)
	for range times {
		began := time.Now()
		if c == nil || args[3] == "anew" {
			if c != nil {
				c.Close()
			}
			var err error
			if c, err = net.Dial("tcp", args[0]); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintln(c, size); err != nil {
			return err
		}
		for left := size; left > 0; {
			n, err := c.Read(data[:min(left, block)])
			if err != nil {
				return err
			}
			left -= n
		}
		took = append(took, time.Since(began))
	}
	_, err := fmt.Fprintln(out, took.median().Nanoseconds())
	return errors.Join(err, c.Close())
}

// network measures the relay against direct loopback, between the same two
// programs.
func (s *stage) network(ctx context.Context) (_ []figure, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	server := exec.CommandContext(ctx, self, source)
	out, err := server.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := server.Start(); err != nil {
		return nil, err
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait() // killed is how it ends
	}()
	var text string
	if _, err := fmt.Fscanln(out, &text); err != nil {
		return nil, err
	}
	at, err := netip.ParseAddrPort(text)
	if err != nil {
		return nil, err
	}
	e := s.withoutPlaceholders()
	e.Network = policy.Network{Mode: "local", Endpoints: []policy.Endpoint{{Port: int(at.Port()), Addresses: []netip.Addr{at.Addr()}}}}
	e.Roots = append(e.Roots[:len(e.Roots):len(e.Roots)], policy.Root{Path: self, Logical: self, Kind: policy.RootExecutable, Capability: scope.R | scope.X})
	box, err := sandbox.Start(ctx, sandbox.Options{Policy: e})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, box.Close()) }()

	compare := func(name string, size, times int, how, aim string) comparison {
		argv := []string{self, download, text, strconv.Itoa(size), strconv.Itoa(times), how}
		params, err := json.Marshal(argv)
		return comparison{
			name: name, against: "the same programs without the sandbox", aim: aim,
			ours: func() (time.Duration, error) {
				if err != nil {
					return 0, err
				}
				out, err := box.Call(ctx, program, params)
				return nanoseconds(out, err)
			},
			floor: func() (time.Duration, error) {
				return nanoseconds(exec.CommandContext(ctx, argv[0], argv[1:]...).Output())
			},
		}
	}
	const rounds = 7
	list := []comparison{
		compare("256 MiB through one connection", 256<<20, 3, "on", "ratio <= 1.25"),
		compare("64 bytes asked for and answered", 64, 1000, "on", ""),
		compare("the same, each with its connection", 64, 200, "anew", ""),
		{"Start, then Close, with an endpoint", startClose(ctx, e), startClose(ctx, s.withoutPlaceholders()), "without a network", ""},
	}
	return measure(rounds, list)
}

func startClose(ctx context.Context, e policy.Effective) act {
	return timed(func() error {
		box, err := sandbox.Start(ctx, sandbox.Options{Policy: e})
		if err != nil {
			return err
		}
		return box.Close()
	})
}

func nanoseconds(out []byte, err error) (time.Duration, error) {
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	return time.Duration(n), err
}
