package ledger

import "github.com/postern-ai/postern/core/abi"

// GetViolation is the command that requests one violation. DecodeViolation decodes the reply.
type GetViolation struct{ ID string }

// Triage is the command that changes a violation's state and note. DecodeTriage decodes the reply.
type Triage struct {
	ID      string
	Version uint64 // version on which the change is based
	State   ViolationState
	Note    string
	By      string // author of the change: a key's ID, a role or an email address
	// Audit is the audit entry of the change. The outbox delivers it at least once, and only if the change is stored.
	Audit abi.Delivery
}

// TriageOutcome is the outcome of a Triage.
type TriageOutcome uint8

const (
	Triaged         TriageOutcome = 1
	NoViolation     TriageOutcome = 2 // the violation does not exist, or was deleted because of its age
	ViolationMoved  TriageOutcome = 3 // another change was made first
	StateNotAllowed TriageOutcome = 4 // the state cannot follow the current one
)

// Encode encodes the command.
func (g *GetViolation) Encode() []byte { return abi.EncodeFields(opViolation, 48, g.fields) }

func (g *GetViolation) fields(f *abi.Fields) { f.String(&g.ID) }

func (g *GetViolation) reads() []abi.Range { return []abi.Range{{Start: rowViolation + g.ID}} }

func (g *GetViolation) apply(c *call) error {
	v, found, err := c.violation(g.ID)
	if err != nil {
		return err
	}
	reply := violationReply{found: found, violation: v}
	c.out.Reply = abi.EncodeFields(0, 384, reply.fields)
	return nil
}

func (c *call) violation(id string) (v StoredViolation, found bool, err error) {
	row, found := c.row(rowViolation + id)
	if found {
		v.ID = id
		err = abi.DecodeFields(row, v.fields)
	}
	return v, found, err
}

// violationReply is the reply to GetViolation.
type violationReply struct {
	found     bool
	violation StoredViolation
}

func (r *violationReply) fields(f *abi.Fields) {
	f.Bool(&r.found)
	storedViolationFields(f, &r.violation)
}

// DecodeViolation decodes the reply to GetViolation.
func DecodeViolation(data []byte) (v StoredViolation, found bool, err error) {
	var r violationReply
	err = abi.DecodeFields(data, r.fields)
	return r.violation, r.found, err
}

// Encode encodes the command.
func (t *Triage) Encode() []byte { return abi.EncodeFields(opTriage, 512, t.fields) }

func (t *Triage) fields(f *abi.Fields) {
	f.String(&t.ID)
	f.Uint(&t.Version)
	abi.Enum(f, &t.State)
	f.String(&t.Note)
	f.String(&t.By)
	abi.Enum(f, &t.Audit.Class)
	f.String(&t.Audit.Name)
	f.String(&t.Audit.Region)
	f.Bytes(&t.Audit.Data)
}

func (t *Triage) reads() []abi.Range {
	return []abi.Range{{Start: rowViolation + t.ID}, {Start: rowViolations}, rowsChain.Head()}
}

// triageReply is the reply to Triage: its outcome, and the current violation.
type triageReply struct {
	outcome   TriageOutcome
	violation StoredViolation
}

func (r *triageReply) fields(f *abi.Fields) {
	abi.Enum(f, &r.outcome)
	storedViolationFields(f, &r.violation)
}

// DecodeTriage decodes the reply to Triage: its outcome, and the current violation.
func DecodeTriage(data []byte) (outcome TriageOutcome, now StoredViolation, err error) {
	var r triageReply
	err = abi.DecodeFields(data, r.fields)
	return r.outcome, r.violation, err
}

// apply replies with the outcome. If neither the state nor the note would change, it replies with Triaged and writes
// nothing.
func (t *Triage) apply(c *call) error {
	v, found, err := c.violation(t.ID)
	if err != nil {
		return err
	}
	reply := triageReply{Triaged, v}
	switch {
	case !found:
		reply.outcome = NoViolation
	case v.Version != t.Version:
		reply.outcome = ViolationMoved
	case !v.State.MayBecome(t.State):
		reply.outcome = StateNotAllowed
	case v.State != t.State || v.Note != t.Note:
		if err := c.triage(t, &reply.violation); err != nil {
			return err
		}
	}
	c.out.Reply = abi.EncodeFields(0, 384, reply.fields)
	return nil
}

func (c *call) triage(t *Triage, v *StoredViolation) error {
	s, err := c.loadViolations()
	if err != nil {
		return err
	}
	s.byState[v.State]--
	s.byState[t.State]++
	v.State, v.Note, v.ChangedMs, v.ChangedBy = t.State, t.Note, c.in.NowMs, t.By
	v.Version++
	c.putViolation(v)
	c.put(ageKey(v.ID), ageValue(v.State))
	c.event("violation.changed", v.AppendJSON(nil))
	if t.Audit.Class != 0 || t.Audit.Name != "" {
		s.outbox++
		c.put(abi.OutboxKey(s.outbox), t.Audit.Encode())
		c.out.Deliver = true
		c.out.AlarmMs = c.in.NowMs + abi.RedeliverMs
	}
	c.put(rowViolations, s.encode())
	return nil
}
