package postern

import (
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Page is one page of a list.
type Page[T any] struct {
	Items []T    // may be empty even if there is a next page
	Next  string // the value for the filter's After; empty on the last page
}

// eachItem yields the items of all pages. It fetches a page after the caller has consumed the items of the pages
// before. If a page has an error, its items come first.
func eachItem[T any](page func(after string) (*Page[T], error), after string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			p, err := page(after)
			if p == nil {
				p = &Page[T]{}
			}
			for _, item := range p.Items {
				if !yield(item, nil) {
					return
				}
			}
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			if p.Next == "" {
				return
			}
			if p.Next == after {
				var none T
				yield(none, &InvalidResponseError{StatusCode: http.StatusOK, Problem: "the page has itself as its next page"})
				return
			}
			after = p.Next
		}
	}
}

// missingList returns name if the response lacks the list. Otherwise, it returns "".
func missingList[T any](items []T, name string) string {
	if items == nil {
		return name
	}
	return ""
}

// queryOf takes pairs of a name and a value. It returns the parameters whose value is not empty.
func queryOf(pairs ...string) url.Values {
	query := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	return query
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// timestamp returns t in RFC 3339, or "" for the zero time.
func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
