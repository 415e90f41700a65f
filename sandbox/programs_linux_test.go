package sandbox

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sunaba/policy"
)

var updatePrograms = flag.Bool("update-programs", false, "write docs/PROGRAMS.md")

// programs are what people run, and under which profile it works. A script runs
// in an empty folder, with the named programs of this machine at hand.
var programs = []struct {
	name    string
	needs   []string // programs beyond the shell and its tools
	script  string
	works   string // profiles
	why     string // where it does not, or what to know
	network bool   // with a server on this machine's port {port} listed
}{
	{"shell, pipes, here-documents", nil, "printf 'b\\na\\n' | sort > out && test \"$(head -1 out)\" = a", "development", "readonly: nothing in the workspace can be written", false},
	{"reading and searching", nil, "ls -R . > /dev/null && grep -r x . ; find . -name '*.go' > /dev/null", "readonly development", "", false},
	{"sed -i, mv, rm", nil, "echo a > f && sed -i s/a/b/ f && mv f g && rm g", "development", "they need delete: in a mount without it (read_write) they fail", false},
	{"tar over existing files", nil, "echo a > f && tar cf t.tar f && tar xf t.tar", "development", "it removes before it writes: needs delete", false},
	{"python", []string{"/usr/bin/python3"}, "python3 -c 'import subprocess, tempfile, sys; tempfile.TemporaryFile(); sys.exit(subprocess.run([\"true\"]).returncode)'", "readonly development", "", false},
	{"python threads and multiprocessing", []string{"/usr/bin/python3"}, "python3 -c 'import multiprocessing as m; p = m.Pool(2); assert p.map(abs, [-1]) == [1]'", "readonly development", "", false},
	{"python -m venv", []string{"/usr/bin/python3"}, "python3 -m venv --without-pip v && v/bin/python -c 'print(1)'", "development", "pip install needs a network that is listed", false},
	{"git init, commit, clone", []string{"/usr/bin/git"}, "git init -q r && cd r && git config user.email a@b && git config user.name n && echo x > f && git add f && git commit -qm m && cd .. && git clone -q r c && test -f c/f", "development", "the workspace's own .git/config and hooks are protected: git commit works there, git config does not", false},
	{"gcc", []string{"/usr/bin/gcc"}, "echo 'int main(void){return 0;}' > a.c && gcc a.c -o a && ./a", "development", "", false},
	{"make -j", []string{"/usr/bin/make", "/usr/bin/gcc"}, "for i in 1 2 3 4; do echo \"int f$i(void){return $i;}\" > f$i.c; done; printf 'all: f1.o f2.o f3.o f4.o\\n' > Makefile && make -sj4 && test -f f4.o", "development", "processes count against sandbox.resources.processes", false},
	{"go build", []string{"/usr/local/go/bin/go"}, "printf 'module m\\ngo 1.20\\n' > go.mod && printf 'package main\\nfunc main() {}\\n' > main.go && go build -o m . && ./m", "development", "the cache lies in the Task's scratch space and is built anew for each; modules need a listed proxy or a mounted cache", false},
	{"node", []string{"/usr/bin/node"}, "node -e 'require(\"child_process\").execSync(\"true\"); require(\"fs\").readdirSync(\".\")'", "readonly development", "os.networkInterfaces() fails: there is no netlink", false},
	{"npm test", []string{"/usr/bin/node", "/usr/bin/npm"}, "echo '{\"name\":\"m\",\"scripts\":{\"test\":\"node -e 0\"}}' > package.json && npm test --silent", "development", "npm install needs a registry that is listed", false},
	{"perl", []string{"/usr/bin/perl"}, "perl -e 'exit(system(\"true\"))'", "readonly development", "", false},
	{"ps, free, nproc", nil, "ps > /dev/null && nproc > /dev/null", "readonly development", "they see the sandbox's processes alone", false},
	{"a client of a server on this machine", []string{"/usr/bin/python3"}, "python3 -c 'import socket; s = socket.create_connection((\"localhost\", {port})); assert s.recv(5) == b\"hello\"'", "readonly development", "network mode local with the port listed", true},
	{"redis-cli and a server on this machine", []string{"/usr/bin/redis-cli", "/usr/bin/redis-server"}, "redis-cli -h localhost -p {redis} set k v && test \"$(redis-cli -p {redis} get k)\" = v", "readonly development", "network mode local with the port listed", true},
	{"any client without a network", []string{"/usr/bin/python3"}, "python3 -c 'import socket; socket.create_connection((\"localhost\", {port}))'", "", "network mode none: no socket can be made", false},
	{"sudo, su, ping", nil, "sudo -n true || su -c true || ping -c1 127.0.0.1", "", "no program gains rights in the sandbox", false},
	{"docker, podman", nil, "docker ps || podman ps", "", "there are no sockets of the host's, and no namespaces to make", false},
	{"gdb, strace", nil, "strace -o /dev/null true || gdb -batch -ex run true", "", "no process may trace another", false},
}

