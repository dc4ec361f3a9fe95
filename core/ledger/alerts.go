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

// Thresholds are the percentages of a budget at which an alert is sent. Each alert is sent once per period. It is
// sent again if the budget was raised in the meantime and the spending fell below the threshold.
var Thresholds = [...]uint64{80, 100}

// alerts is row "al": the webhook endpoint, and the alerts that were sent or are pending.
type alerts struct {
	endpoint doc.Alerts
	period   calendar.Period
	sent     uint64 // bit i: the alert for Thresholds[i] was created in this period
	pending  []alert
	name     string // of the group or the deployment; empty for a project
}

// alert is one message whose delivery has not been confirmed.
type alert struct {
	id        string
	body      string
	createdMs uint64
	tries     uint64
	dueMs     uint64
}

func (a *alerts) fields(f *abi.Fields) {
	f.Format(format)
	alertsFields(f, &a.endpoint)
	PeriodFields(f, &a.period)
	f.Uint(&a.sent)
	abi.List(f, &a.pending, func(f *abi.Fields, p *alert) {
		f.String(&p.id)
		f.String(&p.body)
		f.Uint(&p.createdMs)
		f.Uint(&p.tries)
		f.Uint(&p.dueMs)
	})
	nameField(f, &a.name)
}

// nameField is the last field of a message or a row. It is written only for a group or the deployment, because older
// objects do not know it.
func nameField(f *abi.Fields, name *string) {
	if f.Reading() && f.More() || *name != "" {
		if f.String(name); *name == "" {
			f.Fail()
		}
	}
}

func (c *call) alerts() (a alerts, err error) {
	if row, ok := c.row(rowAlerts); ok {
		err = abi.DecodeFields(row, a.fields)
	}
	return a, err
}

// setAlerts sets the endpoint. If the URL changes, it drops the pending alerts and forgets which alerts were sent.
// The new endpoint then receives alerts for all thresholds that have been reached.
func (c *call) setAlerts(to doc.Alerts, name string) error {
	a, err := c.alerts()
	if err != nil || a.endpoint.URL == to.URL && string(a.endpoint.Secret) == string(to.Secret) && a.name == name {
		return err
	}
	if a.endpoint.URL != to.URL {
		a.sent, a.pending = 0, nil
	}
	a.endpoint, a.name = to, name
	c.put(rowAlerts, abi.EncodeFields(0, 256, a.fields))
	return nil
}

// checkAlerts creates the alerts that are due after a change.
func (c *call) checkAlerts() error {
	if err := c.checkThresholds(); err != nil {
		return err
	}
	return c.announce()
}

// checkThresholds creates an alert for each threshold that the spending has newly reached.
func (c *call) checkThresholds() error {
	a, err := c.alerts()
	if err != nil || a.endpoint.URL == "" || c.b.pico <= 0 {
		return err
	}
	sent, waiting := a.sent, len(a.pending)
	if a.period != c.b.period {
		a.period, a.sent = c.b.period, 0
	}
	for i, percent := range Thresholds {
		bit := uint64(1) << i
		switch {
		case !Reached(c.b.spent, c.b.pico, percent):
			a.sent &^= bit
		case a.sent&bit == 0:
			a.sent |= bit
			a.pending = append(a.pending, c.alert(percent, a.name))
		}
	}
	if a.sent != sent || len(a.pending) > waiting {
		c.sendDue(&a)
	}
	return nil
}

// Reached reports whether an amount has reached a percentage of a limit.
func Reached(spent, limit money.Pico, percent uint64) bool {
	if percent == 100 {
		return spent >= limit
	}
	return spent >= limit/100*int64(percent)
}

// alert creates the message for a threshold. Its ID is the same in all retries. name is that of a group or the
// deployment.
func (c *call) alert(percent uint64, name string) alert {
	first, _ := c.b.period.Bounds()
	id := "evt_" + c.in.Name
	for _, part := range [...]uint64{first, c.b.version, percent} {
		id += "_" + strconv.FormatUint(part, 10)
	}
	b := c.appendNode(c.message("budget.threshold", id), name)
	return c.thresholdAlert(id, b, &Crossing{Percent: percent, Period: c.b.period, LimitPico: c.b.pico, SpentPico: c.b.spent})
}

