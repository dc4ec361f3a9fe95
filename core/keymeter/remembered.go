package keymeter

import "slices"

// maxAdmittedHashes is the number of admissions without an open reservation that a meter remembers, to recognize
// repeats. Such requests reserved nothing or are already settled. A few are enough, because a host repeats a call
// immediately if its reply is lost. Of these, maxClosedHashes are for closed leases: admissions do not displace them,
// because an Admit that asks for a lease may arrive long after the lease was closed.
const (
	maxAdmittedHashes = 32
	maxClosedHashes   = 8
)

// rememberAdmission remembers an admission, so that a repeat does not count twice.
func (m *meter) rememberAdmission(requestID string) { m.rememberHash(hashID(requestID) &^ 1) }

// rememberClosed remembers a closed lease, so that a late Admit does not create it again.
func (m *meter) rememberClosed(lease uint64) { m.rememberHash(closedHash(lease)) }

// rememberHash remembers a hash, whose lowest bit is set for a closed lease.
func (m *meter) rememberHash(hash uint64) {
	if m.knowsHash(hash) {
		return // an expired reservation that is settled late
	}
	if len(m.admittedHashes) == maxAdmittedHashes {
		m.forgetOldest()
	}
	m.admittedHashes = append(m.admittedHashes, hash)
}

// forgetOldest forgets the oldest closed lease if there are more of them than their share, and otherwise the oldest
// admission.
func (m *meter) forgetOldest() {
	var closed uint64
	for _, hash := range m.admittedHashes {
		closed += hash & 1
	}
	var kind uint64
	if closed > maxClosedHashes {
		kind = 1
	}
	at := slices.IndexFunc(m.admittedHashes, func(hash uint64) bool { return hash&1 == kind })
	m.admittedHashes = slices.Delete(m.admittedHashes, at, at+1)
}

func (m *meter) knowsAdmission(requestID string) bool { return m.knowsHash(hashID(requestID) &^ 1) }

func (m *meter) knowsClosed(lease uint64) bool { return m.knowsHash(closedHash(lease)) }

// knowsHash ignores the lowest bit, which rows of earlier versions do not use.
func (m *meter) knowsHash(hash uint64) bool {
	return slices.ContainsFunc(m.admittedHashes, func(known uint64) bool { return known>>1 == hash>>1 })
}

func closedHash(lease uint64) uint64 { return hashID("closed "+leaseName(lease)) | 1 }

// hashID returns the FNV-1a hash of a request ID. The host generates random request IDs, so callers cannot force a
// collision.
func hashID(requestID string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(requestID); i++ {
		h = (h ^ uint64(requestID[i])) * 1099511628211
	}
	return h
}
