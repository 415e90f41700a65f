package locale

import (
	"embed"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"sunaba/fault"
	"sunaba/internal/pattern"
)

//go:embed locales/*.json
var shipped embed.FS

// maxFileBytes bounds a user's locale file; the shipped ones are far smaller.
const maxFileBytes = 1 << 20

// identifier is the shape of a BCP 47 tag (I18N-04). It also keeps path
// characters out of the file name that is made from it.
var identifier = pattern.Lazy(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,7}$`)

// Load returns the catalogue of language id: the shipped texts, then those of
// Directories in that order, over English. Errors are of the locale family.
func Load(id string) (*Catalog, error) { return LoadFrom(id, Directories()...) }

// LoadFrom is Load with the given directories for the user's files; a later
// one overrides an earlier one. Directories that do not exist are skipped.
func LoadFrom(id string, dirs ...string) (*Catalog, error) {
	if !identifier().MatchString(id) {
		return nil, fault.New(fault.LocaleID, "locale", "id", id)
	}
	known, err := loadShipped(Fallback, nil)
	if err != nil {
		return nil, err
	}
	texts, _, err := loadUser(Fallback, dirs, known)
	if err != nil {
		return nil, err
	}
	merged := maps.Clone(known)
	maps.Copy(merged, texts)
	if id == Fallback {
		return &Catalog{id: id, texts: merged}, nil
	}
	embedded := slices.Contains(Shipped(), id)
	if embedded {
		own, err := loadShipped(id, known)
		if err != nil {
			return nil, err
		}
		maps.Copy(merged, own)
	}
	texts, found, err := loadUser(id, dirs, known)
	if err != nil {
		return nil, err
	}
	if !embedded && !found {
		return nil, fault.New(fault.LocaleMissing, "locale", "id", id,
			"available", strings.Join(available(dirs), ", "),
			"directories", strings.Join(dirs, ", "))
	}
	maps.Copy(merged, texts)
	return &Catalog{id: id, texts: merged}, nil
}

// Shipped returns the identifiers of the languages within the program, sorted.
func Shipped() []string {
	entries, _ := shipped.ReadDir("locales") // an embedded directory is always there
	var ids []string
	for _, e := range entries {
		ids = append(ids, strings.TrimSuffix(e.Name(), ".json"))
	}
	return ids
}

// Directories returns where a user's locale files are looked for: locales/
// beside the executable, then agent-mcp/locales in the user's configuration
// directory. Never the folder of agent.yaml, which a workspace may hold (C-92).
func Directories() []string {
	var dirs []string
	if exe, err := os.Executable(); err == nil {
		if resolved, err := filepath.EvalSymlinks(exe); err == nil {
			exe = resolved
		}
		dirs = append(dirs, filepath.Join(filepath.Dir(exe), "locales"))
	}
	if home := configHome(); home != "" {
		dirs = append(dirs, filepath.Join(home, "agent-mcp", "locales"))
	}
	return dirs
}

func loadShipped(id string, known map[string]string) (map[string]string, error) {
	name := "locales/" + id + ".json"
	data, err := shipped.ReadFile(name)
	if err != nil {
		return nil, fault.Wrap(err, fault.LocaleMissing, "locale", "id", id)
	}
	return parse(name, data, known)
}

// loadUser merges the files of id in dirs; found is false when there is none.
func loadUser(id string, dirs []string, known map[string]string) (texts map[string]string, found bool, err error) {
	texts = map[string]string{}
	for _, dir := range dirs {
		path := filepath.Join(dir, id+".json")
		data, err := readFile(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		own, err := parse(path, data, known)
		if err != nil {
			return nil, false, err
		}
		maps.Copy(texts, own)
		found = true
	}
	return texts, found, nil
}

// readFile reads a regular file of bounded size; a missing one is returned as
// the system's own error, everything else as a fault.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, err
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.LocaleUnreadable, "locale", "file", path)
	}
	if !info.Mode().IsRegular() { // a FIFO would block the start for ever
		return nil, fault.New(fault.LocaleUnreadable, "locale", "file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.Wrap(err, fault.LocaleUnreadable, "locale", "file", path)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fault.Wrap(err, fault.LocaleUnreadable, "locale", "file", path)
	}
	if len(data) > maxFileBytes {
		return nil, fault.New(fault.LocaleTooLarge, "locale", "file", path, "limit", "1 MiB")
	}
	return data, nil
}

// available lists what could be chosen instead, for the message.
func available(dirs []string) []string {
	ids := Shipped()
	for _, dir := range dirs {
		entries, _ := os.ReadDir(dir) // a directory that cannot be listed offers nothing
		for _, e := range entries {
			if id, ok := strings.CutSuffix(e.Name(), ".json"); ok && identifier().MatchString(id) {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
