package config

import (
	"math"
	"strconv"
	"strings"
	"time"

	"sunaba/internal/pattern"
)

// The written forms that are read as numbers; everything else that merely
// looks like one is refused instead of guessed.
var (
	integerForm = pattern.Lazy(`^-?(0|[1-9][0-9]*)$`)
	decimalForm = pattern.Lazy(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)
	sizeForm    = pattern.Lazy(`^(0|[1-9][0-9]*)(KiB|MiB|GiB)?$`)

	// What one YAML reader or another takes for a number or a date: octal,
	// hexadecimal, underscores, exponents, base 60, infinities.
	numberLike = pattern.Lazy(`^[-+]?(\.?[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?|0[xob][0-9a-fA-F_]+|[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?|\.(inf|Inf|INF))$|^\.(nan|NaN|NAN)$|^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?$`)
)

// ambiguous reports whether a plain scalar is a boolean, a null or a number to
// some YAML reader, so that as text it has to be quoted.
func ambiguous(text string) bool {
	switch strings.ToLower(text) {
	case "", "~", "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		return true
	}
	return numberLike().MatchString(text)
}

func parseSize(text string) (int64, bool) {
	m := sizeForm().FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return 0, false
	}
	shift := map[string]uint{"": 0, "KiB": 10, "MiB": 20, "GiB": 30}[m[2]]
	if n > math.MaxInt64>>shift {
		return 0, false
	}
	return n << shift, true
}

// formatSize writes n in the largest unit that divides it.
func formatSize(n int64) string {
	for _, u := range []struct {
		shift uint
		name  string
	}{{30, "GiB"}, {20, "MiB"}, {10, "KiB"}} {
		if n > 0 && n&(1<<u.shift-1) == 0 {
			return strconv.FormatInt(n>>u.shift, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// formatDuration writes d without the zero parts Go appends: "10m", not
// "10m0s".
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
