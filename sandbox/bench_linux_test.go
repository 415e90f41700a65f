package sandbox

import (
	"context"
	"os/exec"
	"testing"
)

// BenchmarkStart measures making and removing one Task's sandbox; its floor
// is one plain fork and exec of this same binary.
func BenchmarkStart(b *testing.B) {
	f := policyOnly(b)
	for b.Loop() {
		s, err := Start(context.Background(), Options{Policy: f.p})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkCommand measures one command inside a standing sandbox, against
// plain fork, exec and capture in the same process.
func BenchmarkCommand(b *testing.B) {
	b.Run("sandboxed", func(b *testing.B) {
		f := policyOnly(b)
		f.start()
		for b.Loop() {
			if r := f.call("run", order{Argv: []string{"/usr/bin/true"}}); r.Err != "" || r.ExitCode != 0 {
				b.Fatalf("%+v", r)
			}
		}
	})
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			if _, err := exec.Command("/usr/bin/true").CombinedOutput(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
