package kernel

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
)

// Query is the query string of a list endpoint: the page and the filters.
type Query struct {
	After    string // an ID, or a project's ID, a slash and an ID
	Limit    int
	text     string // lowercase text to search for in names
	Values   url.Values
	Problems []fault.Detail
}

// BadCursor is the message about a malformed "after" parameter.
const BadCursor = `must be the "next" of a previous page`

// Messages about malformed IDs in paths and queries.
const (
	BadProjectID = "must be a project ID, which starts with " + ProjectPrefix
	BadGroupID   = "must be " + doc.Root + " or a group ID, which starts with " + GroupPrefix
	BadKeyID     = "must be a key ID, which starts with " + KeyPrefix
)

// MaxQueryText is the maximum length of a search text.
const MaxQueryText = 200

// ReadQuery reads limit (1 to 100, default 50), after (an ID, the previous page's "next") and q from a query string.
// If idPrefix is empty, there is no paging. Any other parameter that is not in allowed is a problem, because a
// misspelled filter must not return everything.
func ReadQuery(r *http.Request, idPrefix string, allowed ...string) (*Query, error) {
	if idPrefix != "" {
		allowed = append(allowed, "limit", "after")
	}
	return readQuery(r, func(after string) bool { return IsID(after, idPrefix) }, allowed)
}

// ReadQueryOverProjects does the same as ReadQuery for a list over all projects. Its "after" is a project's ID, a
// slash and an ID.
func ReadQueryOverProjects(r *http.Request, idPrefix string, allowed ...string) (*Query, error) {
	return readQuery(r, func(after string) bool {
		project, id, _ := strings.Cut(after, "/")
		return IsID(project, ProjectPrefix) && IsID(id, idPrefix)
	}, append(allowed, "limit", "after"))
}

func readQuery(r *http.Request, isCursor func(string) bool, allowed []string) (*Query, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, Invalid(fault.Detail{Field: "query", Message: "must be a valid URL-encoded query string"})
	}
	q := &Query{After: values.Get("after"), Limit: defaultListLimit, Values: values, text: strings.ToLower(values.Get("q"))}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(allowed, name) && len(q.Problems) < MaxUnknown {
			q.Problem(nameOrNothing(name), "is not a parameter of this endpoint; the parameters are "+AllOf(allowed))
		}
	}
	if text := values.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > MaxListLimit {
			q.Problem("limit", "must be an integer between 1 and 100"+Got(text))
		}
		q.Limit = n
	}
	if q.After != "" && !isCursor(q.After) {
		q.Problem("after", BadCursor+Got(q.After))
	}
	if utf8.RuneCountInString(q.text) > MaxQueryText {
		q.Problem("q", "must have at most 200 characters")
	}
	return q, q.Err()
}

func nameOrNothing(name string) string {
	if len(name) > maxIDLength {
		return "" // too long to echo
	}
	return name
}

// Problem records a problem with a parameter.
func (q *Query) Problem(field, message string) {
	q.Problems = append(q.Problems, fault.Detail{Field: field, Message: message})
}

// Err returns a 400 with all problems, or nil.
func (q *Query) Err() error {
	if len(q.Problems) == 0 {
		return nil
	}
	SortBy(q.Problems, func(a, b *fault.Detail) int { return strings.Compare(a.Field, b.Field) })
	return Invalid(q.Problems...)
}

// Choice reads a parameter that is empty or one of choices.
func (q *Query) Choice(name string, choices []string) string {
	value := q.Values.Get(name)
	if value != "" && !slices.Contains(choices, value) {
		q.Problem(name, "must be "+OneOf(choices)+Got(value))
	}
	return value
}

// Instant reads a parameter that is a time or a date. A date stands for the time that is afterMidnight milliseconds
// after midnight UTC. The result is in Unix milliseconds. It is 0 if the parameter is absent or invalid.
func (q *Query) Instant(name string, afterMidnight uint64) uint64 {
	text := q.Values.Get(name)
	if text == "" {
		return 0
	}
	at, err := time.Parse(time.RFC3339, text)
	if err == nil {
		afterMidnight = 0
	} else {
		at, err = time.Parse(time.DateOnly, text)
	}
	if err != nil || at.Year() < 1971 || at.Year() > maxYear {
		q.Problem(name, "must be a time such as 2026-11-21T09:00:00Z or a date such as 2026-11-21"+Got(text))
		return 0
	}
	return uint64(at.UnixMilli()) + afterMidnight
}

const maxYear = 9999

// Matches reports whether a name contains the search text.
func (q *Query) Matches(name string) bool { return strings.Contains(strings.ToLower(name), q.text) }

// Limits on how much of the Directory one list request reads. A selective filter yields short pages that still have a
// "next".
const (
	scanPage     = 1000
	MaxScanPages = 10
)

// Scan reads documents under a prefix, starting after q.After, until it has found q.Limit documents that are wanted.
// more is the document key after which the next page starts. It is empty on the last page.
func Scan[T any](ctx context.Context, s Store, q *Query, prefix string, decode func(directory.Document) (T, error), wanted func(*T) bool) (found []T, more string, err error) {
	filtered := len(q.Values) > 0 && q.hasFilter()
	page := directory.List{Prefix: prefix, Limit: uint64(q.Limit + 1)}
	if filtered {
		page.Limit = scanPage
	}
	if q.After != "" {
		page.After = prefix + q.After
	}
	for range MaxScanPages {
		docs, err := s.List(ctx, page)
		if err != nil {
			return nil, "", err
		}
		for _, d := range docs {
			one, err := decode(d)
			if err != nil {
				return nil, "", err
			}
			if len(found) == q.Limit {
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

func (q *Query) hasFilter() bool {
	for name := range q.Values {
		if name != "limit" && name != "after" {
			return true
		}
	}
	return false
}

// NextID converts the document key that Scan returned to the ID for "next".
func NextID(more, prefix string) *string {
	id, ok := strings.CutPrefix(more, prefix)
	if !ok || id == "" {
		return nil
	}
	return &id
}
