package locale

import "os"

// configHome is %AppData%, or "" when it is not set.
func configHome() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return dir
}
