package seccomp

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// lastSyscall is the highest number this table was written for.
const lastSyscall = 469

var machineForbidden = []uint32{
	unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS_SYSFS,
	unix.SYS__SYSCTL, unix.SYS_NFSSERVCTL, unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE,
	467, // open_tree_attr
}

var machineModeSetting = []modeCall{{unix.SYS_CHMOD, 1}}

var machineStarting = []uint32{unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_INOTIFY_INIT}

var machineByPath = []uint32{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}
