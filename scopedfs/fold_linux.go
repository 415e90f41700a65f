package scopedfs

import "golang.org/x/sys/unix"

// casefold is FS_CASEFOLD_FL of linux/fs.h: set on the directories of ext4,
// f2fs and tmpfs that fold names.
const casefold = 0x40000000

// foldsNames reports whether directory dir takes names that differ only in
// case for one. It asks the volume, never guesses from the system; a directory
// that does not answer, and a volume that is not known to tell upper from lower
// case (FAT, NTFS, SMB, and whatever a 9P, FUSE or NFS server passes on), count
// as folding, which only narrows.
func foldsNames(dir handle) bool {
	var volume unix.Statfs_t
	if unix.Fstatfs(int(dir), &volume) != nil {
		return true
	}
	switch uint32(volume.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC:
		open, err := dir.openDir(".", "")
		if err != nil {
			return true
		}
		defer open.Close()
		flags, err := unix.IoctlGetUint32(int(open.Fd()), unix.FS_IOC_GETFLAGS)
		return err == nil && flags&casefold != 0
	case unix.BTRFS_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.RAMFS_MAGIC, unix.SQUASHFS_MAGIC,
		unix.EROFS_SUPER_MAGIC_V1, unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.DEVPTS_SUPER_MAGIC:
		return false
	}
	return true
}
