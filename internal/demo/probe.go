package demo

import (
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// Connect is the program the model may start to try the network: it connects
// to address and says what came of it. It returns an exit code.
func Connect(address string, out io.Writer) int {
	c, err := net.DialTimeout("tcp", address, 2*time.Second)
	if err != nil {
		fmt.Fprintln(out, err)
		return 1
	}
	c.Close()
	fmt.Fprintln(out, "connected to "+address)
	return 0
}

// door is a port of this machine that counts who comes in.
type door struct {
	listener net.Listener
	visits   atomic.Int64
}

func openDoor() (*door, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &door{listener: l}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			d.visits.Add(1)
			c.Close()
		}
	}()
	return d, nil
}

func (d *door) address() string { return d.listener.Addr().String() }
func (d *door) close()          { d.listener.Close() }
