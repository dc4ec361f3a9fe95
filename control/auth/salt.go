package auth

import (
	"context"
	"io"
	"sync"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/directory"
)

// saltKey is the key of the Directory document with the salt. The salt consists of random bytes. Sessions are signed
// with the salt and a role's token. Without the salt, anyone with a copied cookie could guess the token offline,
// without limit and unnoticed.
const (
	saltKey   = "c/salt"
	saltBytes = 32
)

// salt caches the document under saltKey in this instance. Concurrent requests may each read the document, because no
// request waits for another request's I/O.
type salt struct {
	mu    sync.Mutex
	bytes []byte
}

// sessionSalt returns the salt and creates it on first use.
func (auth *Authenticator) sessionSalt(ctx context.Context) ([]byte, error) {
	if known := auth.salt.get(); known != nil {
		return known, nil
	}
	for range kernel.MaxAttempts {
		document, err := auth.Store.ReadForWrite(ctx, saltKey)
		if err != nil {
			return nil, err
		}
		if document.Version > 0 {
			auth.salt.set(document.Value)
			return document.Value, nil
		}
		document.Value = make([]byte, saltBytes)
		if _, err := io.ReadFull(auth.Rand, document.Value); err != nil {
			return nil, err
		}
		if _, err := auth.Store.Commit(ctx, kernel.Change{Writes: []directory.Write{document}}); err != nil {
			return nil, err
		}
	}
	return nil, kernel.ErrConflict
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
