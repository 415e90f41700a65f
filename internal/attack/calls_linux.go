package attack

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// no is an argument that makes a call do nothing: no descriptor, no address, no
// flag of that kind.
const no = "0xffffffffffffffff"

// reached are calls of which the kernel says something else than no when nobody
// stands before it, with arguments that do nothing.
var reached = map[string][]string{
	"mount": {fmt.Sprint(unix.SYS_MOUNT), no, no, no, "0", no}, "umount2": {fmt.Sprint(unix.SYS_UMOUNT2), no, "0"},
	"move_mount": {fmt.Sprint(unix.SYS_MOVE_MOUNT), no, no, no, no, "0"}, "open_tree": {fmt.Sprint(unix.SYS_OPEN_TREE), no, no, "0"},
	"fsopen": {fmt.Sprint(unix.SYS_FSOPEN), no, "0"}, "fsconfig": {fmt.Sprint(unix.SYS_FSCONFIG), no, "0", "0", "0", "0"},
	"fsmount": {fmt.Sprint(unix.SYS_FSMOUNT), no, "0", "0"}, "fspick": {fmt.Sprint(unix.SYS_FSPICK), no, no, "0"},
	"mount_setattr": {fmt.Sprint(unix.SYS_MOUNT_SETATTR), no, no, "0", no, "32"},
	"pivot_root":    {fmt.Sprint(unix.SYS_PIVOT_ROOT), no, no}, "chroot": {fmt.Sprint(unix.SYS_CHROOT), no},
	"unshare nothing": {fmt.Sprint(unix.SYS_UNSHARE), "0"}, "setns": {fmt.Sprint(unix.SYS_SETNS), no, "0"},
	"ptrace":            {fmt.Sprint(unix.SYS_PTRACE), "0x4206", no, "0", "0"},
	"process_vm_readv":  {fmt.Sprint(unix.SYS_PROCESS_VM_READV), "0x7fffffff", "0", "0", "0", "0", "0"},
	"process_vm_writev": {fmt.Sprint(unix.SYS_PROCESS_VM_WRITEV), "0x7fffffff", "0", "0", "0", "0", "0"},
	"process_madvise":   {fmt.Sprint(unix.SYS_PROCESS_MADVISE), no, "0", "0", "0", "0"},
	"pidfd_getfd":       {fmt.Sprint(unix.SYS_PIDFD_GETFD), no, "0", "0"}, "kcmp": {fmt.Sprint(unix.SYS_KCMP), "0x7fffffff", "0x7fffffff", "0", "0", "0"},
	"add_key":     {fmt.Sprint(unix.SYS_ADD_KEY), no, no, "0", "0", no},
	"request_key": {fmt.Sprint(unix.SYS_REQUEST_KEY), no, no, "0", no}, "keyctl": {fmt.Sprint(unix.SYS_KEYCTL), "0", no, "1"},
	"userfaultfd": {fmt.Sprint(unix.SYS_USERFAULTFD), no}, "io_uring_setup": {fmt.Sprint(unix.SYS_IO_URING_SETUP), "0", no},
	"io_uring_enter":    {fmt.Sprint(unix.SYS_IO_URING_ENTER), no, "0", "0", "0", "0", "0"},
	"io_uring_register": {fmt.Sprint(unix.SYS_IO_URING_REGISTER), no, "0", "0", "0"},
	"bpf":               {fmt.Sprint(unix.SYS_BPF), "0x7fff", "0", "0"}, "perf_event_open": {fmt.Sprint(unix.SYS_PERF_EVENT_OPEN), no, "0", "0", no, "0"},
	"open_by_handle_at": {fmt.Sprint(unix.SYS_OPEN_BY_HANDLE_AT), no, no, "0"}, "name_to_handle_at": {fmt.Sprint(unix.SYS_NAME_TO_HANDLE_AT), no, no, no, no, "0"},
	"fanotify_init": {fmt.Sprint(unix.SYS_FANOTIFY_INIT), no, "0"}, "quotactl": {fmt.Sprint(unix.SYS_QUOTACTL), no, "0", "0", "0"},
	"acct": {fmt.Sprint(unix.SYS_ACCT), no}, "swapon": {fmt.Sprint(unix.SYS_SWAPON), no, "0"}, "swapoff": {fmt.Sprint(unix.SYS_SWAPOFF), no},
	"init_module": {fmt.Sprint(unix.SYS_INIT_MODULE), "0", "0", no}, "finit_module": {fmt.Sprint(unix.SYS_FINIT_MODULE), no, no, "0"},
	"delete_module": {fmt.Sprint(unix.SYS_DELETE_MODULE), no, "0"}, "kexec_load": {fmt.Sprint(unix.SYS_KEXEC_LOAD), "0", "17", "0", "0xff"},
	"reboot": {fmt.Sprint(unix.SYS_REBOOT), "1", "1", "0"}, "syslog": {fmt.Sprint(unix.SYS_SYSLOG), "10", "0", "0"},
	"settimeofday": {fmt.Sprint(unix.SYS_SETTIMEOFDAY), no, "0"}, "clock_settime": {fmt.Sprint(unix.SYS_CLOCK_SETTIME), "0x7fff", "0"},
	"clock_adjtime": {fmt.Sprint(unix.SYS_CLOCK_ADJTIME), "0x7fff", no}, "adjtimex": {fmt.Sprint(unix.SYS_ADJTIMEX), no},
	"sethostname": {fmt.Sprint(unix.SYS_SETHOSTNAME), "0", no}, "setdomainname": {fmt.Sprint(unix.SYS_SETDOMAINNAME), "0", no},
	"personality": {fmt.Sprint(unix.SYS_PERSONALITY), "0xffffffff"},
}

