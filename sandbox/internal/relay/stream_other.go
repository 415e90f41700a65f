//go:build !linux

package relay

import (
	"io"
	"net"
)

// stream copies from one connection to the other until the first ends.
func stream(to, from *net.TCPConn) error {
	_, err := io.Copy(to, from)
	return err
}
