package sim_test

// rng is a splitmix64 generator. It is small and fast, and gives the same numbers on every platform.
type rng struct{ s uint64 }

func (r *rng) next() uint64 {
	r.s += 0x9e3779b97f4a7c15
	z := r.s
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a number in [0, n), or 0 if n is 0.
func (r *rng) below(n uint64) uint64 {
	if n == 0 {
		return 0
	}
	return r.next() % n
}

// between returns a number in [low, high].
func (r *rng) between(low, high uint64) uint64 { return low + r.below(high-low+1) }

// one returns true with probability 1/n.
func (r *rng) one(n uint64) bool { return r.below(n) == 0 }

// fork returns a separate generator for a use that has a number.
func fork(seed, use uint64) *rng {
	r := &rng{seed ^ use*0xd1342543de82ef95}
	r.next()
	return r
}

func pick[T any](r *rng, values ...T) T { return values[r.below(uint64(len(values)))] }