// systemCalls: what the filter refuses whoever asks.
func systemCalls() []Attack {
	var list []Attack
	for _, name := range slices.Sorted(maps.Keys(reached)) {
		list = append(list, Attack{Name: name, Act: "call", Args: reached[name], Twin: Master})
	}
	list = append(list,
		Attack{Name: "number above the table", Act: "call", Args: []string{"600"}},
		Attack{Name: "x32 number", Act: "call", Args: []string{fmt.Sprint(0x40000000 + unix.SYS_GETPID)}},
		Attack{Name: "i386 gate", Act: "int80", Args: []string{"{ws}"}},
		Attack{Name: "TIOCSTI", Act: "terminal", Args: []string{"0x5412"}},
		Attack{Name: "TIOCSTI with high bits", Act: "terminal", Args: []string{"0x100005412"}},
		Attack{Name: "TIOCLINUX", Act: "terminal", Args: []string{"0x541c"}},
		Attack{Name: "TIOCLINUX with high bits", Act: "terminal", Args: []string{"0xffffffff0000541c"}},
		Attack{Name: "FIOSETOWN", Act: "own-ioctl", Twin: Child},
		Attack{Name: "a control of one kind of file", Act: "special-ioctl"},
		Attack{Name: "trace me", Act: "trace-me"},
		Attack{Name: "io_uring", Act: "io-uring"},
		Attack{Name: "keyring", Act: "key"},
		Attack{Name: "handle of a file", Act: "handle", Args: []string{"/usr"}},
		Attack{Name: "open by handle", Act: "open-handle", Args: []string{"/usr"}, Twin: Master},
	)
	return in("call", "development", "seccomp", list)
}

