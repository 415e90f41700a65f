package demo

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sunaba/internal/audit"
)

// before shows that what is refused later works without the sandbox: the
// attempts are real ones. It also shows that the job is not done yet.
func (s *stage) before(ctx context.Context, shell, probe string, d *door) error {
	if err := s.check(ctx, shell); err == nil {
		return errors.New("check.sh succeeds before anything was done")
	}
	if err := os.WriteFile(s.outside, []byte("free"), 0o600); err != nil {
		return err
	}
	if err := os.Remove(s.outside); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, shell, "-c", "cat '"+s.secret+"'").Output(); err != nil || !strings.Contains(string(out), s.token) {
		return errors.New("the secret cannot be read even without the sandbox")
	}
	if err := exec.CommandContext(ctx, probe, "connect", d.address()).Run(); err != nil {
		return err
	}
	for range 200 { // the door counts a visit only once it has let it in
		if d.visits.Load() > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if d.visits.Load() == 0 {
		return errors.New("the network cannot be reached even without the sandbox")
	}
	return nil
}

// check runs the project's own check.
func (s *stage) check(ctx context.Context, shell string) error {
	cmd := exec.CommandContext(ctx, shell, "check.sh")
	cmd.Dir = s.project
	return cmd.Run()
}

// leaked returns the first file of the logs, the state and the workspace that
// holds the secret, or "".
func (s *stage) leaked() (string, error) {
	var found string
	for _, dir := range []string{s.state, s.project} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || found != "" || !e.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(path)
			if err == nil && bytes.Contains(b, []byte(s.token)) {
				found = path
			}
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return found, nil
}

// chained reports whether every audit file is an unbroken chain.
func (s *stage) chained() bool {
	files := s.logs("audit")
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			return false
		}
		_, _, err = audit.Verify(f, "")
		f.Close()
		if err != nil {
			return false
		}
	}
	return len(files) > 0
}

// missing reports whether nothing exists at path.
func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}
