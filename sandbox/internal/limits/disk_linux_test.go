package limits

import (
	"path/filepath"
	"testing"
)

// Covers: SD-28
func TestDisks(t *testing.T) {
	d := Disks{paths: []string{"a", "b"}, floors: []room{{100, 10}, {1000, 10}}}
	plenty := []room{{500, 50}, {5000, 50}}
	for name, row := range map[string]struct {
		before, now []room
		passed      bool
	}{
		"nothing taken":          {plenty, plenty, false},
		"above the floor":        {plenty, []room{{100, 10}, {1000, 10}}, false},
		"bytes of the first":     {plenty, []room{{99, 50}, {5000, 50}}, true},
		"bytes of the second":    {plenty, []room{{500, 50}, {999, 50}}, true},
		"inodes":                 {plenty, []room{{500, 9}, {5000, 50}}, true},
		"beneath, takes nothing": {[]room{{50, 5}, {5000, 50}}, []room{{50, 5}, {5000, 50}}, false},
		"beneath, makes room":    {[]room{{50, 5}, {5000, 50}}, []room{{80, 8}, {5000, 50}}, false},
		"beneath, takes more":    {[]room{{50, 5}, {5000, 50}}, []room{{49, 5}, {5000, 50}}, true},
	} {
		if got := d.passed(row.before, row.now); got != row.passed {
			t.Errorf("%s: %t", name, got)
		}
	}
	real, err := WatchDisks([]string{t.TempDir(), filepath.Join(t.TempDir(), "none")})
	if err != nil || len(real.paths) != 1 || real.floors[0].bytes <= 0 || real.floors[0].bytes > diskFloor {
		t.Errorf("%+v, %v", real, err)
	}
	if look := real.look(); real.passed(look, look) {
		t.Errorf("%+v", look)
	}
}
