package ledger

import (
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/money"
)

// A project's Ledger adds the usage that it absorbs to row "up", by path, day and model. Within forwardMs, it sends the
// sums to each node of the path as Contributions, in its outbox. So the usage of all keys costs one row per batch, and
// one call per node and minute. If the project was quiet, it sends the sums at once. The meters' reports of their slices
// travel with the usage. The row has the paths too.

const (
	forwardMs = 60_000
	// quietMs is the time after which a project counts as quiet. The next usage is then sent at once, because it is likely
	// to be the only one.
	quietMs = 600_000
	// maxUpward is the number of sums in the row that are sent at once.
	maxUpward = 256
	// maxSlices is the number of slices in the row that are sent at once. They are about a hundred bytes each, and every
	// batch writes the row.
	maxSlices = 96
	// maxKnownPaths limits the paths that the row remembers. Usage may arrive a day after its request was admitted.
	maxKnownPaths = 32
	// firstForward is the number before those of Contributions in the outbox. Audit entries come before it, and the
	// summary after it.
	firstForward = 1 << 40
)

// upward is row "up".
type upward struct {
	paths   []doc.Path // oldest first
	seq     uint64     // number of the last Contribution
	dueMs   uint64     // when the pending usage and slices are to be sent; 0: none are pending
	sentMs  uint64     // when some was sent last
	pending []Usage
	slices  []Returned // one per key and Ledger
}

func (u *upward) fields(f *abi.Fields) {
	f.Format(format)
	doc.PathsField(f, &u.paths)
	f.Uint(&u.seq)
	f.Uint(&u.dueMs)
	f.Uint(&u.sentMs)
	abi.List(f, &u.slices, returnedFields)
	abi.List(f, &u.pending, UsageFields)
	Extras(f, len(u.pending), func(i int) *Usage { return &u.pending[i] })
}

func (c *call) loadUpward() (*upward, error) {
	if c.up != nil {
		return c.up, nil
	}
	c.up = new(upward)
	if row, ok := c.row(rowUpward); ok {
		return c.up, abi.DecodeFields(row, c.up.fields)
	}
	return c.up, nil
}

func (c *call) putUpward() {
	c.put(rowUpward, abi.EncodeFields(0, 128+64*len(c.up.pending)+128*len(c.up.slices), c.up.fields))
}

// learnPaths adds the paths of a Put.
func (c *call) learnPaths(paths []doc.Path) error {
	if len(paths) == 0 {
		return nil
	}
	up, err := c.loadUpward()
	if err != nil {
		return err
	}
	known := len(up.paths)
	for _, p := range paths {
		if len(up.paths) == 0 || p.Number > up.paths[len(up.paths)-1].Number {
			up.paths = append(up.paths, p)
		}
	}
	if len(up.paths) > known {
		up.paths = up.paths[max(0, len(up.paths)-maxKnownPaths):]
		c.putUpward()
	}
	return nil
}

// placed reports whether a batch has something for the nodes above the project.
func (a *Absorb) placed() bool {
	return len(a.Returned) > 0 || slices.ContainsFunc(a.Usage, func(u Usage) bool { return u.Path.Used() })
}

// addUpward adds absorbed usage to the pending usage.
func (c *call) addUpward(u *Usage) error {
	if !u.Path.Used() {
		return nil
	}
	up, err := c.loadUpward()
	if err != nil {
		return err
	}
	addTo(&up.pending, u)
	c.dueUpward()
	return nil
}

// addSlices adds a meter's reports to the pending ones. A newer report replaces an older one.
func (c *call) addSlices(list []Returned) error {
	if len(list) == 0 {
		return nil
	}
	up, err := c.loadUpward()
	if err != nil {
		return err
	}
	for _, r := range list {
		at := slices.IndexFunc(up.slices, func(o Returned) bool { return o.Key == r.Key && o.Ledger == r.Ledger })
		if at < 0 {
			up.slices = append(up.slices, r)
		} else if up.slices[at].Seq < r.Seq {
			up.slices[at] = r
		}
	}
	c.dueUpward()
	return nil
}

