package crash

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// Prices in dollars. The first is for 100 prompt tokens and 50 completion tokens of the model "only". The others are
// the smallest and the largest reservation, with some room for the estimated prompt.
const (
	answerCost  = 0.0002
	leastAmount = 0.0004
	mostAmount  = 0.0062
)

// checkAcknowledged checks what must be true as soon as the server is back.
func (w *world) checkAcknowledged() {
	w.Helper()
	for _, a := range w.steady {
		if got := w.complete(a, w.prompt(false)); got == nil {
			w.Fatalf("%s got no response", a.tag)
		}
	}
	for _, o := range w.operators {
		o.check()
	}
	w.collect()
	for _, p := range []*project{w.main, w.small} {
		w.checkUsage(p, w.figures(p))
	}
	w.checkDaily()
}

// checkSettled checks what must be true after the reservations from before the crash have expired.
func (w *world) checkSettled() {
	w.Helper()
	w.collect()
	for _, p := range []*project{w.main, w.small} {
		w.eventually("the usage of "+p.name+" is complete", func() error {
			f := w.figures(p)
			w.checkUsage(p, f)
			return p.complete(f)
		})
	}
	w.eventually("all violations are listed", w.checkViolations)
	w.checkBudget()
	for _, p := range w.projects {
		got := w.mustAdmin("GET", "projects/"+p.id+"/compliance/verify", "")
		if !got.get("ok").Bool() {
			w.Errorf("the hash chain of %s: %s", p.name, got)
		}
	}
}

func (d *deployment) figures(p *project) figures {
	d.Helper()
	return readFigures(d.mustAdmin("GET", "projects/"+p.id+"/usage?by=model", "").body)
}

// sums adds up the outcomes of a project's requests.
func (p *project) sums() (all counts) {
	for _, a := range p.all() {
		n := a.now()
		all.sent, all.served, all.refused = all.sent+n.sent, all.served+n.served, all.refused+n.refused
	}
	return all
}

// checkUsage checks what must always be true. Nothing is booked twice, and no reported usage is lost. A settled
// request costs the amount that the provider reported. Any other request costs its reservation.
func (w *world) checkUsage(p *project, f figures) {
	w.Helper()
	all := p.sums()
	if f.requests < p.read.requests || f.settled() < p.read.settled() || f.prompt < p.read.prompt {
		w.Errorf("%s: usage fell from %+v to %+v", p.name, p.read, f)
	}
	if f.settled() > int64(p.answered) || f.requests > int64(all.sent-all.refused) {
		w.Errorf("%s: booked more than was answered: %+v, answered %d, %+v", p.name, f, p.answered, all)
	}
	if f.prompt != 100*f.settled() || f.completion != 50*f.settled() || f.estimated != 0 {
		w.Errorf("%s: tokens do not match the provider's: %+v", p.name, f)
	}
	flagged := f.cost - answerCost*float64(f.settled())
	if least, most := leastAmount*float64(f.expired), mostAmount*float64(f.expired); flagged < least-1e-9 || flagged > most+1e-9 {
		w.Errorf("%s: %d expired requests cost %g, want %g to %g", p.name, f.expired, flagged, least, most)
	}
	if cost := f.cost + f.lost.cost; math.Abs(cost-f.used) > 1e-9 {
		w.Errorf("%s: the budget used is %g, but the cost is %g", p.name, f.used, cost)
	}
	p.read = f
}

// complete reports whether every response by the provider and every response to a caller is booked. An estimate is
// enough, and so is an admission of a lost lease.
func (p *project) complete(f figures) error {
	all := p.sums()
	if booked := f.settled() + f.expired + f.lost.requests; booked < int64(p.answered) || booked < int64(all.served) {
		return fmt.Errorf("%+v; the provider answered %d, %+v", f, p.answered, all)
	}
	return nil
}

var dayLeft = regexp.MustCompile(`"day";r=(\d+)`)

// checkDaily checks the daily limit across all crashes. Not too many requests may be admitted, and none may be
// refused before the limit is reached.
func (w *world) checkDaily() {
	w.Helper()
	before := w.daily.now()
	got := w.complete(w.daily, w.prompt(false), 429)
	w.collect()
	if w.daily.dispatched > w.dailyLimit {
		w.Errorf("%d requests of the day passed, want at most %d", w.daily.dispatched, w.dailyLimit)
	}
	if got == nil {
		w.Fatal("no response")
	}
	if got.status == 429 {
		if most := before.sent - before.refused; most < w.dailyLimit {
			w.Errorf("refused after at most %d of %d admissions", most, w.dailyLimit)
		}
		return
	}
	match := dayLeft.FindStringSubmatch(got.header.Get("RateLimit"))
	if match == nil {
		w.Fatalf("no daily limit in %q", got.header)
	}
	left, _ := strconv.Atoi(match[1])
	after := w.daily.now()
	if admitted := w.dailyLimit - left; admitted < w.daily.dispatched || admitted < after.served || admitted > after.sent-after.refused {
		w.Errorf("%d counted as admitted; the provider got %d, %+v", admitted, w.daily.dispatched, after)
	}
}

// checkBudget checks the small budget. It must never be exceeded, and if it is enough for a request, that request
// must not be refused. After the start, the alarms of expired reservations may take a moment. Until then, these
// reservations hold part of the budget.
func (w *world) checkBudget() {
	w.Helper()
	for _, a := range w.poor {
		w.eventually("the budget serves what it covers", func() error { return w.spend(a) })
	}
	w.collect()
}

// spend sends a request with a key of the small budget. If the request is refused although enough is left, it returns
// an error.
func (w *world) spend(a *account) error {
	w.Helper()
	f := w.figures(w.small)
	if f.used > w.budget+1e-9 {
		w.Errorf("%g used of a budget of %g", f.used, w.budget)
	}
	got := w.complete(a, prompt{text: w.text(), maxTokens: amounts[0]}, 402)
	switch left := w.budget - f.used; {
	case got == nil:
		w.Fatal("no response")
	case left > leastAmount*1.5 && got.status != 200:
		return fmt.Errorf("%g left of the budget, but %s got %s", left, a.tag, got)
	case left < leastAmount && got.status != 402:
		w.Errorf("%g left of the budget, but %s got %s", left, a.tag, got)
	}
	return nil
}

// checkViolations compares the number of violations with the refusals.
func (w *world) checkViolations() error {
	for _, a := range w.blocked {
		listed := 0
		for after := ""; ; {
			got := w.mustAdmin("GET", "projects/"+w.guarded.id+"/violations?limit=100&key="+a.id+after, "")
			for _, v := range got.get("violations").Array() {
				listed += int(v.Get("count").Int())
			}
			next := got.get("next").Str
			if next == "" {
				break
			}
			after = "&after=" + next
		}
		if n := a.now(); listed < n.refused || listed > n.sent {
			return fmt.Errorf("%s: %d violations, %+v", a.tag, listed, n)
		}
	}
	return nil
}
