package attack

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sunaba/policy"
	"sunaba/sandbox"
	"sunaba/scope"
)

// secretVariable is what the shell that started us has in its environment.
const secretVariable = "SUNABA_ATTACK_SECRET"

// stage is where attacks are played: one tree for the sandbox, one for the
// twins, and who listens.
type stage struct {
	base    string
	program string // the attacker, and the Worker
	inside  Places
	twin    Places
	known   map[string]bool // what the inside tree consists of
	closers []io.Closer

	box  string // the kind that stands
	task *sandbox.Sandbox
}

func newStage() (s *stage, err error) {
	s = &stage{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.base, err = os.MkdirTemp("", "sunaba-attack-"); err != nil {
		return s, err
	}
	if s.base, err = filepath.EvalSymlinks(s.base); err != nil {
		return s, err
	}
	if err := os.Chmod(s.base, 0o755); err != nil {
		return s, err
	}
	if s.program, err = os.Executable(); err != nil {
		return s, err
	}
	if s.program, err = filepath.EvalSymlinks(s.program); err != nil {
		return s, err
	}
	s.inside, s.twin = places(filepath.Join(s.base, "inside")), places(filepath.Join(s.base, "twin"))
	s.inside.Scratch = "/tmp"
	if strings.HasPrefix(s.base, "/tmp/") {
		s.inside.Scratch = "/tmp/.scratch"
	}
	if err := s.inherit(); err != nil {
		return s, err
	}
	if err := populate(s.inside); err != nil {
		return s, err
	}
	return s, errors.Join(s.share(), s.listen(), s.freshTwin())
}

func places(base string) Places {
	at := func(name string) string { return filepath.Join(base, name) }
	return Places{Workspace: at("ws"), Outside: at("out"), ReadOnly: at("ro"), ReadWrite: at("rw"), Deleted: at("rwd"), Scratch: at("tmp")}
}

// inherit makes us what a careless shell would start: with a secret in the
// environment and a descriptor of a file left open.
func (s *stage) inherit() error {
	for name, value := range map[string]string{secretVariable: "s3cret", "SSH_AUTH_SOCK": s.base + "/agent.sock"} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	path := filepath.Join(s.base, "left-open")
	if err := os.WriteFile(path, []byte("s3cret"), 0o600); err != nil {
		return err
	}
	fd, err := unix.Open(path, unix.O_RDONLY, 0) // without close-on-exec
	if err != nil {
		return err
	}
	s.closers = append(s.closers, os.NewFile(uintptr(fd), path))
	return nil
}

// populate makes a tree that does not exist.
func populate(p Places) error {
	program, err := os.ReadFile("/bin/true") // one that the dynamic loader can start as well
	if err != nil {
		return err
	}
	for path, content := range map[string]string{
		p.Workspace + "/plain": "plain text, long enough", p.Workspace + "/program": string(program),
		p.Workspace + "/agent.yaml": "schema_version: 2", p.Workspace + "/.git/config": "[core]",
		p.Workspace + "/frozen.txt": "frozen", p.Workspace + "/frozen/deep/file": "frozen",
		p.Workspace + "/deep/er/skill.md": "skill", p.Workspace + "/deep/er/free.md": "free",
		p.Workspace + "/hidden/state": "s3cret", p.Workspace + "/key.pem": "s3cret, sixteen bytes",
		p.Workspace + "/private/note": "s3cret, sixteen bytes", p.Workspace + "/private/deep/note": "s3cret, sixteen bytes",
		p.Outside + "/secret": "s3cret, sixteen bytes", p.Outside + "/program": string(program),
	} {
		if err := place(path, content); err != nil {
			return err
		}
	}
	for _, dir := range []string{p.ReadOnly, p.ReadWrite, p.Deleted} {
		for path, content := range map[string]string{"/file": "file", "/program": string(program), "/dir/inner": "inner"} {
			if err := place(dir+path, content); err != nil {
				return err
			}
		}
		if err := os.Mkdir(dir+"/empty", 0o755); err != nil {
			return err
		}
	}
	return errors.Join(os.Symlink("../out", p.Workspace+"/to-out"), os.Symlink(".", p.Workspace+"/to-ws"))
}

func place(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o755)
}

// overwrite is what a host program does to a file that exists.
func overwrite(path, content string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	return errors.Join(err, f.Close())
}

// sharedKey is the key of memory that programs of this user share.
const sharedKey = 0x53554e41

