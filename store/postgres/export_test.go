package postgres

import "github.com/postern-ai/postern/store"

// Queued returns the number of an object's commands that wait for the next transaction.
func (s *Store) Queued(o store.Object) int {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	if t := s.queue.objects[o]; t != nil {
		return len(t.waiting)
	}
	return 0
}
