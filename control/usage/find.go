package usage

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
)

// foundView has the request that was found, or tells how far the search has got.
type foundView struct {
	Request  *reports.RequestView `json:"request"`
	Project  *projectView         `json:"project"`
	Searched uint64               `json:"searched"` // projects searched so far, including this page
	Next     *string              `json:"next"`     // pass as "after" to continue; null: the request was found, or all projects were searched
}

// projectView identifies the project to which a found request belongs.
type projectView struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Limits for one call of findRequest, because an invocation on the platform's free plan may make only 50 subrequests.
const (
	findCalls    = 36
	leastCalls   = 3 // one call lists projects, and two calls search one project
	findProjects = 32
)

// findRequest serves GET /api/admin/requests/{request}?after=. It searches the projects, oldest first, with a limited
// number of calls. It returns the request, or the cursor with which to continue.
func (h *handler) findRequest(c *kernel.Call) (kernel.Answer, error) {
	q, err := kernel.ReadQuery(c.Request, "at_")
	if err != nil {
		return kernel.Answer{}, err
	}
	at, ok := readSearch(q.After)
	if !ok {
		return kernel.Answer{}, kernel.Invalid(fault.Detail{Field: "after", Message: kernel.BadCursor + kernel.Got(q.After)})
	}
	for calls := findCalls; calls >= leastCalls; {
		projects, err := h.Store.List(c, directory.List{Prefix: doc.ProjectKey(""), After: doc.ProjectKey(at.after), Limit: findProjects})
		if calls--; err != nil {
			return kernel.Answer{}, err
		}
		if len(projects) == 0 {
			return kernel.Answer{}, kernel.Refuse(fault.NotFound, "request", "is not among the recorded requests of this deployment; "+
				strconv.FormatUint(at.searched, 10)+" projects were searched")
		}
		found, err := h.findIn(c, projects, &at, &calls)
		if err != nil || found != nil {
			return kernel.OK(found), err
		}
	}
	return kernel.OK(foundView{Searched: at.searched, Next: at.cursor()}), nil
}

// findIn searches projects and advances the search. It returns nil if none of them has the request.
func (h *handler) findIn(c *kernel.Call, projects []directory.Document, at *search, calls *int) (*foundView, error) {
	f := reports.RequestFilter{ID: c.ID, Catalog: h.Catalog, ProviderTexts: c.Actor.Role == kernel.Owner}
	for i := range projects {
		p, err := directory.DecodeProject(projects[i])
		if err != nil {
			return nil, err
		}
		m := merge{ctx: c, handler: h, project: &p, place: at.place, calls: *calls}
		view, err := m.page(1, &f)
		if *calls = m.calls; err != nil {
			return nil, err
		}
		if len(view.Requests) > 0 {
			return &foundView{Request: &view.Requests[0], Project: &projectView{p.ID, p.Name}, Searched: at.searched + 1}, nil
		}
		if at.place = m.place; m.place != (place{1, 1}) { // out of calls
			return &foundView{Searched: at.searched, Next: at.cursor()}, nil
		}
		*at = search{after: p.ID, searched: at.searched + 1}
	}
	return nil, nil
}

// search records how far the search for a request has got: which project was searched last, and the place reached in
// the next project's list.
type search struct {
	after    string // a project's ID; empty: none
	searched uint64
	place
}

func readSearch(after string) (at search, ok bool) {
	if after == "" {
		return at, true
	}
	parts := strings.SplitN(strings.TrimPrefix(after, "at_"), "x", 4)
	if len(parts) != 4 {
		return at, false
	}
	for i, n := range []*uint64{&at.searched, &at.batch, &at.chunk} {
		var err error
		if *n, err = strconv.ParseUint(parts[i], 10, 53); err != nil {
			return at, false
		}
	}
	if at.after = parts[3]; at.after != "" {
		at.after = kernel.ProjectPrefix + at.after
	}
	return at, at.after == "" || kernel.IsID(at.after, kernel.ProjectPrefix)
}

func (at *search) cursor() *string {
	text := "at_"
	for _, n := range []uint64{at.searched, at.batch, at.chunk} {
		text += strconv.FormatUint(n, 10) + "x"
	}
	text += strings.TrimPrefix(at.after, kernel.ProjectPrefix)
	return &text
}

func (h *handler) findRoute() kernel.Route {
	return kernel.Route{Method: http.MethodGet, Path: kernel.RequestsPath + "/{request}", For: kernel.Operators, Operation: "findRequest", Serve: h.findRequest}
}
