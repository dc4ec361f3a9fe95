package crash

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// operator creates and changes keys, and remembers what the server acknowledged.
type operator struct {
	world *world
	name  string
	keys  map[string]*managed // by ID
	audit []entry             // acknowledged since the last check
	all   []entry             // acknowledged
	made  int
}

// managed is a key that an operator changes.
type managed struct {
	*account
	name, status string
	deleted      bool
	unsure       bool // the last change was not acknowledged
}

// entry is an expected audit log entry.
type entry struct{ action, key string }

// maxKeys bounds an operator's keys.
const maxKeys = 6

// act makes one change. Immediately after it, the key must work or be refused.
func (o *operator) act() {
	live := o.live()
	if len(live) < 2 || len(live) < maxKeys && rand.IntN(4) == 0 {
		o.create()
		return
	}
	k := pick(live)
	switch rand.IntN(8) {
	case 0, 1, 2:
		o.change(k, "key.deactivate", "POST", "/deactivate", "", func() { k.status = "inactive" })
	case 3, 4, 5:
		o.change(k, "key.reactivate", "POST", "/reactivate", "", func() { k.status = "active" })
	case 6:
		name := fmt.Sprintf("renamed %d", o.world.serial.Add(1))
		o.change(k, "key.update", "PATCH", "", fmt.Sprintf(`{"name":%q}`, name), func() { k.name = name })
	case 7:
		if len(live) == maxKeys {
			o.change(k, "key.delete", "DELETE", "", "", func() { k.deleted = true })
		}
	}
}

func (o *operator) live() (list []*managed) {
	for _, k := range o.keys {
		if !k.deleted && !k.unsure {
			list = append(list, k)
		}
	}
	return list
}

func (o *operator) create() {
	o.made++
	name := fmt.Sprintf("%s-%d", o.name, o.made)
	got, err := o.world.admin("POST", "projects/"+o.world.main.id+"/keys", fmt.Sprintf(`{"name":%q}`, name))
	if err != nil {
		return
	}
	if got.status != 201 {
		o.world.Errorf("create a key: %s", got)
		return
	}
	k := &managed{account: &account{id: got.get("id").Str, value: got.get("value").Str, tag: name}, name: name, status: "active"}
	o.keys[k.id] = k
	o.world.main.add(k.account)
	o.acknowledged("key.create", k.id)
	o.try(k)
}

func (o *operator) acknowledged(action, key string) {
	o.audit = append(o.audit, entry{action, key})
	o.all = append(o.all, entry{action, key})
}

func (o *operator) change(k *managed, action, method, path, body string, apply func()) {
	before := *k
	got, err := o.world.admin(method, "projects/"+o.world.main.id+"/keys/"+k.id+path, body)
	if err != nil {
		k.unsure = true
		return
	}
	if got.status >= 300 {
		o.world.Errorf("%s: %s", action, got)
		return
	}
	apply()
	if before.status != k.status || before.name != k.name || before.deleted != k.deleted {
		o.acknowledged(action, k.id)
	}
	o.try(k)
}

// try sends a request with a key whose state is known. To the server, a deleted key is the same as one that never
// existed. Requests with such keys are rate limited.
func (o *operator) try(k *managed) {
	want := []int{200}
	var refusals []int
	switch {
	case k.deleted:
		want, refusals = []int{401, 429}, []int{401, 429}
	case k.status != "active":
		want, refusals = []int{401}, []int{401}
	}
	got := o.world.complete(k.account, o.world.prompt(false), refusals...)
	if got != nil && !slices.Contains(want, got.status) && !o.world.killed.Load() {
		o.world.Errorf("%s, which is %s (deleted: %v), got %s", k.name, k.status, k.deleted, got)
	}
}

// recover reads the keys whose last change was not acknowledged: nobody knows whether this change was made. If it
// was, the outbox retries until it takes effect.
func (o *operator) recover() {
	w := o.world
	w.Helper()
	for _, k := range o.keys {
		if !k.unsure {
			continue
		}
		k.unsure = false
		got, err := w.admin("GET", "projects/"+w.main.id+"/keys/"+k.id, "")
		if err != nil {
			w.Fatal(err)
		}
		want := 401
		switch got.status {
		case 200:
			k.status, k.name = got.get("status").Str, got.get("name").Str
			if k.status == "active" {
				want = 200
			}
		case 404:
			k.deleted = true
		default:
			w.Errorf("%s: %s", k.id, got)
		}
		w.eventually("an unacknowledged change is in force", func() error {
			if got := w.complete(k.account, w.prompt(false), 401); got == nil || got.status != want {
				return fmt.Errorf("%s got %s, want %d", k.name, got, want)
			}
			return nil
		})
	}
}

// check checks every change that the server has acknowledged to the operator.
func (o *operator) check() {
	w := o.world
	w.Helper()
	for _, k := range o.keys {
		if k.unsure {
			continue
		}
		if !k.deleted {
			o.try(k)
		}
		got, err := w.admin("GET", "projects/"+w.main.id+"/keys/"+k.id, "")
		switch {
		case err != nil:
			w.Fatal(err)
		case k.deleted && got.status != 404:
			w.Errorf("%s was deleted: %s", k.name, got)
		case !k.deleted && (got.get("status").Str != k.status || got.get("name").Str != k.name):
			w.Errorf("%s is %s, want %s with the name %q", k.id, got, k.status, k.name)
		}
	}
	o.recover()
	o.audit = w.checkAudit(o.audit)
}

// checkAudit checks whether the audit log has the given entries, and returns the missing ones.
func (w *world) checkAudit(want []entry) []entry {
	w.Helper()
	missing := map[entry]int{}
	for _, e := range want {
		missing[e]++
	}
	for after := ""; len(missing) > 0; {
		got := w.mustAdmin("GET", "audit?action=key&limit=100&project="+w.main.id+after, "")
		for _, e := range got.get("entries").Array() {
			found := entry{e.Get("action").Str, e.Get("key").Str}
			if missing[found]--; missing[found] <= 0 {
				delete(missing, found)
			}
		}
		next := got.get("next").Str
		if next == "" {
			break
		}
		after = "&after=" + next
	}
	for e, n := range missing {
		if n > 0 {
			w.Errorf("the audit log lacks %d entries %v", n, e)
		}
	}
	return nil
}
