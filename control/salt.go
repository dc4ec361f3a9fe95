package control

import (
	"context"
	"io"
	"sync"

	"github.com/postern-ai/postern/core/directory"
)

// saltKey is the Directory's document of random bytes that sessions' signatures are made with besides the
// token. Without them somebody could try tokens out on a copied cookie, as fast as a machine can and unseen.
const (
	saltKey   = "c/salt"
	saltBytes = 32
)

// salt is what an instance remembers of that document. Two requests may read it at once: neither waits for
// the other's I/O.
type salt struct {
	mu    sync.Mutex
	bytes []byte
}

// sessionSalt reads the salt, and makes it if this is the first time.
func (h *handler) sessionSalt(ctx context.Context) ([]byte, error) {
	if known := h.salt.get(); known != nil {
		return known, nil
	}
	for range maxAttempts {
		document, err := h.store.asRead(ctx, saltKey)
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
