package pattern

import (
	"sync"
	"testing"
)

func TestLazy(t *testing.T) {
	word := Lazy(`^[a-z]+$`)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if re := word(); re != word() || !re.MatchString("word") || re.MatchString("a word") {
				t.Error("not the pattern, or not the same one")
			}
		})
	}
	all.Wait()

	broken := Lazy(`(`)
	defer func() {
		if recover() == nil {
			t.Error("a broken pattern was taken")
		}
	}()
	broken()
}
