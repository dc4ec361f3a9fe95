package sim_test

import (
	"bytes"
	"slices"
	"sort"

	"github.com/postern-ai/postern/core/abi"
	objects "github.com/postern-ai/postern/core/object"
)

type objectID struct {
	class abi.Class
	name  string
}

// object is a durable object with ordered rows, an alarm and an outbox. Each command is one transaction.
type object struct {
	objectID
	w          *world
	rows       []abi.Row // by key
	alarmMs    uint64    // by its own clock; 0: none
	alarmRound uint64    // increases when the alarm is set; an alarm of an earlier round does not fire
	offset     int64
	random     *rng
	delivering bool
}

func (w *world) object(class abi.Class, name string) *object {
	id := objectID{class, name}
	o := w.objects[id]
	if o == nil {
		h := uint64(class)
		for i := 0; i < len(name); i++ {
			h = h*1099511628211 ^ uint64(name[i])
		}
		o = &object{objectID: id, w: w, random: fork(w.plan.Seed, h), offset: w.objectOffset}
		w.objects[id] = o
		w.ordered = append(w.ordered, o)
	}
	return o
}

// clock returns the object's time in Unix milliseconds.
func (o *object) clock() uint64 { return uint64(int64(o.w.now) + o.offset) }

func (o *object) find(key string) (int, bool) {
	at := sort.Search(len(o.rows), func(i int) bool { return o.rows[i].Key >= key })
	return at, at < len(o.rows) && o.rows[at].Key == key
}

func (o *object) put(row abi.Row) {
	if at, ok := o.find(row.Key); ok {
		o.rows[at] = row
	} else {
		o.rows = slices.Insert(o.rows, at, row)
	}
}

func (o *object) remove(key string) {
	if at, ok := o.find(key); ok {
		o.rows = slices.Delete(o.rows, at, at+1)
	}
}

// Read returns the rows of a range. It never fails.
func (o *object) Read(g abi.Range) ([]abi.Row, error) {
	at, ok := o.find(g.Start)
	if g.End == "" {
		if !ok {
			return nil, nil
		}
		return o.rows[at : at+1 : at+1], nil
	}
	end := at
	for uint64(end-at) < g.Limit && end < len(o.rows) && o.rows[end].Key < g.End {
		end++
	}
	return o.rows[at:end:end], nil
}

// Commit applies a command's writes. If the command asks for an earlier alarm, it sets the alarm. It never fails.
func (o *object) Commit(puts []abi.Row, deletes []string, alarmMs uint64) error {
	for _, row := range puts {
		o.put(row)
	}
	for _, name := range deletes {
		o.remove(name)
	}
	if alarmMs != 0 && (o.alarmMs == 0 || alarmMs < o.alarmMs) {
		o.setAlarm(alarmMs)
	}
	return nil
}

// call runs one command and records it in the world's accounts. A nil command is the alarm.
func (o *object) call(command []byte) (reply []byte, ok bool) {
	w := o.w
	w.stats.Commands++
	if w.defect.before != nil && w.defect.before(o, command) {
		return nil, true
	}
	if reply, ok = o.run(command); !ok {
		return nil, false
	}
	if w.defect.after != nil {
		reply = w.defect.after(o, command, reply)
	}
	w.observe(o, command, reply)
	return reply, true
}

// run runs a command: it reads, applies and commits. Then it sends the deliveries.
func (o *object) run(command []byte) (reply []byte, ok bool) {
	w := o.w
	out, err := reducer.Run(o, abi.ObjectInput{NowMs: o.clock(), Class: o.class, Name: o.name, Command: command})
	if err != nil {
		w.logf("%s %.8s fails: %v", className(o.class), o.name, err)
		return nil, false
	}
	if out.Deliver {
		w.after(w.delay(o.random), o.deliver)
	}
	for i := range out.Posts {
		o.post(&out.Posts[i])
	}
	return out.Reply, true
}

