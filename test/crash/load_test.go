package crash

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// amounts are the values of maxTokens. The provider always reports 100 and 50 tokens, which cost less than the smallest
// reservation.
var amounts = []int{200, 800, 3000}

// world is a deployment with everything that the load uses.
type world struct {
	*deployment
	main, small, guarded  *project
	steady, poor, blocked []*account
	daily                 *account // with a limit of dailyLimit
	dailyLimit            int
	budget                float64
	operators             []*operator
	serial                atomic.Int64 // makes prompts unique, so that no prompt is in the cache
}

// newWorld deploys a server with projects. The small budget and the daily limit are enough for about half of the
// kills.
func newWorld(d *deployment, kills int) *world {
	w := &world{deployment: d, dailyLimit: 5 + 3*kills, budget: 0.01 + 0.003*float64(kills)}
	w.main = d.newProject("main", "")
	w.small = d.newProject("small", fmt.Sprintf(`,"budget":%.3f`, w.budget))
	w.guarded = d.newProject("guarded", "")
	d.mustAdmin("PUT", "projects/"+w.guarded.id+"/governor",
		`{"enabled":true,"keywords":[{"name":"codenames","severity":"high","input":"block","words":["bluefin"]}]}`)
	for i := range 3 {
		w.steady = append(w.steady, d.newAccount(w.main, fmt.Sprint("steady-", i), ""))
	}
	for i := range 2 {
		w.poor = append(w.poor, d.newAccount(w.small, fmt.Sprint("poor-", i), ""))
		w.blocked = append(w.blocked, d.newAccount(w.guarded, fmt.Sprint("blocked-", i), ""))
		w.operators = append(w.operators, &operator{world: w, name: fmt.Sprint("operator-", i), keys: map[string]*managed{}})
	}
	w.daily = d.newAccount(w.main, "daily", fmt.Sprintf(`,"limits":{"requestsPerSecond":null,"requestsPerDay":%d,"tokensPerMinute":null}`, w.dailyLimit))
	return w
}

func pick[T any](list []T) T { return list[rand.IntN(len(list))] }

func (w *world) text() string { return fmt.Sprint("count to 20, request ", w.serial.Add(1)) }

func (w *world) prompt(stream bool) prompt {
	return prompt{text: w.text(), maxTokens: pick(amounts), stream: stream}
}

// load runs all kinds of callers until stop is closed.
func (w *world) load(stop chan struct{}) *sync.WaitGroup {
	callers := []func(){
		func() { w.complete(pick(w.steady), w.prompt(false)) },
		func() { w.complete(pick(w.steady), w.prompt(false)) },
		func() { w.complete(w.steady[0], w.prompt(true)) },
		func() { w.complete(pick(w.steady), w.prompt(true)) },
		func() { w.complete(w.poor[0], w.prompt(false), 402) },
		func() { w.complete(w.poor[1], w.prompt(true), 402) },
		func() { w.complete(w.daily, w.prompt(false), 429) },
		func() { w.violate(pick(w.blocked)) },
		w.readUsage,
	}
	for _, o := range w.operators {
		callers = append(callers, o.act)
	}
	var all sync.WaitGroup
	for _, caller := range callers {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					caller()
				}
			}
		})
	}
	return &all
}

// violate sends a prompt that the policy blocks.
func (w *world) violate(a *account) {
	p := w.prompt(false)
	p.text = "bluefin"
	if got := w.complete(a, p, 422); got != nil && got.status == 200 {
		w.Errorf("a blocked prompt was served: %s", got)
	}
}

// readUsage records the usage of a project. A crash must not decrease this usage.
func (w *world) readUsage() {
	for _, p := range []*project{w.main, w.small} {
		got, err := w.admin("GET", "projects/"+p.id+"/usage?by=model", "")
		if err != nil {
			return
		}
		if got.status != 200 {
			w.Errorf("usage: %s", got)
			return
		}
		p.read = readFigures(got.body)
	}
}
