package keymeter

import (
	"bytes"
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/ledger"
)

// reservation is an amount reserved for a request in progress. Its byte slices share memory with the meter's row.
type reservation struct {
	id         []byte
	admittedMs uint64
	expiresMs  uint64
	placement
	amountPico int64
	model      []byte
	idem       []byte
}

func (r *reservation) fields(f *abi.Fields) {
	r.ownFields(f)
	r.othersFields(f)
}

// ownFields lists the fields of a reservation without levels above the project.
func (r *reservation) ownFields(f *abi.Fields) {
	f.Bytes(&r.id)
	f.Uint(&r.admittedMs)
	f.Uint(&r.expiresMs)
	ledger.PeriodFields(f, &r.period)
	f.Int(&r.amountPico)
	f.Bytes(&r.model)
	f.Bytes(&r.idem)
}

// openReservation is a reservation in the meter. It stays encoded, because a command needs only one of possibly
// hundreds. A reservation from before budgets had cycles therefore keeps its period in the old format until it ends.
// All versions read both formats.
type openReservation struct {
	encoded   []byte
	expiresMs uint64
}

func openReservationFields(f *abi.Fields, o *openReservation) {
	f.Encoded(&o.encoded, func() {
		var r reservation
		r.ownFields(f)
		o.expiresMs = r.expiresMs
	})
}

// treeReservationFields is the form in a meter with levels above the project.
func treeReservationFields(f *abi.Fields, o *openReservation) {
	if f.Bytes(&o.encoded); f.Reading() {
		var r reservation
		if abi.DecodeFields(o.encoded, r.fields) != nil {
			f.Fail()
		}
		o.expiresMs = r.expiresMs
	}
}

func (r *reservation) open() openReservation {
	return openReservation{abi.EncodeFields(0, 96, r.fields), r.expiresMs}
}

func (o *openReservation) decode() (r reservation) {
	_ = abi.DecodeFields(o.encoded, r.fields) // checked when the row was read
	return r
}

// findReservation returns the index of a request's open reservation, or -1.
func (m *meter) findReservation(id string) int {
	var start abi.Writer
	start.String(id)
	return slices.IndexFunc(m.reservations, func(o openReservation) bool { return bytes.HasPrefix(o.encoded, start.Buf) })
}

// removeReservation removes and returns the open reservation of a request.
func (m *meter) removeReservation(id string) (r reservation, ok bool) {
	i := m.findReservation(id)
	if i < 0 {
		return r, false
	}
	r = m.reservations[i].decode()
	m.reservations = slices.Delete(m.reservations, i, i+1)
	return r, true
}