// namespaces: none can be made, left or changed.
func namespaces() []Attack {
	var list []Attack
	for _, n := range []struct {
		name string
		flag uint64
	}{
		{"user", unix.CLONE_NEWUSER}, {"mount", unix.CLONE_NEWNS}, {"pid", unix.CLONE_NEWPID}, {"network", unix.CLONE_NEWNET},
		{"ipc", unix.CLONE_NEWIPC}, {"uts", unix.CLONE_NEWUTS}, {"cgroup", unix.CLONE_NEWCGROUP}, {"time", unix.CLONE_NEWTIME},
	} {
		flag := fmt.Sprint(n.flag)
		if n.flag != unix.CLONE_NEWUSER { // refused to every program with threads
			list = append(list, Attack{Name: "unshare " + n.name, Act: "unshare", Args: []string{flag}, Twin: Master})
		}
		if n.flag != unix.CLONE_NEWTIME { // its bit is a signal's in clone
			list = append(list,
				Attack{Name: "clone " + n.name, Act: "clone", Args: []string{flag}, Twin: Master},
				Attack{Name: "clone " + n.name + " with high bits", Act: "clone", Args: []string{fmt.Sprint(n.flag | 1<<40)}, Twin: Master})
		}
		list = append(list, Attack{Name: "clone3 " + n.name, Act: "clone3", Args: []string{flag}, Twin: Master})
	}
	for _, name := range []string{"uts", "ipc", "net", "cgroup"} {
		list = append(list, Attack{Name: "enter " + name, Act: "enter", Args: []string{name}, Twin: Master})
	}
	list = append(list,
		Attack{Name: "mount tmpfs", Act: "mount-tmpfs", Args: []string{"{ws}"}, Twin: Master},
		Attack{Name: "mount proc", Act: "mount-proc", Args: []string{"{ws}"}, Twin: Master},
		Attack{Name: "bind mount", Act: "mount-bind", Args: []string{"{ws}"}, Twin: Master},
		Attack{Name: "new mount", Act: "new-mount", Twin: Master},
		Attack{Name: "clone a tree", Act: "open-tree", Args: []string{"{ws}"}, Twin: Master},
		Attack{Name: "unmount", Act: "unmount", Args: []string{"{ws}"}, Twin: Master},
		Attack{Name: "chroot", Act: "chroot", Args: []string{"/usr"}, Twin: Master},
		Attack{Name: "set the host name", Act: "hostname", Twin: Master},
	)
	return in("namespace", "development", "seccomp", list)
}

// identity: no rights, and no way to get some.
func identity() []Attack {
	return in("identity", "development", "capabilities", []Attack{
		{Name: "hold a capability", Act: "gain", Twin: Master},
		{Name: "keep a bounding set", Act: "bounding"},
		{Name: "gain by set-user-id", Act: "privileges", Layer: "no new privileges"},
		{Name: "raise priority", Act: "nice", Twin: Master},
		{Name: "limits of the parent", Act: "raise-limit", Twin: Child, Layer: "seccomp"},
		{Name: "slow the parent", Act: "slow-process", Args: []string{"parent"}, Twin: Child, Layer: "seccomp"},
		{Name: "slow everybody of the user", Act: "call", Args: []string{fmt.Sprint(unix.SYS_SETPRIORITY), "2", "0", "0"}, Layer: "seccomp"},
		{Name: "idle the parent", Act: "call", Args: []string{fmt.Sprint(unix.SYS_SCHED_SETSCHEDULER), "1", "5", "0"}, Twin: Master, Layer: "seccomp"},
		{Name: "move the parent to one processor", Act: "call", Args: []string{fmt.Sprint(unix.SYS_SCHED_SETAFFINITY), "1", "0", "0"}, Twin: Master, Layer: "seccomp"},
		{Name: "slow the parent's disk", Act: "call", Args: []string{fmt.Sprint(unix.SYS_IOPRIO_SET), "1", "1", "0x6007"}, Twin: Master, Layer: "seccomp"},
	})
}

