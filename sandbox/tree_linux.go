package sandbox

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"sunaba/sandbox/internal/namespace"
)

// Sizes of the sandbox's own file systems, in bytes.
const (
	skeletonBytes = 1 << 20
	sharedBytes   = 64 << 20 // /dev/shm
	// terminals is how many pseudo-terminals a Task may have: their number on
	// the whole machine is limited.
	terminals = 64
)

// systemFiles are the parts of /etc that programs need to start and to speak
// TLS; nothing of it is secret and nothing else of /etc is shown (C-79).
var systemFiles = []string{
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime",
	"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted",
}

var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// maskedProc and frozenProc are the parts of /proc that speak of the host.
var (
	maskedProc = []string{
		"kcore", "keys", "kallsyms", "timer_list", "sched_debug", "sysrq-trigger", "acpi", "scsi", "interrupts",
		// for the host's root alone, which the sandbox may be (C-78)
		"kmsg", "kpagecount", "kpageflags", "kpagecgroup", "vmallocinfo", "slabinfo", "pagetypeinfo",
	}
	frozenProc = []string{"sys", "irq", "bus", "fs"}
)

// source is a host path opened before the new root hides it.
type source struct {
	fd   int
	file bool
}

func openSource(p string) (source, error) {
	fd, err := namespace.Open(p)
	if err != nil {
		return source{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return source{}, fmt.Errorf("stat %s: %w", p, err)
	}
	return source{fd: fd, file: st.Mode&unix.S_IFMT != unix.S_IFDIR}, nil
}

func buildTree(s *setup, l *layout, flat *flats, hosts string) error {
	if err := namespace.Private(); err != nil {
		return err
	}
	roots := make([]source, len(l.binds))
	for i, b := range l.binds {
		var err error
		if roots[i], err = openSource(b.path); b.part && errors.Is(err, unix.ENOENT) {
			roots[i].fd = -1 // nothing there to be written
		} else if err != nil {
			return err
		}
	}
	system, links := openSystem()
	devs := make(map[string]source)
	for _, d := range devices {
		src, err := openSource(d)
		if err != nil {
			return err
		}
		devs[d] = src
	}

	tree, err := namespace.NewTree("/tmp", skeletonBytes)
	if err != nil {
		return err
	}
	b := &builder{tree: tree}
	for p, target := range links {
		b.do(tree.Symlink(target, p))
	}
	for p, src := range system {
		b.bind(src, p, namespace.ReadOnly|namespace.NoSUID|namespace.NoDev)
	}
	b.etc(s, l.home(), hosts)
	b.dev(devs)
	b.scratch(l, s.Policy)
	for i, bd := range l.binds {
		if roots[i].fd < 0 {
			continue
		}
		attr := namespace.NoSUID | namespace.NoDev
		if !bd.write {
			attr |= namespace.ReadOnly
		}
		if !bd.exec {
			attr |= namespace.NoExec
		}
		b.bind(roots[i], bd.path, attr)
	}
	flat.narrow(b, l)
	b.covers(l, flat)
	if s.Policy.Network.UnixSockets == "own" {
		b.maskSockets(l)
	}
	b.proc()
	if b.err != nil {
		return b.err
	}
	return tree.Enter()
}

// openSystem opens the runtime root and the shown parts of /etc. On systems
// with a merged /usr, /bin and its like are links, which are made again.
func openSystem() (map[string]source, map[string]string) {
	system := make(map[string]source)
	links := make(map[string]string)
	for _, p := range systemTrees {
		if target, err := os.Readlink(p); err == nil {
			links[p] = target
			continue
		}
		if src, err := openSource(p); err == nil {
			system[p] = src
		}
	}
	for _, p := range systemFiles {
		src, err := openSource(p)
		if errors.Is(err, unix.ELOOP) { // a link such as /etc/localtime: show what it names
			fd, err2 := unix.Open(p, unix.O_PATH|unix.O_CLOEXEC, 0)
			if err2 == nil {
				src, err = source{fd: fd, file: p != "/etc/ssl/certs"}, nil
			}
		}
		if err == nil {
			system[p] = src
		}
	}
	return system, links
}
