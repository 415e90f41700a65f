package mcpserver

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// sameUser reports whether the far end of a loopback connection, seen from its
// near end, is a socket of this process's effective user. The far end is a
// socket of the same kernel, so its row stands in /proc/net/tcp or, for a
// client that dials over IPv6, in /proc/net/tcp6.
func sameUser(near, far net.Addr) (bool, error) {
	nearAddr, farAddr := addrPort(near), addrPort(far)
	if !nearAddr.IsValid() || !farAddr.IsValid() {
		return false, errors.New("not a TCP connection")
	}
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		table, err := os.Open(name)
		if errors.Is(err, os.ErrNotExist) {
			continue // a kernel without IPv6
		}
		if err != nil {
			return false, err
		}
		uid, found, err := socketOwner(table, farAddr, nearAddr)
		_ = table.Close()
		if err != nil {
			return false, err
		}
		if found {
			return uid == os.Geteuid(), nil
		}
	}
	return false, errors.New("the connection is in no socket table")
}

func addrPort(a net.Addr) netip.AddrPort {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	ap := tcp.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// socketOwner finds the socket bound to local and connected to remote in a
// table of /proc/net and returns its user. A socket that no process holds any
// more is listed under user 0 and inode 0; it does not count.
func socketOwner(table io.Reader, local, remote netip.AddrPort) (uid int, found bool, err error) {
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 10 || f[9] == "0" {
			continue
		}
		if l, err := parseSocket(f[1]); err != nil || l != local {
			continue
		}
		if r, err := parseSocket(f[2]); err != nil || r != remote {
			continue
		}
		uid, err := strconv.Atoi(f[7])
		return uid, err == nil, err
	}
	return 0, false, lines.Err()
}

// parseSocket reads an address such as 0100007F:1F90: words in the byte order
// of the machine, then the port.
func parseSocket(text string) (netip.AddrPort, error) {
	host, port, ok := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	n, portErr := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || portErr != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, fmt.Errorf("not a socket address: %q", text)
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	addr, ok := netip.AddrFromSlice(raw)
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("not a socket address: %q", text)
	}
	return netip.AddrPortFrom(addr.Unmap(), uint16(n)), nil
}
