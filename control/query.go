package control

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/fault"
)

// query is the query string of a list: its page and its filters.
type query struct {
	after    string // an ID
	limit    int
	text     string // lowercase text to search for in names
	values   url.Values
	problems []fault.Detail
}

// badCursor is the problem of a malformed parameter "after".
const badCursor = `must be the "next" of a previous page`

const (
	badProjectID = "must be a project ID, which starts with " + projectPrefix
	badKeyID     = "must be a key ID, which starts with " + keyPrefix
)

// maxQueryText is the maximum length of a search text.
const maxQueryText = 200

// readQuery reads limit (1 to 100, default 50), after (an ID, the previous page's "next") and q from a query
// string. Without idPrefix there is no paging. Parameters that are neither these nor allowed are problems: a
// misspelled filter must not return everything.
func readQuery(r *http.Request, idPrefix string, allowed ...string) (*query, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, invalid(fault.Detail{Field: "query", Message: "must be a valid URL-encoded query string"})
	}
	q := &query{after: values.Get("after"), limit: defaultListLimit, values: values, text: strings.ToLower(values.Get("q"))}
	if idPrefix != "" {
		allowed = append(allowed, "limit", "after")
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(allowed, name) && len(q.problems) < maxUnknown {
			q.problem(nameOrNothing(name), "is not a parameter of this endpoint; the parameters are "+allOf(allowed))
		}
	}
	if text := values.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxListLimit {
			q.problem("limit", "must be an integer between 1 and 100"+got(text))
		}
		q.limit = n
	}
	if q.after != "" && !isID(q.after, idPrefix) {
		q.problem("after", badCursor+got(q.after))
	}
	if utf8.RuneCountInString(q.text) > maxQueryText {
		q.problem("q", "must have at most 200 characters")
	}
	return q, q.err()
}

func nameOrNothing(name string) string {
	if len(name) > maxIDLength {
		return "" // too long to echo
	}
	return name
}

func (q *query) problem(field, message string) {
	q.problems = append(q.problems, fault.Detail{Field: field, Message: message})
}

func (q *query) err() error {
	if len(q.problems) == 0 {
		return nil
	}
	sortBy(q.problems, func(a, b *fault.Detail) int { return strings.Compare(a.Field, b.Field) })
	return invalid(q.problems...)
}

// choice reads a parameter that is empty or one of choices.
func (q *query) choice(name string, choices []string) string {
	value := q.values.Get(name)
	if value != "" && !slices.Contains(choices, value) {
		q.problem(name, "must be "+oneOf(choices)+got(value))
	}
	return value
}

// matches reports whether a name contains the search text.
func (q *query) matches(name string) bool { return strings.Contains(strings.ToLower(name), q.text) }

// How much of the Directory one list reads at most. A selective filter yields short pages that still have a
// next.
const (
	scanPage     = 1000
	maxScanPages = 10
)

// scan reads documents under a prefix, after the one with q.after, until it has q.limit that are wanted. more
// is the document key from which the next page continues, or empty.
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

// nextID converts the document key that scan returned to the ID for "next".
func nextID(more, prefix string) *string {
	id, ok := strings.CutPrefix(more, prefix)
	if !ok || id == "" {
		return nil
	}
	return &id
}
