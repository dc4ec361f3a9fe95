package control

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/fault"
)

// query is a list's query string: which part of the list, and filters.
type query struct {
	after    string // an id
	limit    int
	text     string // to be found in a name, in lower case
	values   url.Values
	problems []fault.Detail
}

// maxQueryText is how long a text to look for may be.
const maxQueryText = 200

// readQuery takes limit (1 to 100, default 50), after (an id, as "next" gave it; not with an empty prefix) and q
// from a query string. Parameters other than these and allowed are wrong: a filter that is misspelt must not
// show everything.
func readQuery(r *http.Request, idPrefix string, allowed ...string) (*query, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, invalid(fault.Detail{Field: "query", Message: "must be URL-encoded"})
	}
	q := &query{after: values.Get("after"), limit: defaultListLimit, values: values, text: strings.ToLower(values.Get("q"))}
	for name := range values {
		if isPaging := idPrefix != "" && (name == "limit" || name == "after"); !isPaging && !slices.Contains(allowed, name) {
			q.wrong(nameOrNothing(name), "is not a parameter here")
		}
	}
	if text := values.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxListLimit {
			q.wrong("limit", "must be an integer from 1 to 100")
		}
		q.limit = n
	}
	if q.after != "" && !isID(q.after, idPrefix) {
		q.wrong("after", "must be an id that a list gave as next")
	}
	if utf8.RuneCountInString(q.text) > maxQueryText {
		q.wrong("q", "must be at most 200 characters")
	}
	return q, q.refused()
}

func nameOrNothing(name string) string {
	if len(name) > maxIDLength {
		return "" // not worth an echo
	}
	return name
}

func (q *query) wrong(field, message string) {
	q.problems = append(q.problems, fault.Detail{Field: field, Message: message})
}

func (q *query) refused() error {
	if len(q.problems) == 0 {
		return nil
	}
	slices.SortFunc(q.problems, func(a, b fault.Detail) int { return strings.Compare(a.Field, b.Field) })
	return invalid(q.problems...)
}

// choice takes a parameter that is one of some, or empty.
func (q *query) choice(name string, choices []string) string {
	value := q.values.Get(name)
	if value != "" && !slices.Contains(choices, value) {
		q.wrong(name, "must be one of "+strings.Join(choices, ", "))
	}
	return value
}

// matches says whether a name has the text that is looked for.
func (q *query) matches(name string) bool { return strings.Contains(strings.ToLower(name), q.text) }

// How much one list reads of the Directory at most. A filter that lets little through gives short pages, with
// a next all the same.
const (
	scanPage     = 1000
	maxScanPages = 10
)

// scan reads documents under a prefix, after the one with q.after, until q.limit of them are wanted. more is
// the document key after which there may be others, or empty.
func scan[T any](ctx context.Context, s store, q *query, prefix string, decode func(directory.Document) (T, error), wanted func(*T) bool) (found []T, more string, err error) {
	filtered := len(q.values) > 0 && q.hasFilter()
	page := directory.List{Prefix: prefix, Limit: uint64(q.limit + 1)}
	if filtered {
		page.Limit = scanPage
	}
	if q.after != "" {
		page.After = prefix + q.after
	}
	for range maxScanPages {
		docs, err := s.list(ctx, page)
		if err != nil {
			return nil, "", err
		}
		for _, d := range docs {
			one, err := decode(d)
			if err != nil {
				return nil, "", err
			}
			if len(found) == q.limit {
				return found, page.After, nil
			}
			if wanted(&one) {
				found = append(found, one)
			}
			page.After = d.Key
		}
		if uint64(len(docs)) < page.Limit {
			return found, "", nil
		}
	}
	return found, page.After, nil
}

func (q *query) hasFilter() bool {
	for name := range q.values {
		if name != "limit" && name != "after" {
			return true
		}
	}
	return false
}

// nextID is the id in a document key that scan gave, for "next".
func nextID(more, prefix string) *string {
	id, ok := strings.CutPrefix(more, prefix)
	if !ok || id == "" {
		return nil
	}
	return &id
}
