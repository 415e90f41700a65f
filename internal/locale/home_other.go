//go:build !windows

package locale

import (
	"os"
	"os/user"
	"path/filepath"
)

// configHome is $XDG_CONFIG_HOME when absolute, else ~/.config, with the home
// of the user database when HOME is unset; "" when there is no home at all.
func configHome() string {
	if dir := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	home := os.Getenv("HOME")
	if !filepath.IsAbs(home) {
		u, err := user.Current()
		if err != nil || !filepath.IsAbs(u.HomeDir) {
			return ""
		}
		home = u.HomeDir
	}
	return filepath.Join(home, ".config")
}
