package mcpserver

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

const childURL = "MCPSERVER_TEST_POST"

// TestMain turns the test program into a client that posts one call and prints
// the status: a process of another user needs a program of its own.
func TestMain(m *testing.M) {
	if url := os.Getenv(childURL); url != "" {
		r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		if err == nil {
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			var resp *http.Response
			if resp, err = http.DefaultClient.Do(r); err == nil {
				fmt.Println(resp.StatusCode)
				os.Exit(0)
			}
		}
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// statusAs posts to url as another user and returns the answer's status.
func statusAs(t *testing.T, uid int, url string) int {
	t.Helper()
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	cmd := exec.Command("/proc/self/fd/3")
	cmd.ExtraFiles = []*os.File{self}
	cmd.Dir = "/"
	cmd.Env = []string{childURL + "=" + url}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	status, parseErr := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil || parseErr != nil {
		t.Fatalf("as user %d: %v: %s", uid, err, out)
	}
	return status
}
