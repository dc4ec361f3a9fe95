package crash

import (
	"fmt"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/keymeter"
)

type project struct {
	id       string
	name     string
	accounts []*account
	read     figures // the newest usage that the server has reported before a crash
	answered int     // requests to which the provider sent a complete response
	mu       sync.Mutex
}

// account is a key with the outcomes of its requests.
type account struct {
	id, value string
	tag       string // in every prompt
	mu        sync.Mutex
	counts
	dispatched int // requests that have reached the provider
}

// counts are outcomes of requests.
type counts struct {
	sent    int
	served  int // complete 200 responses
	refused int // refused because of a limit, the budget, a policy or the key's status
}

func (a *account) count(change func(*counts)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(&a.counts)
}

func (a *account) now() counts {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counts
}

// newProject creates a project. fields are additional JSON fields.
func (d *deployment) newProject(name, fields string) *project {
	d.Helper()
	got := d.mustAdmin("POST", "projects", fmt.Sprintf(`{"name":%q,"plan":"unlimited"%s}`, name, fields))
	p := &project{id: got.get("id").Str, name: name}
	d.projects = append(d.projects, p)
	return p
}

// newAccount creates a key. fields are additional JSON fields.
func (d *deployment) newAccount(p *project, tag, fields string) *account {
	d.Helper()
	got := d.mustAdmin("POST", "projects/"+p.id+"/keys", fmt.Sprintf(`{"name":%q%s}`, tag, fields))
	a := &account{id: got.get("id").Str, value: got.get("value").Str, tag: tag}
	p.add(a)
	return a
}

func (p *project) add(a *account) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.accounts = append(p.accounts, a)
}

func (p *project) all() []*account {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accounts[:len(p.accounts):len(p.accounts)]
}

// collect counts the requests since the last call that the provider has received. It also counts how many of them got
// a complete response from the provider. No request may be in flight.
func (d *deployment) collect() {
	d.Helper()
	d.eventually("the provider is idle", func() error {
		if n := d.upstream.Active(); n > 0 {
			return fmt.Errorf("%d requests are active", n)
		}
		return nil
	})
	seen := d.upstream.Seen()
	d.upstream.Reset()
	for _, p := range d.projects {
		for _, a := range p.all() {
			for i := range seen {
				if !strings.Contains(seen[i].Body, "["+a.tag+"]") {
					continue
				}
				a.dispatched++
				if seen[i].Status == 200 && !seen[i].Disconnected {
					p.answered++
				}
			}
		}
	}
}

// figures are the totals of a project's usage. Lost leases count only in lost and used.
type figures struct {
	requests, expired, estimated, prompt, completion int64 // requests are served ones
	cost, used                                       float64
	lost                                             lost
}

// lost is the usage booked for lost leases: the admissions that no report named, and the budget lent for them.
type lost struct {
	requests int64
	cost     float64
}

// settled returns the number of requests whose reported usage was booked.
func (f figures) settled() int64 { return f.requests - f.expired - f.estimated }

// readFigures reads usage by model.
func readFigures(body []byte) figures {
	total := gjson.GetBytes(body, "totals")
	number := func(name string) int64 { return total.Get(name).Int() }
	unreported := gjson.GetBytes(body, `rows.#(model=="`+keymeter.Unreported+`")`)
	l := lost{unreported.Get("expired").Int(), unreported.Get("cost").Num}
	return figures{
		requests: number("outcomes.served") - l.requests, expired: number("expired") - l.requests, estimated: number("estimated"),
		prompt: number("promptTokens"), completion: number("completionTokens"), cost: total.Get("cost").Num - l.cost,
		used: gjson.GetBytes(body, "budget.used").Num, lost: l,
	}
}