// post sends a webhook, which may fail, and reports its status to the object. If that report is lost, the object's
// alarm takes care of the post.
func (o *object) post(p *abi.Post) {
	w := o.w
	status := pick(o.random, uint64(204), 204, 200, 500, 0)
	if !w.plan.Faults.any() {
		status = 204
	}
	w.projectOf(o.name).alerted = w.projectOf(o.name).alerted || status/100 == 2 && bytes.Contains(p.Body, []byte(`"thresholdPercent":100`))
	posted := abi.Posted{ID: p.ID, Status: status}
	w.after(w.delay(o.random), func() {
		if !w.plan.Faults.Outbox || !o.random.one(4) {
			o.call(posted.Encode())
		}
	})
}

func className(c abi.Class) string {
	return [...]string{"KV", "meter", "ledger", "directory"}[c]
}

// setAlarm sets the alarm to a time on the object's clock.
func (o *object) setAlarm(at uint64) {
	o.alarmMs = at
	o.reset()
}

// reset schedules the alarm again, by the object's current clock.
func (o *object) reset() {
	o.alarmRound++
	if o.alarmMs == 0 {
		return
	}
	wait := uint64(0)
	if now := o.clock(); o.alarmMs > now {
		wait = o.alarmMs - now
	}
	if o.w.plan.Faults.Alarms && o.random.one(3) {
		wait += o.random.below(2 * minuteMs)
		o.w.stats.Faults++
	}
	round := o.alarmRound
	o.w.after(wait, func() {
		if round == o.alarmRound {
			o.ring()
		}
	})
}

func (o *object) ring() {
	o.alarmMs = 0
	o.alarmRound++
	if _, ok := o.call(nil); !ok {
		o.setAlarm(o.clock() + abi.RedeliverMs)
	}
}

// deliver sends the outbox, oldest first, one at a time. At the first failure, it stops, and the alarm sends the
// rest.
func (o *object) deliver() {
	if o.delivering {
		return
	}
	o.delivering = true
	o.deliverNext()
}

func (o *object) deliverNext() {
	key, d, err := objects.NextDelivery(o)
	if err != nil {
		o.w.fail("host", "an outbox row of %s is malformed", o.name)
	}
	if key == "" {
		o.delivering = false
		return
	}
	w := o.w
	lost, unconfirmed := false, false
	if w.plan.Faults.Outbox {
		lost, unconfirmed = o.random.one(8), o.random.one(8)
	}
	if w.defect.delivery != nil && w.defect.delivery(o, &d) {
		o.remove(key)
		w.after(0, o.deliverNext)
		return
	}
	w.after(w.delay(o.random), func() {
		ok := !lost && w.accept(&d, o.random)
		w.after(w.delay(o.random), func() {
			if !ok || unconfirmed {
				w.stats.Faults++
				o.delivering = false
				if at := o.clock() + abi.RedeliverMs; o.alarmMs == 0 || at < o.alarmMs {
					o.setAlarm(at)
				}
				return
			}
			o.remove(key)
			o.deliverNext()
		})
	})
}

// accept processes a delivery at its receiver. It reports success.
func (w *world) accept(d *abi.Delivery, r *rng) bool {
	if d.Class != abi.ClassKV {
		_, ok := w.object(d.Class, d.Name).call(d.Data)
		return ok
	}
	return w.kv.write(w, d.Name, d.Data, 0, r)
}

// kv is the key-value store. It can be down. Readers see stale values through isolate.readKV.
type kv struct {
	rows      map[string]kvRow
	downUntil uint64
}

type kvRow struct {
	value     []byte
	expiresMs uint64 // 0: never
}

func (k *kv) init() { k.rows = map[string]kvRow{} }

func (k *kv) write(w *world, key string, value []byte, ttl uint64, _ *rng) bool {
	if k.downUntil > w.now {
		return false
	}
	w.audit(value, "KV")
	if len(value) == 0 {
		delete(k.rows, key)
		return true
	}
	row := kvRow{value: value}
	if ttl > 0 {
		row.expiresMs = w.now + ttl*secondMs
	}
	k.rows[key] = row
	return true
}

func (k *kv) read(now uint64, key string) ([]byte, bool) {
	row, ok := k.rows[key]
	return row.value, ok && (row.expiresMs == 0 || row.expiresMs > now)
}
