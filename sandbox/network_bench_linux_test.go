package sandbox

import (
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sunaba/policy"
)

func init() {
	// Sends what it is asked for: each line is a number of bytes.
	attacks["source"] = func([]string) error {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		fmt.Println(l.Addr())
		block := make([]byte, 1<<20)
		for {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			go func() {
				defer c.Close()
				var n int
				for {
					if _, err := fmt.Fscanln(c, &n); err != nil {
						return
					}
					for n > 0 {
						k, err := c.Write(block[:min(n, len(block))])
						if err != nil {
							return
						}
						n -= k
					}
				}
			}()
		}
	}
	// Prints how long each of args[2] downloads of args[1] bytes takes, in
	// nanoseconds; with "anew" as args[3] each by a connection of its own.
	attacks["download"] = func(args []string) error {
		size, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		times, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		block := make([]byte, 1<<20)
		var c net.Conn
		for range times {
			began := time.Now()
			if c == nil || args[3] == "anew" {
				if c, err = net.Dial("tcp", args[0]); err != nil {
					return err
				}
			}
			if _, err := fmt.Fprintln(c, size); err != nil {
				return err
			}
			for left := size; left > 0; {
				n, err := c.Read(block[:min(left, len(block))])
				if err != nil {
					return err
				}
				left -= n
			}
			if args[3] == "anew" {
				if err := c.Close(); err != nil {
					return err
				}
			}
			fmt.Println(time.Since(began).Nanoseconds())
		}
		return nil
	}
}

// sourceProcess starts a source and returns its address.
func sourceProcess(t testing.TB) netip.AddrPort {
	t.Helper()
	cmd := exec.Command(self(), attackWord, "source")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	var line string
	if _, err := fmt.Fscanln(out, &line); err != nil {
		t.Fatal(err)
	}
	return netip.MustParseAddrPort(line)
}

// BenchmarkRelay measures the relay against direct loopback, between the same
// two processes: throughput over one connection, a request and its answer over
// one, and each over a connection of its own. The ratios are of medians.
func BenchmarkRelay(b *testing.B) {
	at := sourceProcess(b)
	f := policyOnly(b)
	f.p.Network = policy.Network{Mode: "local", Endpoints: []policy.Endpoint{{Port: int(at.Port()), Addresses: []netip.Addr{at.Addr()}}}}
	f.p.Resources.Timeout = time.Minute
	f.start()
	for _, c := range []struct {
		name, size, times, how string
	}{
		{"throughput", strconv.Itoa(256 << 20), "5", "on"},
		{"exchange", "64", "2000", "on"},
		{"connect", "64", "500", "anew"},
	} {
		b.Run(c.name, func(b *testing.B) {
			var direct, relayed []time.Duration
			var used time.Duration // by the broker
			args := []string{self(), attackWord, "download", at.String(), c.size, c.times, c.how}
			for b.Loop() {
				out, err := exec.Command(args[0], args[1:]...).Output()
				if err != nil {
					b.Fatal(err)
				}
				direct = append(direct, durations(b, string(out))...)
				before := cpu(b)
				r := f.call("run", order{Argv: args})
				used += cpu(b) - before
				if r.ExitCode != 0 {
					b.Fatalf("%+v", r)
				}
				relayed = append(relayed, durations(b, r.Out)...)
			}
			d, r := median(direct), median(relayed)
			b.ReportMetric(float64(d.Microseconds()), "direct-µs")
			b.ReportMetric(float64(r.Microseconds()), "relayed-µs")
			b.ReportMetric(float64(d)/float64(r), "direct/relayed")
			b.ReportMetric(float64(used.Microseconds())/float64(len(relayed)), "broker-cpu-µs")
		})
	}
}

// cpu is what this process has used.
func cpu(t testing.TB) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func durations(t testing.TB, out string) (all []time.Duration) {
	t.Helper()
	for _, line := range strings.Fields(strings.TrimSuffix(out, "succeeded\n")) {
		n, err := strconv.ParseInt(line, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, time.Duration(n))
	}
	return all
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
