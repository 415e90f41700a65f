package seccomp

import "golang.org/x/sys/unix"

// forbidden are refused to everything in the sandbox, the Worker included:
// mounting and namespaces, other processes' memory and descriptors, kernel
// keyring, tracing, kernel programs, handles that bypass paths, time and host
// state.
var forbidden = append([]uint32{
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
	unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_LOOKUP_DCOOKIE,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT,
	unix.SYS_FANOTIFY_INIT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_ACCT, unix.SYS_SWAPON, unix.SYS_SWAPOFF,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_PERSONALITY,
}, machineForbidden...)

// signalling take a process or thread-group id as their first argument. Where
// the kernel scopes signals (Landlock version 6) this is the second lock.
var signalling = []uint32{
	unix.SYS_KILL, unix.SYS_TGKILL, unix.SYS_TKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_PIDFD_OPEN,
}

// startingOrShared start programs or processes, or reach what a user's processes
// have in common: sockets, System V objects, message queues, watches, priorities.
var startingOrShared = append([]uint32{
	unix.SYS_EXECVE, unix.SYS_EXECVEAT,
	unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4,
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK, unix.SYS_MQ_NOTIFY,
	unix.SYS_INOTIFY_INIT1, unix.SYS_INOTIFY_ADD_WATCH,
	unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET, unix.SYS_SETPGID, unix.SYS_SETSID,
	unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES, unix.SYS_PROCESS_MRELEASE,
}, machineStarting...)

// byPath change modes, owners, times and attributes of what a path names: no
// kernel rule on paths covers them.
var byPath = append([]uint32{
	unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR,
	unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
}, machineByPath...)

// byHandle do so with what is open, if only for reading.
var byHandle = []uint32{unix.SYS_FCHMOD, unix.SYS_FCHOWN, unix.SYS_FSETXATTR, unix.SYS_FREMOVEXATTR}

// Controls that change a file's flags through a handle that is open for reading.
const (
	fsSetFlags = 0x40086602
	fsSetXattr = 0x401c5820
)

// fileControls are the ioctls that any kind of file may have: flags, extents,
// clones of contents, the volume's name, the size of a block.
var fileControls = []uint32{
	0x00000002, 0x00000001, // FIGETBSZ, FIBMAP
	0x80086601, fsSetFlags, 0x80046601, 0x40046602, 0x80087601, // FS_IOC_GETFLAGS, SETFLAGS, of 32 bits, GETVERSION
	0x801c581f, fsSetXattr, // FS_IOC_FSGETXATTR, FSSETXATTR
	0xc020660b, 0x40049409, 0x4020940d, 0xc0189436, // FS_IOC_FIEMAP, FICLONE, FICLONERANGE, FIDEDUPERANGE
	0x81009431, 0x80111500, 0x80811501, // FS_IOC_GETFSLABEL, GETFSUUID, GETFSSYSFSPATH
	0x400c6615, 0xc0096616, 0xc0046686, // FS_IOC_GET_ENCRYPTION_POLICY, _EX, MEASURE_VERITY
}

// modeSetting are the calls that change a mode, and which argument it is. None
// may make a set-user-id program: in the sandbox it is one like any other, but
// the workspace is on the host, where whoever started it would act as its owner.
// One that is created with the bit is empty, and loses it when it is written.
var modeSetting = append([]modeCall{
	{unix.SYS_FCHMOD, 1}, {unix.SYS_FCHMODAT, 2}, {unix.SYS_FCHMODAT2, 2},
}, machineModeSetting...)

type modeCall struct {
	nr  uint32
	arg int
}

// scheduling take a thread id first; only a thread's own, 0, is its business.
var scheduling = []uint32{
	unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR,
}

// prioUser is the first argument that means everything of a user.
var prioUser = map[uint32]uint32{unix.SYS_SETPRIORITY: unix.PRIO_USER, unix.SYS_IOPRIO_SET: 3}
