package pod

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/gofrs/flock"

	"sunaba/fault"
)

// FileStore keeps each conversation in a file of one directory, one line of
// JSON for each Append. What Append has accepted survives a crash of the
// program and of the machine; of an Append that a crash interrupted nothing is
// seen afterwards. Files are readable by their owner only.
type FileStore struct {
	dir  string
	lock *flock.Flock

	mu     sync.Mutex
	closed bool
}

var _ Store = (*FileStore)(nil)

// OpenFileStore opens the store in dir, which is made with mode 0700 if it is
// missing. One process at a time may have it open: another gets pod.store. The
// caller closes it.
func OpenFileStore(dir string) (*FileStore, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = makeAll(dir)
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.PodStore, "open_store", "path", dir, "case", "open")
	}
	s := &FileStore{dir: dir, lock: flock.New(filepath.Join(dir, "lock"), flock.SetPermissions(0o600))}
	switch mine, err := s.lock.TryLock(); {
	case err != nil:
		return nil, fault.Wrap(err, fault.PodStore, "open_store", "path", dir, "case", "open")
	case !mine:
		return nil, fault.New(fault.PodStore, "open_store", "path", dir, "case", "locked")
	}
	return s, nil
}

// makeAll makes dir and its parents so that their names survive a crash.
func makeAll(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	above := filepath.Dir(dir)
	if above != dir {
		if err := makeAll(above); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(above)
}

// Close lets others open the store; every later use fails.
func (s *FileStore) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.lock.Close()
}

// Append implements Store. It returns after the messages have reached the disk.
func (s *FileStore) Append(ctx context.Context, id SessionID, messages ...Message) error {
	line, err := encode(ctx, id, messages)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		err = fs.ErrClosed
	} else {
		err = s.append(id, line)
	}
	if err != nil && fault.CodeOf(err) == "" {
		err = fault.Wrap(err, fault.PodStore, "append", "session", string(id), "case", "write")
	}
	return err
}

// append writes line behind what is whole in the file, over a torn end; what
// then remains of that end has no line feed and does not count either.
func (s *FileStore) append(id SessionID, line []byte) (err error) {
	f, made, err := s.openToAppend(id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	end, err := endOfWhole(f)
	if err != nil {
		return err
	}
	if end+int64(len(line)) > maxSession {
		return full(id)
	}
	if _, err = f.WriteAt(line, end); err == nil {
		err = f.Sync()
	}
	if err == nil && (made || end == 0) { // an earlier Append may have made it and failed
		err = syncDir(s.dir)
	}
	if err != nil { // whatever arrived must not count later
		return errors.Join(err, f.Truncate(end), f.Sync())
	}
	return nil
}

func (s *FileStore) openToAppend(id SessionID) (f *os.File, made bool, err error) {
	f, err = os.OpenFile(s.path(id), os.O_RDWR|noFollow, 0)
	if errors.Is(err, fs.ErrNotExist) {
		made = true
		f, err = os.OpenFile(s.path(id), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	return f, made, err
}

// sizeOf returns the length of a session's file; what is not a file has none.
func sizeOf(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not an ordinary file")
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// endOfWhole returns the length of f up to its last line feed.
func endOfWhole(f *os.File) (end int64, err error) {
	if end, err = sizeOf(f); err != nil {
		return 0, err
	}
	block := make([]byte, 4096)
	for end > 0 {
		from := max(0, end-int64(len(block)))
		part := block[:end-from]
		if _, err := f.ReadAt(part, from); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		end = from
	}
	return 0, nil
}

// Messages implements Store.
func (s *FileStore) Messages(ctx context.Context, id SessionID) ([]Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !id.valid() {
		return nil, unknownSession("messages", id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	data, err := s.read(id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, unknownSession("messages", id)
	case err != nil:
		return nil, fault.Wrap(err, fault.PodStore, "messages", "session", string(id), "case", "read")
	}
	messages, whole, err := decode(id, data)
	if err == nil && whole == 0 { // its first Append never returned
		return nil, unknownSession("messages", id)
	}
	return messages, err
}

func (s *FileStore) read(id SessionID) ([]byte, error) {
	if s.closed {
		return nil, fs.ErrClosed
	}
	f, err := os.OpenFile(s.path(id), os.O_RDONLY|noFollow, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size, err := sizeOf(f); err != nil {
		return nil, err
	} else if size > maxSession {
		return nil, errors.New("longer than a session can be")
	}
	return io.ReadAll(io.LimitReader(f, maxSession))
}

func (s *FileStore) path(id SessionID) string {
	return filepath.Join(s.dir, "session-"+string(id)+".jsonl")
}
