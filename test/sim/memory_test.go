package sim_test

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
)

// maxRemembered is the number of names that a meter remembers to recognize repeats, in addition to its open
// reservations. A name is one of three things: the ID of a request that reserves nothing, the ID of a request whose
// reservation has ended, or a mark that a lease was closed.
const maxRemembered = 32

func (k *key) remember(name string) {
	if k.remembers(name) {
		return
	}
	k.remembered++
	k.rememberedAt[name] = k.remembered
}

func closedName(lease uint64) string { return "closed " + strconv.FormatUint(lease, 36) }

// knows reports whether the meter recognizes a repeat.
func (k *key) knows(name string) bool { return k.open[name] != nil || k.remembers(name) }

func (k *key) remembers(name string) bool {
	at := k.rememberedAt[name]
	return at > 0 && k.remembered < at+maxRemembered
}

func (k *key) addReservation(v *reservation) {
	k.reserved++
	v.number = k.reserved
	k.open[v.x.id], k.all[v.x.id] = v, v
}

// openInOrder returns the open reservations in the order in which the meter made them.
func (k *key) openInOrder() []*reservation {
	return slices.SortedFunc(maps.Values(k.open), func(a, b *reservation) int { return cmp.Compare(a.number, b.number) })
}