// others: no other process can be seen, hurt or looked into; PID 1 is the
// Worker.
func others() []Attack {
	list := []Attack{
		{Name: "see the launching program", Act: "others", Args: []string{comm()}, Layer: "pid namespace"},
		{Name: "find shared memory", Act: "find-segment", Args: []string{fmt.Sprint(sharedKey)}, Layer: "ipc namespace"},
		{Name: "attach", Act: "attach", Args: []string{"1"}, TwinArgs: []string{"parent"}, Twin: Child},
		{Name: "read memory", Act: "peek", Args: []string{"1"}, TwinArgs: []string{"parent"}, Twin: Child},
		{Name: "take a descriptor", Act: "take-handle", Args: []string{"1"}, TwinArgs: []string{"parent"}, Twin: Child},
		{Name: "change limits", Act: "limit-process", Args: []string{"1"}, TwinArgs: []string{"parent"}, Twin: Child},
	}
	for _, name := range []string{"fd", "fdinfo", "map_files", "ns"} {
		list = append(list, Attack{
			Name: "look into /proc/1/" + name, Act: "look-into", Args: []string{"1", name}, TwinArgs: []string{"parent", name}, Twin: Child, Layer: "not dumpable",
		})
	}
	for _, name := range []string{"environ", "maps", "smaps", "root/etc/passwd", "auxv", "io", "exe", "stack"} {
		list = append(list, Attack{
			Name: "read /proc/1/" + name, Act: "of-process", Args: []string{"1", name}, TwinArgs: []string{"parent", name}, Twin: Child, Layer: "not dumpable",
		})
	}
	for _, way := range []string{"queue", "thread", "pidfd", "owner-ex", "owner-ioctl"} {
		list = append(list, Attack{
			Name: "forge a signal by " + way, Act: "signal-" + way, Args: []string{"1", fmt.Sprint(int(unix.SIGSEGV))},
			TwinArgs: []string{"parent", fmt.Sprint(int(unix.SIGCONT))}, Twin: Child,
		})
	}
	for _, sig := range []unix.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGABRT, unix.SIGTERM, unix.SIGSEGV, unix.SIGKILL, unix.SIGSTOP, unix.SIGUSR1} {
		list = append(list, Attack{
			Name: "signal " + unix.SignalName(sig), Act: "kill", Args: []string{"1", fmt.Sprint(int(sig))},
			TwinArgs: []string{"parent", fmt.Sprint(int(unix.SIGCONT))}, Twin: Child,
		})
	}
	list = append(list,
		Attack{Name: "outlive the command", Act: "survive", Args: []string{"{ws}/survivor"}, Evidence: "{ws}/survivor", Layer: "end of command"},
		Attack{Name: "outlive the command twice removed", Act: "survive", Args: []string{"{ws}/survivor2", "twice"}, Evidence: "{ws}/survivor2", Layer: "end of command"},
	)
	return in("others", "development", "seccomp, Landlock", list)
}

// kernelFiles: /proc, /sys and /dev speak of the sandbox alone and change
// nothing.
func kernelFiles() []Attack {
	var list []Attack
	for _, p := range []string{
		"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/kernel/modprobe", "/proc/sys/vm/drop_caches",
		"/proc/sys/net/ipv4/ip_forward", "/proc/sys/fs/file-max", "/proc/sys/kernel/randomize_va_space", "/proc/sysrq-trigger",
		"/proc/sys/user/max_user_namespaces", "/proc/irq/default_smp_affinity",
	} {
		list = append(list, Attack{Name: "open to write " + p, Act: "write-setting", Args: []string{p}})
	}
	for _, p := range []string{"/proc/kcore", "/proc/keys", "/proc/kallsyms", "/proc/timer_list", "/proc/interrupts", "/proc/slabinfo", "/proc/vmallocinfo", "/proc/kpagecount", "/proc/kpageflags", "/proc/pagetypeinfo"} {
		list = append(list, Attack{Name: "read " + p, Act: "read", Args: []string{p}})
	}
	for _, p := range []string{"/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/loop-control", "/dev/fuse", "/dev/kvm", "/dev/net/tun", "/dev/tty", "/dev/console", "/dev/vsock", "/dev/userfaultfd"} {
		list = append(list, Attack{Name: "open " + p, Act: "device", Args: []string{p}, Layer: "own /dev"})
	}
	for _, p := range []string{"/dev/null", "/dev/zero", "/dev/urandom", "/proc/meminfo", "/usr", "/usr/bin/true", "/etc/passwd"} {
		list = append(list, Attack{Name: "change the mode of " + p, Act: "same-mode", Args: []string{p}, Layer: "read-only mounts"})
	}
	return in("kernel", "development", "own /proc, masks", list)
}

// inheritance: nothing of whoever started the server comes along.
func inheritance() []Attack {
	return in("inherited", "development", "close on exec, empty environment", []Attack{
		{Name: "descriptor", Act: "inherited"},
		{Name: "variable", Act: "has-variable", Args: []string{secretVariable}},
		{Name: "ssh agent", Act: "has-variable", Args: []string{"SSH_AUTH_SOCK"}},
		{Name: "home", Act: "read", Args: []string{os.Getenv("HOME") + "/.bashrc"}, Layer: "mount namespace"},
	})
}
