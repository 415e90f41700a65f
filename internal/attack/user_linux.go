package attack

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// ordinary is a user that no one else is.
const ordinary = 61002

// AsUser runs this program once more as an ordinary user, from a copy that it
// may read, with args; what it prints goes where ours goes.
func AsUser(args []string) (err error) {
	dir, err := os.MkdirTemp("", "sunaba-attack-user-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removeAll(dir)) }()
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	copied := filepath.Join(dir, "attack")
	if err := errors.Join(os.WriteFile(copied, program, 0o755), os.Chmod(copied, 0o755), os.Chmod(dir, 0o755), os.Mkdir(dir+"/tmp", 0o700), os.Chown(dir+"/tmp", ordinary, ordinary)); err != nil {
		return err
	}
	c := exec.Command(copied, args...)
	c.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + dir, "TMPDIR=" + dir + "/tmp"}
	c.Dir, c.Stdout, c.Stderr = dir, os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	fmt.Println()
	return c.Run()
}
