package control

import (
	"context"
	"io"
	"sync"

	"github.com/postern-ai/postern/core/directory"
)

// saltKey is the Directory's document with random bytes that, besides the token, go into the signatures of
// sessions. Without them, a copied cookie would allow guessing the token offline, unlimited and unnoticed.
const (
	saltKey   = "c/salt"
	saltBytes = 32
)

// salt caches that document in this instance. Two requests may read it concurrently: neither waits for the
// other's I/O.
type salt struct {
	mu    sync.Mutex
	bytes []byte
}

// sessionSalt reads the salt, and creates it at its first use.
func (h *handler) sessionSalt(ctx context.Context) ([]byte, error) {
	if known := h.salt.get(); known != nil {
		return known, nil
	}
	for range maxAttempts {
		document, err := h.store.readForWrite(ctx, saltKey)
		if err != nil {
			return nil, err
		}
		if document.Version > 0 {
			h.salt.set(document.Value)
			return document.Value, nil
		}
		document.Value = make([]byte, saltBytes)
		if _, err := io.ReadFull(h.Rand, document.Value); err != nil {
			return nil, err
		}
		if _, err := h.store.commit(ctx, change{writes: []directory.Write{document}}); err != nil {
			return nil, err
		}
	}
	return nil, errConflict
}

func (s *salt) get() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

func (s *salt) set(bytes []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes = bytes
}