func (s *stage) share() error {
	const create = unix.IPC_CREAT | 0o600
	id, err := unix.SysvShmGet(sharedKey, os.Getpagesize(), create)
	if err != nil {
		return fmt.Errorf("shared memory: %w", err)
	}
	s.closers = append(s.closers, segment(id))
	return nil
}

type segment int

func (id segment) Close() error {
	_, err := unix.SysvShmCtl(int(id), unix.IPC_RMID, nil)
	return err
}

// listen makes those that must not be reached: they answer whoever comes.
func (s *stage) listen() error {
	streams := map[*string][2]string{
		&s.inside.TCP:  {"tcp4", "127.0.0.1:0"},
		&s.inside.Unix: {"unix", s.inside.Workspace + "/docker.sock"},
	}
	for where, at := range streams {
		l, err := net.Listen(at[0], at[1])
		if err != nil {
			return err
		}
		s.closers = append(s.closers, l)
		*where = l.Addr().String()
		go greet(l)
	}
	packets := map[*string][2]string{
		&s.inside.UDP:      {"udp4", "127.0.0.1:0"},
		&s.inside.Datagram: {"unixgram", s.inside.Workspace + "/log.sock"},
	}
	for where, at := range packets {
		c, err := net.ListenPacket(at[0], at[1])
		if err != nil {
			return err
		}
		s.closers = append(s.closers, c)
		*where = c.LocalAddr().String()
		go echo(c)
	}
	s.twin.TCP, s.twin.UDP, s.twin.Unix, s.twin.Datagram = s.inside.TCP, s.inside.UDP, s.inside.Unix, s.inside.Datagram
	return nil
}

func greet(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = c.Write([]byte("hello")) // whoever hears it says so
		c.Close()
	}
}

func echo(c net.PacketConn) {
	buffer := make([]byte, 16)
	for {
		n, from, err := c.ReadFrom(buffer)
		if err != nil {
			return
		}
		if from != nil {
			_, _ = c.WriteTo(buffer[:n], from)
		}
	}
}

// freshTwin makes the twins' tree anew.
func (s *stage) freshTwin() error {
	for _, dir := range []string{s.twin.Workspace, s.twin.Outside, s.twin.ReadOnly, s.twin.ReadWrite, s.twin.Deleted, s.twin.Scratch} {
		if err := removeAll(dir); err != nil {
			return err
		}
	}
	if err := populate(s.twin); err != nil {
		return err
	}
	if err := os.Mkdir(s.twin.Scratch, 0o755); err != nil {
		return err
	}
	for _, later := range []string{".git/hooks/", ".vscode/", "future-dir/"} { // the sandbox has placeholders there
		if err := os.Mkdir(filepath.Join(s.twin.Workspace, later), 0o755); err != nil {
			return err
		}
	}
	return errors.Join(os.WriteFile(s.twin.Workspace+"/future.txt", []byte("s3cret"), 0o644), os.WriteFile(s.twin.Workspace+"/agent.local.yaml", []byte("x"), 0o644))
}

// removeAll is os.RemoveAll for what attacks may have left unremovable.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// sweep takes away what earlier acts left in the inside tree.
func (s *stage) sweep() error {
	var left []string
	err := filepath.WalkDir(filepath.Dir(s.inside.Workspace), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // a directory that nobody may enter is a placeholder's or an attack's own
		}
		if !s.known[path] {
			left = append(left, path)
			if d.IsDir() {
				return fs.SkipDir
			}
		}
		return nil
	})
	for _, path := range left {
		err = errors.Join(err, removeAll(path))
	}
	return err
}

func (s *stage) remember() error {
	s.known = map[string]bool{}
	return filepath.WalkDir(filepath.Dir(s.inside.Workspace), func(path string, _ fs.DirEntry, err error) error {
		s.known[path] = true
		return nil
	})
}

// open makes the sandbox of the given kind stand.
func (s *stage) open(kind string) error {
	if s.task != nil && s.box == kind {
		return nil
	}
	if err := s.shut(); err != nil {
		return err
	}
	task, err := sandbox.Start(background(), sandbox.Options{Policy: s.policy(kind), Placeholders: &placeholders{}})
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	s.task, s.box = task, kind
	return s.remember()
}

func (s *stage) shut() error {
	if s.task == nil {
		return nil
	}
	err := s.task.Close()
	s.task = nil
	return err
}

