package scopedfs

import "golang.org/x/sys/unix"

// casefold is FS_CASEFOLD_FL of linux/fs.h: set on the directories of ext4,
// f2fs and tmpfs that fold names.
const casefold = 0x40000000

// Magic numbers of volumes that fold and that x/sys does not name.
const (
	ntfs    = 0x5346544e
	ntfs3   = 0x7366746e
	hfs     = 0x4244
	hfsPlus = 0x482b
)

// foldsNames reports whether directory dir takes names that differ only in
// case for one. It asks the volume, never guesses from the system; a directory
// that does not answer counts as folding, which only narrows.
func foldsNames(dir handle) bool {
	var volume unix.Statfs_t
	if unix.Fstatfs(int(dir), &volume) != nil {
		return true
	}
	switch uint32(volume.Type) {
	case unix.MSDOS_SUPER_MAGIC, unix.EXFAT_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC,
		unix.CIFS_SUPER_MAGIC, ntfs, ntfs3, hfs, hfsPlus:
		return true
	case unix.EXT4_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC:
		open, err := dir.openDir(".", "")
		if err != nil {
			return true
		}
		defer open.Close()
		flags, err := unix.IoctlGetUint32(int(open.Fd()), unix.FS_IOC_GETFLAGS)
		return err == nil && flags&casefold != 0
	}
	return false
}