// dueUpward stores the pending usage and slices and schedules them. sendFull sends them when they are due.
func (c *call) dueUpward() {
	up, now := c.up, c.in.NowMs
	due := now + forwardMs
	if up.sentMs+quietMs <= now || up.sentMs > now { // in the second case, the clock went back
		due = now
	}
	up.dueMs = minNonZero(up.dueMs, due)
	c.putUpward()
	if up.dueMs > now {
		c.setAlarm(up.dueMs)
	}
}

func minNonZero(a, b uint64) uint64 {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// addTo adds usage to the sum of its path, day and model.
func addTo(list *[]Usage, u *Usage) {
	at := slices.IndexFunc(*list, func(o Usage) bool { return o.Path == u.Path && o.Day == u.Day && o.Model == u.Model })
	if at < 0 {
		at = len(*list)
		*list = append(*list, Usage{Path: u.Path, Day: u.Day, Model: u.Model})
	}
	(*list)[at].Plus(u)
}

// sendFull sends what a batch has added if it is due, or early if there is much of it.
func (c *call) sendFull() {
	up := c.up
	if up != nil && up.dueMs > 0 && (up.dueMs <= c.in.NowMs || len(up.pending) >= maxUpward || len(up.slices) >= maxSlices) {
		c.sendUpward()
	}
}

// forwardDue sends the pending usage if it is due. Otherwise, it sets the alarm for it.
func (c *call) forwardDue() error {
	up, err := c.loadUpward()
	if err != nil || up.dueMs == 0 {
		return err
	}
	if up.dueMs > c.in.NowMs && up.dueMs <= c.in.NowMs+forwardMs { // else it is due, or the clock went back
		c.setAlarm(up.dueMs)
		return nil
	}
	c.sendUpward()
	return nil
}

// sendUpward puts the pending usage into the outbox for the nodes of its paths, with the slices that are pending.
func (c *call) sendUpward() {
	up := c.up
	var nodes []*Contribution
	var unknown []Usage
	for i := range up.pending {
		u := &up.pending[i]
		path := up.path(u.Path.Number)
		if path == nil {
			if len(unknown) < maxUpward {
				unknown = append(unknown, *u) // its Put has yet to arrive
			}
			continue
		}
		ahead, forgotten := u.Path.Ahead, path.Number != u.Path.Number
		if forgotten {
			ahead = 0
		}
		epochs := epochs(path.Nodes, ahead)
		for j := range path.Nodes {
			contributionOf(&nodes, path.Nodes[j].ID).add(u, path.Nodes[j].Counted || forgotten, epochs[j])
		}
	}
	for i := range up.slices {
		q := contributionOf(&nodes, up.slices[i].Ledger)
		q.Slices = append(q.Slices, up.slices[i].Return)
	}
	for _, n := range nodes {
		for _, part := range n.parts() {
			c.sendContribution(n.node, &part)
		}
	}
	up.pending, up.slices, up.dueMs, up.sentMs = unknown, nil, 0, c.in.NowMs
	if len(unknown) > 0 {
		up.dueMs = c.in.NowMs + forwardMs
		c.setAlarm(up.dueMs)
	}
	c.putUpward()
}

// path returns the path with a number. If a project has moved so often that the path is forgotten, it returns the next
// one that is known, so that usage of the deployment is complete.
func (u *upward) path(number uint64) *doc.Path {
	for i := range u.paths {
		if u.paths[i].Number >= number {
			return &u.paths[i]
		}
	}
	return nil
}

func (c *call) sendContribution(node string, q *Contribution) {
	c.up.seq++
	q.Project, q.Seq = c.in.Name, c.up.seq
	d := abi.Delivery{Class: abi.ClassLedger, Name: node, Data: q.Encode()}
	c.put(abi.OutboxKey(firstForward+q.Seq), d.Encode())
	c.out.Deliver = true
}

func contributionOf(list *[]*Contribution, node string) *Contribution {
	for _, q := range *list {
		if q.node == node {
			return q
		}
	}
	*list = append(*list, &Contribution{node: node})
	return (*list)[len(*list)-1]
}

func (q *Contribution) add(u *Usage, counted bool, epoch uint64) {
	sum := *u
	sum.Path = Path{}
	addTo(&q.Usage, &sum)
	if u.CostPico == 0 {
		return
	}
	spent := Spending{u.Day, counted, epoch, u.CostPico}
	for i := range q.Spent {
		if o := &q.Spent[i]; o.Day == spent.Day && o.Counted == counted && o.Epoch == epoch {
			o.CostPico = money.Add(o.CostPico, u.CostPico)
			return
		}
	}
	q.Spent = append(q.Spent, spent)
}

// parts splits a Contribution so that none is too large for one commit.
func (q *Contribution) parts() (parts []Contribution) {
	n := 0
	for chunk := range slices.Chunk(q.Usage, maxContribution) {
		parts = append(parts, Contribution{Usage: chunk})
	}
	for chunk := range slices.Chunk(q.Slices, maxContribution) {
		if n == len(parts) {
			parts = append(parts, Contribution{})
		}
		parts[n].Slices = chunk
		n++
	}
	parts[0].Spent = q.Spent
	return parts
}

// forward is the decoded form of Forward.
type forward struct{}

// Forward encodes the command with which a project's Ledger puts all pending usage into its outbox at once.
// DecodeForwardReply decodes the reply. Usage that the keys' meters have not reported yet is not in it.
func Forward() []byte { return []byte{opForward} }

// ForwardReply is the reply to Forward.
type ForwardReply struct {
	// Deliveries are those in the outbox. The caller may make them, in this order and up to the first that fails. Nodes
	// drop repeats. Without a tree, there are none.
	Deliveries []abi.Delivery
	More       bool // there may be more: make these, then repeat the command
}

// maxForward limits the deliveries of one ForwardReply that were in the outbox before.
const maxForward = 64

func (forward) fields(*abi.Fields) {}

func (forward) reads() []abi.Range {
	return []abi.Range{
		{Start: rowUpward},
		{Start: abi.OutboxKey(firstForward), End: abi.OutboxKey(summarySlot), Limit: maxForward},
	}
}

func (forward) apply(c *call) error {
	var reply ForwardReply
	up, err := c.loadUpward()
	if err != nil {
		return err
	}
	waiting := deliveriesIn(c.in.Rows)
	if reply.More = len(waiting) >= maxForward; !reply.More && up.dueMs > 0 {
		c.sendUpward()
		c.setAlarm(c.in.NowMs + abi.RedeliverMs)
	}
	reply.Deliveries, err = decodeDeliveries(append(waiting, deliveriesIn(c.out.Puts)...))
	c.out.Deliver = reply.More
	c.out.Reply = abi.EncodeFields(0, 256, reply.fields)
	return err
}

func deliveriesIn(rows []abi.Row) (found []abi.Row) {
	for _, row := range rows {
		if strings.HasPrefix(row.Key, abi.OutboxPrefix) {
			found = append(found, row)
		}
	}
	return found
}

func decodeDeliveries(rows []abi.Row) (list []abi.Delivery, err error) {
	for _, row := range rows {
		d, err := abi.DecodeDelivery(row.Value)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

// DecodeForwardReply decodes the reply to Forward.
func DecodeForwardReply(data []byte) (r ForwardReply, err error) {
	err = abi.DecodeFields(data, r.fields)
	return r, err
}

func (r *ForwardReply) fields(f *abi.Fields) {
	abi.List(f, &r.Deliveries, func(f *abi.Fields, d *abi.Delivery) {
		var encoded []byte
		if !f.Reading() {
			encoded = d.Encode()
		}
		var err error
		if f.Bytes(&encoded); f.Reading() {
			if *d, err = abi.DecodeDelivery(encoded); err != nil {
				f.Fail()
			}
		}
	})
	f.Bool(&r.More)
}