// appendNode appends the level, the ID and the name of the deployment or a group. A project is named by its ID alone.
func (c *call) appendNode(b []byte, name string) []byte {
	if !doc.IsNode(c.in.Name) {
		return b
	}
	level := "group"
	if c.in.Name == doc.Root {
		level = "deployment"
	}
	b = jsontext.AppendString(append(b, `,"node":{"level":"`+level+`","id":`...), c.in.Name)
	return append(jsontext.AppendString(append(b, `,"name":`...), name), '}')
}

// appendBounds appends the start and the end of a period. A budget that never resets has neither.
func appendBounds(b []byte, p calendar.Period) []byte {
	if !p.Resets() {
		return append(b, `,"start":null,"end":null`...)
	}
	first, end := p.Bounds()
	b = calendar.AppendDate(append(b, `,"start":"`...), first)
	b = calendar.AppendDate(append(b, `T00:00:00.000Z","end":"`...), end)
	return append(b, `T00:00:00.000Z"`...)
}

// An alert is retried after 10 s. After that, the interval doubles each time, up to an hour. Retries end after a day.
const (
	firstRetryMs uint64 = 10_000
	maxRetryMs   uint64 = 3600_000
	giveUpMs     uint64 = 86400_000
)

// maxPosts limits the posts of one command. The others follow at the alarm.
const maxPosts = 16

// sendDue posts the alerts that are due, drops those older than giveUpMs, and sets the alarm for the next retry.
func (c *call) sendDue(a *alerts) {
	open := a.pending[:0]
	for _, p := range a.pending {
		if c.in.NowMs > p.createdMs+giveUpMs {
			continue
		}
		if p.dueMs <= c.in.NowMs && len(c.out.Posts) == maxPosts {
			p.dueMs = c.in.NowMs + 1
		}
		if p.dueMs <= c.in.NowMs {
			c.out.Posts = append(c.out.Posts, post(&a.endpoint, &p, c.in.NowMs))
			p.dueMs = c.in.NowMs + min(firstRetryMs<<min(p.tries, 16), maxRetryMs)
			p.tries++
		}
		if c.out.AlarmMs == 0 || p.dueMs < c.out.AlarmMs {
			c.out.AlarmMs = p.dueMs
		}
		open = append(open, p)
	}
	a.pending = open
	c.put(rowAlerts, abi.EncodeFields(0, 512, a.fields))
}

// post creates the HTTP request of an alert. It is signed according to Standard Webhooks
// (github.com/standard-webhooks/standard-webhooks, spec: signature scheme): HMAC-SHA256 over id.timestamp.body.
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

// posted is the command that reports the outcome of a post. Package abi defines its layout.
type posted struct{ abi.Posted }

func (*posted) fields(*abi.Fields) {}

// posted removes an alert that was delivered (any 2xx status). After any other outcome, the alert stays pending.
func (c *call) posted(p abi.Posted) error {
	a, err := c.alerts()
	if err != nil || p.Status < 200 || p.Status > 299 {
		return err
	}
	if _, err := c.loadViolations(); err != nil {
		return err
	}
	for i := range a.pending {
		if a.pending[i].id == p.ID {
			a.pending = append(a.pending[:i], a.pending[i+1:]...)
			c.put(rowAlerts, abi.EncodeFields(0, 256, a.fields))
			break
		}
	}
	return c.announce()
}

// alarm sends the alerts and the summary that are due, and delivers the outbox.
func (c *call) alarm() error {
	if wants, err := c.wantsSummary(); wants || err != nil {
		return err
	}
	if err := c.summarize(); err != nil {
		return err
	}
	if err := c.forwardDue(); err != nil {
		return err
	}
	c.out.Deliver = true
	a, err := c.alerts()
	if err != nil {
		return err
	}
	if _, err := c.loadViolations(); err != nil {
		return err
	}
	if len(a.pending) > 0 {
		c.sendDue(&a)
	}
	return c.announce()
}
