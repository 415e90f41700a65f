package sandbox

import "io"

// capture reads r to its end and keeps its head and tail within keep; memory
// stays bounded however much is written.
func capture(r io.Reader, keep Limit) Capture {
	var c Capture
	ring := make([]byte, 0, min(keep.Tail, 64<<10))
	at := 0 // where the next byte goes once the ring is full
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		chunk := buf[:n]
		if room := keep.Head - len(c.Head); room > 0 {
			take := min(room, len(chunk))
			c.Head = append(c.Head, chunk[:take]...)
			chunk = chunk[take:]
		}
		if over := len(chunk) - keep.Tail; over > 0 {
			c.Dropped += int64(over)
			chunk = chunk[over:]
		}
		for len(chunk) > 0 {
			if room := keep.Tail - len(ring); room > 0 {
				take := min(room, len(chunk))
				ring = append(ring, chunk[:take]...)
				chunk = chunk[take:]
				continue
			}
			take := copy(ring[at:], chunk)
			c.Dropped += int64(take)
			at = (at + take) % keep.Tail
			chunk = chunk[take:]
		}
		if err != nil {
			c.Tail = append(append([]byte(nil), ring[at:]...), ring[:at]...)
			return c
		}
	}
}
