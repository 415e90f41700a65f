package spelling

import "testing"

// What Fold made is what Fold leaves alone.
func TestFold(t *testing.T) {
	for path, want := range map[string]string{
		"/": "/", "/a/b": "/a/b", "/A/ß": "/a/ss", "/a/.": "/a/.", "/a/...": "/a/...", "/a. /b..": "/a/b",
		"/\u200d": "/\u200d", "/ΑΛΦΑΣ": "/αλφασ", "/か\u3099": "/が", "/\u1fb4": "/άι", "/\u03b1\u0345\u0301": "/άι",
	} {
		if got := Fold(path); got != want || Fold(got) != got {
			t.Errorf("Fold(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestShortened(t *testing.T) {
	known := func(path string) bool { return path == "/real~1" || path == "/real~1/b~2" }
	for path, want := range map[string]string{
		"/a/SECRET~1.KEY": "/a", "/a/b~12/c": "/a", "/x~1": "/", "/a/secrets~1": "", "/a/x~y": "", "/a/b~1.json": "", "/a/b": "",
		"/real~1": "", "/real~1/a": "", "/real~1/a~1": "/real~1", "/real~1/b~2/c/d~1": "/real~1/b~2/c", "/a/real~1": "/a",
	} {
		if got, ok := Shortened(path, known); got != want || ok != (want != "") {
			t.Errorf("Shortened(%q) = %q, %v, want %q", path, got, ok, want)
		}
	}
}
