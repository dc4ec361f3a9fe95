package inspect

// list is a stack that grows in chunks. Growing a slice would copy it, and the old copies would never be freed.
type list[T any] struct {
	chunks [][]T
	count  int
}

const chunk = 64

func (l *list[T]) at(i int) *T { return &l.chunks[i/chunk][i%chunk] }

func (l *list[T]) push(one T) {
	if l.count == len(l.chunks)*chunk {
		l.chunks = append(l.chunks, make([]T, chunk))
	}
	l.chunks[l.count/chunk][l.count%chunk] = one
	l.count++
}
