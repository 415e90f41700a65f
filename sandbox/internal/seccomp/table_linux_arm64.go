package seccomp

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// lastSyscall is the highest number this table was written for.
const lastSyscall = 469

var machineForbidden = []uint32{
	unix.SYS_KEXEC_FILE_LOAD, unix.SYS_NFSSERVCTL,
	467, // open_tree_attr
}

var machineModeSetting []modeCall // only those that every machine has

var machineStarting []uint32

var machineByPath []uint32
