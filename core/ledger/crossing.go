package ledger

import (
	"slices"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/money"
)

// Crossing is a threshold of a key's own budget that the key's spending has reached. The key's meter owns that budget, so
// it finds the crossing. The project's Ledger sends the alert to the project's webhook. Because batches are numbered, it
// does so once.
type Crossing struct {
	Name      string // of the key
	Percent   uint64 // one of Thresholds
	Period    calendar.Period
	LimitPico int64
	SpentPico int64 // in the period
}

// CrossingFields lists the fields of a crossing.
func CrossingFields(f *abi.Fields, x *Crossing) {
	f.String(&x.Name)
	f.Uint(&x.Percent)
	PeriodFields(f, &x.Period)
	f.Int(&x.LimitPico)
	f.Int(&x.SpentPico)
}

// maxKeyAlerts limits the pending alerts of keys. If the webhook does not answer and there are more, the oldest is
// dropped.
const maxKeyAlerts = 64

// keyAlertPrefix begins the IDs of alerts of keys, whose IDs begin with "key_".
const keyAlertPrefix = "evt_key_"

// addCrossings creates the alerts for a batch's crossings. Without a webhook, there are none.
func (c *call) addCrossings(b *Absorb) error {
	if len(b.Crossings) == 0 {
		return nil
	}
	a, err := c.alerts()
	if err != nil || a.endpoint.URL == "" {
		return err
	}
	for i := range b.Crossings {
		a.pending = append(a.pending, c.keyAlert(b, &b.Crossings[i]))
		a.dropOldest()
	}
	c.sendDue(&a)
	return nil
}

// dropOldest drops the oldest pending alert of a key if there are too many.
func (a *alerts) dropOldest() {
	n, oldest := 0, -1
	for i := range a.pending {
		if strings.HasPrefix(a.pending[i].id, keyAlertPrefix) {
			if n++; oldest < 0 {
				oldest = i
			}
		}
	}
	if n > maxKeyAlerts {
		a.pending = slices.Delete(a.pending, oldest, oldest+1)
	}
}

// keyAlert creates the message for a crossing. The number of the batch tells a threshold that is reached again in the
// same period from the first time.
func (c *call) keyAlert(a *Absorb, x *Crossing) alert {
	first, _ := x.Period.Bounds()
	id := "evt_" + a.KeyID
	for _, part := range [...]uint64{first, a.Seq, x.Percent} {
		id += "_" + strconv.FormatUint(part, 10)
	}
	b := jsontext.AppendString(append(c.message("budget.threshold", id), `,"node":{"level":"key","id":`...), a.KeyID)
	b = append(jsontext.AppendString(append(b, `,"name":`...), x.Name), '}')
	return c.thresholdAlert(id, b, x)
}

// thresholdAlert completes the message for a threshold.
func (c *call) thresholdAlert(id string, b []byte, x *Crossing) alert {
	b = strconv.AppendUint(append(b, `,"thresholdPercent":`...), x.Percent, 10)
	b = money.Append(append(b, `,"budget":{"limit":`...), x.LimitPico, money.Dollar)
	b = money.Append(append(b, `,"used":`...), x.SpentPico, money.Dollar)
	b = append(appendBounds(b, x.Period), `}}}`...)
	return alert{id: id, body: string(b), createdMs: c.in.NowMs, dueMs: c.in.NowMs}
}
