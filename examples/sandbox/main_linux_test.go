package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"sunaba/sandbox"
)

func TestMain(m *testing.M) {
	if sandbox.InWorker() {
		_ = sandbox.Serve(sandbox.Commands)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// The example does what it says: inside the folder all, outside nothing.
func Example_inFolder() {
	base, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(base)
	folder := filepath.Join(base, "folder")
	if err := os.Mkdir(folder, 0o755); err != nil {
		fmt.Println(err)
		return
	}
	script := "echo kept > inside; cat inside; (echo lost > ../outside) 2>/dev/null || echo refused; cat /etc/shadow 2>/dev/null || echo hidden"
	if err := inFolder(folder, script); err != nil {
		fmt.Println(err)
	}
	_, err = os.Stat(filepath.Join(base, "outside"))
	fmt.Println("outside:", os.IsNotExist(err))
	// Output:
	// kept
	// refused
	// hidden
	// exit code 0
	// outside: true
}