// TestPrograms runs them under both profiles; docs/PROGRAMS.md is the table.
func TestPrograms(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("hello"))
			c.Close()
		}
	}()
	port := l.Addr().(*net.TCPAddr).Port

	redis := startRedis(t)

	complete := true
	var page strings.Builder
	page.WriteString("# What works inside\n\nMade by `go test ./sandbox -run TestPrograms -update-programs`, which runs each of these\nunder both profiles with network `none`, but where something else is said.\n\n| program | readonly | development | to know |\n|---|---|---|---|\n")
	for _, p := range programs {
		here := true
		for _, need := range p.needs {
			if _, err := os.Stat(need); err != nil {
				here, complete = false, false
				t.Logf("%s: %s is not on this machine", p.name, need)
			}
		}
		if p.works == "" && !p.network { // the twin: it is not this machine that refuses
			twin := exec.Command("/bin/sh", "-c", strings.ReplaceAll(p.script, "{port}", fmt.Sprint(port)))
			if twin.Dir = t.TempDir(); twin.Run() != nil {
				t.Logf("%s: does not work on this machine at all", p.name)
			}
		}
		cells := map[string]string{}
		for _, profile := range []string{"readonly", "development"} {
			want := strings.Contains(p.works, profile)
			cells[profile] = map[bool]string{true: "works", false: "does not"}[want]
			if !here {
				continue
			}
			if got, said := tryProgram(t, p.script, p.needs, profile, p.network, port, redis); got != want {
				t.Errorf("%s in %s: worked %t\n%s", p.name, profile, got, said)
			}
		}
		fmt.Fprintf(&page, "| %s | %s | %s | %s |\n", p.name, cells["readonly"], cells["development"], p.why)
	}
	const file = "../docs/PROGRAMS.md"
	if *updatePrograms {
		if !complete {
			t.Fatal("not every program is on this machine")
		}
		if err := os.WriteFile(file, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != page.String() {
		t.Errorf("docs/PROGRAMS.md is stale (%v): run this test with -update-programs", err)
	}
}

// tryProgram reports whether a script works in a sandbox of its own.
func tryProgram(t *testing.T, script string, needs []string, profile string, network bool, port, redis int) (works bool, said string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := policy.ForFolder(root)
	in.Profile = profile
	in.Workspace.ProtectHostTools = false
	in.Entries = []policy.EntryInput{{Alias: "sh", Path: "/bin/sh"}}
	for _, need := range needs {
		if !strings.HasPrefix(need, "/usr/bin/") {
			in.Entries = append(in.Entries, policy.EntryInput{Alias: filepath.Base(need), Path: need, RuntimeRoot: filepath.Dir(filepath.Dir(need))})
		}
	}
	if network {
		in.Network = policy.Network{Mode: "local", UnixSockets: "none", Endpoints: []policy.Endpoint{{Port: port}, {Port: redis}}}
	}
	resolved, err := policy.Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(t.Context(), Options{Policy: resolved.Effective, Config: []byte(`"commands"`)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	o, err := s.Run(ctx, Program{
		Argv: []string{"sh", "-c", strings.NewReplacer("{port}", fmt.Sprint(port), "{redis}", fmt.Sprint(redis)).Replace(script)}, Timeout: 2 * time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	return o.Ended && o.ExitCode == 0, o.Output.Text()
}

// startRedis starts a server on this machine's loopback and returns its port;
// where there is none, a port at which nobody listens.
func startRedis(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	server := exec.Command("/usr/bin/redis-server", "--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
	if err := server.Start(); err != nil {
		return port // the table says that it is not here
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	for range 200 {
		if c, err := net.Dial("tcp4", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			c.Close()
			return port
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("redis-server does not answer")
	return port
}
