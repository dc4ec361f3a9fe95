package ledger

import (
	"strconv"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/base64"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/hmac"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/money"
)

// thresholds are the parts of a budget, in percent, at which its owner is told. Each is told once a period;
// again if a raised budget took the spending below it in between.
var thresholds = [...]uint64{80, 100}

// alerts is the row "al": where to tell, what was told, and what is still to be.
type alerts struct {
	to      doc.Alerts
	period  calendar.Period
	told    uint64 // bits of thresholds
	pending []alert
}

// alert is one message on its way.
type alert struct {
	id        string
	body      string
	createdMs uint64
	tries     uint64
	dueMs     uint64
}

func (a *alerts) fields(f *abi.Fields) {
	formatField(f)
	alertsFields(f, &a.to)
	PeriodFields(f, &a.period)
	f.Uint(&a.told)
	abi.List(f, &a.pending, func(f *abi.Fields, p *alert) {
		f.String(&p.id)
		f.String(&p.body)
		f.Uint(&p.createdMs)
		f.Uint(&p.tries)
		f.Uint(&p.dueMs)
	})
}

// formatField is the number that a row starts with.
func formatField(f *abi.Fields) {
	version := uint64(format)
	if f.Uint(&version); version != format {
		f.Fail()
	}
}

func (c *call) alerts() (a alerts, err error) {
	if row, ok := c.row(rowAlerts); ok {
		err = decode(row, &a)
	}
	return a, err
}

// setAlerts takes a new address. What waited for the old one is dropped, and what holds now is told to the
// new one: perhaps the old one never heard of it.
func (c *call) setAlerts(to doc.Alerts) error {
	a, err := c.alerts()
	if err != nil || a.to.URL == to.URL && string(a.to.Secret) == string(to.Secret) {
		return err
	}
	if a.to.URL != to.URL {
		a.told, a.pending = 0, nil
	}
	a.to = to
	c.put(rowAlerts, encode(0, &a, 256))
	return nil
}

// watch makes alerts of the thresholds that the spending has reached.
func (c *call) watch() error {
	a, err := c.alerts()
	if err != nil || a.to.URL == "" || c.b.pico <= 0 {
		return err
	}
	told, waiting := a.told, len(a.pending)
	if a.period != c.b.period {
		a.period, a.told = c.b.period, 0
	}
	for i, percent := range thresholds {
		bit := uint64(1) << i
		switch {
		case !c.b.reached(percent):
			a.told &^= bit
		case a.told&bit == 0:
			a.told |= bit
			a.pending = append(a.pending, c.alert(percent))
		}
	}
	if a.told != told || len(a.pending) > waiting {
		c.send(&a)
	}
	return nil
}

func (b *budget) reached(percent uint64) bool {
	if percent == 100 {
		return b.spent >= b.pico
	}
	return b.spent >= b.pico/100*int64(percent)
}

// alert writes the message for a threshold. Its id is the same however often it is sent.
func (c *call) alert(percent uint64) alert {
	first, end := c.b.period.Bounds()
	id := "evt_" + c.in.Name
	for _, part := range [...]uint64{first, c.b.version, percent} {
		id += "_" + strconv.FormatUint(part, 10)
	}
	b := append([]byte(nil), `{"type":"budget.threshold","id":`...)
	b = jsontext.AppendString(b, id)
	b = calendar.AppendTimestamp(append(b, `,"timestamp":"`...), c.in.NowMs)
	b = append(b, `","data":{"projectId":`...)
	b = jsontext.AppendString(b, c.in.Name)
	b = strconv.AppendUint(append(b, `,"thresholdPercent":`...), percent, 10)
	b = money.Append(append(b, `,"budget":{"limit":`...), c.b.pico, money.Dollar)
	b = money.Append(append(b, `,"used":`...), c.b.spent, money.Dollar)
	b = calendar.AppendDate(append(b, `,"start":"`...), first)
	b = calendar.AppendDate(append(b, `T00:00:00.000Z","end":"`...), end)
	return alert{id: id, body: string(append(b, `T00:00:00.000Z"}}}`...)), createdMs: c.in.NowMs, dueMs: c.in.NowMs}
}

// Retries of an alert: 10 s after the first time, then twice as long each time up to an hour, for a day.
const (
	firstRetryMs uint64 = 10_000
	maxRetryMs   uint64 = 3600_000
	giveUpMs     uint64 = 86400_000
)

// send posts what is due and sets the alarm for the rest.
func (c *call) send(a *alerts) {
	open := a.pending[:0]
	for _, p := range a.pending {
		if c.in.NowMs > p.createdMs+giveUpMs {
			continue
		}
		if p.dueMs <= c.in.NowMs {
			c.out.Posts = append(c.out.Posts, post(&a.to, &p, c.in.NowMs))
			p.dueMs = c.in.NowMs + min(firstRetryMs<<min(p.tries, 16), maxRetryMs)
			p.tries++
		}
		if c.out.AlarmMs == 0 || p.dueMs < c.out.AlarmMs {
			c.out.AlarmMs = p.dueMs
		}
		open = append(open, p)
	}
	a.pending = open
	c.put(rowAlerts, encode(0, a, 512))
}

// post is an alert as a request, signed after Standard Webhooks (github.com/standard-webhooks/standard-webhooks,
// spec: signature scheme): HMAC-SHA256 over id.timestamp.body.
func post(to *doc.Alerts, p *alert, now uint64) abi.Post {
	at := strconv.FormatUint(now/1000, 10)
	signature := hmac.SHA256(to.Secret, p.id+"."+at+"."+p.body)
	return abi.Post{
		ID: p.id, URL: to.URL, Body: []byte(p.body), Headers: []abi.Header{
			{Name: "content-type", Value: "application/json"},
			{Name: "webhook-id", Value: p.id},
			{Name: "webhook-timestamp", Value: at},
			{Name: "webhook-signature", Value: string(base64.Append([]byte("v1,"), signature))},
		},
	}
}

// posted is the outcome of a post, as a command. It has a layout of its own (package abi).
type posted struct{ abi.Posted }

func (*posted) fields(*abi.Fields) {}

// posted takes what came of a post. Anything but success is tried again when it is due.
func (c *call) posted(p abi.Posted) error {
	a, err := c.alerts()
	if err != nil || p.Status < 200 || p.Status > 299 {
		return err
	}
	for i := range a.pending {
		if a.pending[i].id == p.ID {
			a.pending = append(a.pending[:i], a.pending[i+1:]...)
			c.put(rowAlerts, encode(0, &a, 256))
			break
		}
	}
	return nil
}

// alarm sends the alerts that are due.
func (c *call) alarm() error {
	a, err := c.alerts()
	if err == nil && len(a.pending) > 0 {
		c.send(&a)
	}
	return err
}
