package violations

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/ledger"
)

// Limits for one page of all projects' violations. An invocation on the platform's free plan may make only 50
// subrequests. The projects are listed, and each is called once. Enough calls then remain to read all KeepViolations
// rows of one project, because a call reads 500 rows.
const (
	pageCalls      = 36
	projectsAtOnce = 12
	enoughFound    = 500 // with this many violations on a page, no more projects are added
)

type allView struct {
	From       string            `json:"from"` // the earliest firstAt
	Violations []json.RawMessage `json:"violations"`
	More       []string          `json:"more"`     // IDs of projects that have more violations than the page shows
	Searched   uint64            `json:"searched"` // projects searched so far, including this page
	Next       *string           `json:"next"`     // pass as "after" to continue; null: all projects were searched
}

// search records how far the projects have been searched, and holds the page so far.
type search struct {
	command ledger.Violations // sent to each project
	after   string            // ID of the last project that was searched; empty: none
	calls   int               // remaining
	ended   bool
	page    allView
}

func (h *handler) allRoute() kernel.Route {
	return kernel.Route{Method: http.MethodGet, Path: "/api/admin/violations", For: kernel.Operators, Operation: "listAllViolations", Serve: h.listAll}
}

// listAll serves GET /api/admin/violations?state=&rule=&category=&severity=&decision=&model=&from=&to=&limit=&after=.
// It lists the newest violations of each project, up to limit. A page covers some of the projects, oldest project
// first. The violations of a page are sorted newest first. listAll does not flush meters, because they report a
// violation within seconds.
func (h *handler) listAll(c *kernel.Call) (kernel.Answer, error) {
	s, err := h.readSearch(c.Request)
	if err != nil {
		return kernel.Answer{}, err
	}
	for !s.ended && s.calls > 1 && len(s.page.Violations) < enoughFound {
		if err := h.searchSome(c, s); err != nil {
			return kernel.Answer{}, err
		}
	}
	// A violation's JSON begins with its ID. The ID begins with the time left until EndOfTimeMs, so this order is
	// newest first.
	kernel.SortBy(s.page.Violations, func(a, b *json.RawMessage) int { return bytes.Compare(*a, *b) })
	if !s.ended {
		next := s.after + "/at_" + strconv.FormatUint(s.page.Searched, 10) + "x" + strconv.FormatUint(s.command.FromMs, 10)
		s.page.Next = &next
	}
	return kernel.OK(s.page), nil
}

// readSearch reads the filters and the cursor. Without "from", the range begins with the current UTC day on the first
// page. Later pages keep that beginning.
func (h *handler) readSearch(r *http.Request) (*search, error) {
	q, err := kernel.ReadQueryOverProjects(r, "at_", allFilters...)
	if err != nil {
		return nil, err
	}
	s := &search{calls: pageCalls, page: allView{Violations: []json.RawMessage{}, More: []string{}}}
	today := h.NowMs() / calendar.DayMs * calendar.DayMs
	began, ok := today, true
	if q.After != "" {
		s.after, s.page.Searched, began, ok = readCursor(q.After)
	}
	if s.command = readFilters(q, began); !ok || s.command.FromMs > today && q.Values.Get("from") == "" {
		q.Problem("after", kernel.BadCursor+kernel.Got(q.After))
	}
	s.page.From = kernel.Timestamp(s.command.FromMs)
	return s, q.Err()
}

// readCursor reads a project's ID, a slash, the number of searched projects and the beginning of the range.
func readCursor(after string) (project string, searched, beganMs uint64, ok bool) {
	project, at, _ := strings.Cut(after, "/")
	first, second, _ := strings.Cut(strings.TrimPrefix(at, "at_"), "x")
	searched, err := strconv.ParseUint(first, 10, 53)
	if err != nil {
		return "", 0, 0, false
	}
	beganMs, err = strconv.ParseUint(second, 10, 53)
	return project, searched, beganMs, err == nil
}

// searchSome searches the next projects with the calls that remain. If too few calls remain for a project, the next
// page searches that project from its beginning.
func (h *handler) searchSome(c *kernel.Call, s *search) error {
	limit := min(projectsAtOnce, s.calls-1)
	docs, err := h.Store.List(c, directory.List{Prefix: doc.ProjectKey(""), After: doc.ProjectKey(s.after), Limit: uint64(limit)})
	if err != nil {
		return err
	}
	s.calls -= 1 + len(docs)
	projects, pages := make([]directory.Project, len(docs)), make([]ledger.ViolationsReply, len(docs))
	err = kernel.Parallel(kernel.Indexes(docs), func(i int) (err error) {
		if projects[i], err = directory.DecodeProject(docs[i]); err != nil {
			return err
		}
		pages[i], err = reports.Violations(c, h.Plane, &projects[i], &s.command)
		return err
	})
	if err != nil {
		return err
	}
	for i := range projects {
		if len(s.page.Violations) >= enoughFound {
			return nil
		}
		if whole, err := h.readOn(c, s, &projects[i], &pages[i]); err != nil || !whole {
			return err
		}
		s.add(&projects[i], &pages[i])
	}
	s.ended = len(docs) < limit
	return nil
}

// With a filter, a project's first page may be short. readOn reads on until the page is full or nothing follows. It
// returns false if too few calls remain.
func (h *handler) readOn(c *kernel.Call, s *search, p *directory.Project, page *ledger.ViolationsReply) (whole bool, err error) {
	command := s.command
	for page.Next != "" && uint64(len(page.Violations)) < s.command.Limit {
		if s.calls == 0 {
			return false, nil
		}
		s.calls--
		command.After, command.Limit = page.Next, s.command.Limit-uint64(len(page.Violations))
		next, err := reports.Violations(c, h.Plane, p, &command)
		if err != nil {
			return false, err
		}
		page.Violations, page.Next = append(page.Violations, next.Violations...), next.Next
	}
	return true, nil
}

// add adds a project's violations to the page. Each violation has the fields of the project's own list, and the
// project.
func (s *search) add(p *directory.Project, found *ledger.ViolationsReply) {
	s.after = p.ID
	s.page.Searched++
	for i := range found.Violations {
		one := found.Violations[i].AppendJSON(nil)
		b := jsontext.Builder{B: one[:len(one)-1]}
		b.Key("project")
		b.Open('{')
		b.StringMember("id", p.ID)
		b.StringMember("name", p.Name)
		b.Close('}')
		b.Close('}')
		s.page.Violations = append(s.page.Violations, b.B)
	}
	if found.Next != "" {
		s.page.More = append(s.page.More, p.ID)
	}
}
