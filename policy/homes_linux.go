package policy

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// homes returns the resolved home directories of people and of root, from the
// user database and from HOME. Service accounts, whose homes are directories
// of the system, do not count.
func homes() []string {
	var found []string
	add := func(path string) {
		if !filepath.IsAbs(path) || path == "/" {
			return
		}
		if resolved, err := resolve(filepath.Clean(path)); err == nil {
			found = append(found, resolved)
		}
	}
	add(os.Getenv("HOME"))
	if f, err := os.Open("/etc/passwd"); err == nil {
		defer f.Close()
		for _, home := range passwdHomes(f, os.Getuid()) {
			add(home)
		}
	}
	return found
}

// passwdHomes reads the home directories of root, of self and of ordinary
// users from a user database.
func passwdHomes(database io.Reader, self int) []string {
	const firstPerson, nobody = 1000, 65534
	var found []string
	lines := bufio.NewScanner(database)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) < 7 {
			continue
		}
		uid, err := strconv.Atoi(fields[2])
		if err == nil && (uid == 0 || uid == self || uid >= firstPerson && uid != nobody) {
			found = append(found, fields[5])
		}
	}
	return found
}

func executable(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&0o111 != 0
}