// again makes the inside tree and its sandbox anew: an act has changed what it
// should not have.
func (s *stage) again() error {
	err := s.shut()
	p := s.inside
	for _, dir := range []string{p.Outside, p.ReadOnly, p.ReadWrite, p.Deleted} {
		err = errors.Join(err, removeAll(dir))
	}
	entries, err2 := os.ReadDir(p.Workspace)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".sock") { // somebody listens there
			err2 = errors.Join(err2, removeAll(filepath.Join(p.Workspace, e.Name())))
		}
	}
	return errors.Join(err, err2, populate(p))
}

func (s *stage) close() error {
	err := s.shut()
	for _, c := range s.closers {
		_ = c.Close() // listeners and a file that was read
	}
	return errors.Join(err, removeAll(s.base))
}

// policy is what a person could have approved for a box of this kind.
func (s *stage) policy(kind string) policy.Effective {
	p := s.inside
	at := func(name string) string { return filepath.Join(p.Workspace, name) }
	e := policy.Effective{
		Profile:   "development",
		Workspace: policy.Workspace{Root: p.Workspace, Logical: p.Workspace, Name: "workspace", Policy: "deny_outside"},
		Roots: []policy.Root{
			{Path: p.Workspace, Logical: p.Workspace, Kind: policy.RootWorkspace, Capability: scope.All},
			{Path: p.ReadOnly, Logical: p.ReadOnly, Kind: policy.RootMount, Capability: scope.R},
			{Path: p.ReadWrite, Logical: p.ReadWrite, Kind: policy.RootMount, Capability: scope.R | scope.W},
			{Path: p.Deleted, Logical: p.Deleted, Kind: policy.RootMount, Capability: scope.R | scope.W | scope.D},
			{Path: s.program, Logical: s.program, Kind: policy.RootExecutable, Capability: scope.R | scope.X},
		},
		Network:   policy.Network{Mode: "none", UnixSockets: "none"},
		Resources: policy.Resources{Profile: "normal", MemoryMiB: 1024, Processes: 32, Timeout: 20 * time.Second},
	}
	if kind == "development" {
		for _, x := range []policy.Protected{
			{Path: "agent.yaml"}, {Path: "agent.local.yaml"}, {Path: ".git/config"}, {Path: ".git/hooks", Dir: true}, {Path: ".envrc"},
			{Path: ".vscode", Dir: true}, {Path: "deep/er/skill.md"}, {Path: "hidden", Hidden: true}, {Path: "key.pem", Hidden: true},
		} {
			x.Path = at(x.Path)
			e.Protected = append(e.Protected, x)
		}
		deny := func(name string, p scope.Permission) {
			e.Scope.Deny = append(e.Scope.Deny, scope.Rule{Target: at(name), Permission: p, Recursive: true, Source: "agent.yaml"})
		}
		e.Scope = &policy.Narrowing{}
		for _, name := range []string{"frozen", "frozen.txt", "future-frozen.txt", "future-dir"} {
			deny(name, scope.Write)
		}
		deny("private", scope.Read)
		deny("future.txt", scope.Read)
	}
	listed := netip.MustParseAddr("198.51.100.7")
	switch kind {
	case "readonly":
		e.Profile = "readonly"
	case "restricted":
		e.Network = policy.Network{Mode: "restricted", UnixSockets: "none", Endpoints: []policy.Endpoint{{Host: "listed.example", Port: 443, Addresses: []netip.Addr{listed}}}}
	case "local":
		e.Network = policy.Network{Mode: "local", UnixSockets: "none", Endpoints: []policy.Endpoint{{Port: 1, Addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1")}}}}
	case "own":
		e.Network.UnixSockets = "own"
	case "small":
		e.Resources = policy.Resources{Profile: "small", MemoryMiB: 128, Processes: 8, Timeout: 10 * time.Second, ScratchBytes: 8 << 20, FileSizeBytes: 16 << 20}
	}
	return e
}

// placeholders makes them without a journal: whoever ends us finds them in a
// temporary folder.
type placeholders struct{ made []sandbox.Placeholder }

func (p *placeholders) Make(want []sandbox.Placeholder) ([]sandbox.Placeholder, error) {
	for _, w := range want {
		var err error
		if w.Dir {
			err = os.Mkdir(w.Path, 0o755)
		} else {
			err = os.WriteFile(w.Path, []byte(w.Content), 0o644)
		}
		if err != nil {
			return p.made, err
		}
		p.made = append(p.made, w)
	}
	return p.made, nil
}

func (p *placeholders) Remove() error {
	var err error
	for i := range p.made {
		err = errors.Join(err, os.RemoveAll(p.made[len(p.made)-1-i].Path))
	}
	p.made = nil
	return err
}
