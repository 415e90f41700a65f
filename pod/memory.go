package pod

import (
	"context"
	"sync"
)

// MemoryStore keeps conversations until the process ends. Its zero value is
// ready; it must not be copied.
type MemoryStore struct {
	mu       sync.Mutex
	sessions map[SessionID][]byte // encoded, so that nothing is shared with callers
}

// NewMemoryStore returns an empty MemoryStore.
func NewMemoryStore() *MemoryStore { return new(MemoryStore) }

var _ Store = (*MemoryStore)(nil)

// Append implements Store.
func (s *MemoryStore) Append(ctx context.Context, id SessionID, messages ...Message) error {
	line, err := encode(ctx, id, messages)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sessions[id])+len(line) > maxSession {
		return full(id)
	}
	if s.sessions == nil {
		s.sessions = make(map[SessionID][]byte)
	}
	s.sessions[id] = append(s.sessions[id], line...)
	return nil
}

// Messages implements Store.
func (s *MemoryStore) Messages(ctx context.Context, id SessionID) ([]Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	data, ok := s.sessions[id]
	s.mu.Unlock()
	if !ok {
		return nil, unknownSession("messages", id)
	}
	messages, _, err := decode(id, data) // appends only write behind data
	return messages, err
}
