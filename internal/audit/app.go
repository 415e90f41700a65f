package audit

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"sunaba/fault"
)

// maxAttr bounds every text of the application log, in bytes: facts fit,
// prompts and file contents do not.
const maxAttr = 512

// OpenAppLog returns the application's logger: text on stderr and JSON in a
// new file app-<start>-<pid>.log (0600) in dir (0700), both from level on
// (debug, info, warn, error). Messages and attributes are redacted, with the
// given secret values, and cut (S1-222..226). The caller closes the file.
func OpenAppLog(dir string, start time.Time, level string, stderr io.Writer, secrets ...string) (*slog.Logger, io.Closer, error) {
	var lowest slog.Level
	if err := lowest.UnmarshalText([]byte(level)); err != nil {
		return nil, nil, fault.Wrap(err, fault.ConfigValue, "log", "key", "logging.level", "value", level)
	}
	f, err := diagnostic(dir, "app", ".log", start)
	if err != nil {
		return nil, nil, err
	}
	r := NewRedactor(secrets...)
	o := &slog.HandlerOptions{Level: lowest, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		a.Value = r.value(a.Value)
		return a
	}}
	return slog.New(slog.NewMultiHandler(slog.NewTextHandler(stderr, o), slog.NewJSONHandler(f, o))), f, nil
}

// value keeps numbers, booleans and times, and turns all else into bounded,
// redacted text.
func (r *Redactor) value(v slog.Value) slog.Value {
	switch v.Kind() {
	case slog.KindString:
		return slog.StringValue(r.short(v.String()))
	case slog.KindAny:
		switch x := v.Any().(type) {
		case slog.Level:
			return v
		case []byte:
			return slog.StringValue(fmt.Sprintf("[%d bytes]", len(x)))
		default:
			return slog.StringValue(r.short(fmt.Sprint(x)))
		}
	default:
		return v
	}
}

// short redacts first and cuts then, and says how much it cut.
func (r *Redactor) short(s string) string {
	s = strings.ToValidUTF8(r.Redact(s), "\ufffd")
	if len(s) <= maxAttr {
		return s
	}
	cut := maxAttr
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… [%d more bytes]", s[:cut], len(s)-cut)
}
