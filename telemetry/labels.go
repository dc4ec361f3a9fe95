package telemetry

import (
	"net/http"
	"strconv"
	"sync"

	"github.com/postern-ai/postern/core/config"
)

// other replaces a value that is not in its table. This limits the number of time series.
const other = "other"

// catalog is a configuration together with the names of its providers and models.
type catalog struct {
	config *config.Config // nil before Watch
	known  map[string]string
}

func newCatalog(c *config.Config) *catalog {
	known := map[string]string{"": ""}
	for i := range c.Providers {
		known[c.Providers[i].Name] = c.Providers[i].Name
	}
	for i := range c.Models {
		known[c.Models[i].Name] = c.Models[i].Name
	}
	return &catalog{c, known}
}

// name returns a provider's or model's name as a label.
func (c *catalog) name(text []byte) string {
	if name, ok := c.known[string(text)]; ok {
		return name
	}
	return other
}

// maxWords is the maximum number of words of one label. The core has fewer routes and error codes.
const maxWords = 200

// words are the values of a label that come from the core: routes, error codes, and cache states.
type words struct {
	mu    sync.RWMutex
	known map[string]string
}

func (w *words) of(text []byte) string {
	w.mu.RLock()
	word, ok := w.known[string(text)]
	w.mu.RUnlock()
	if ok {
		return word
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known == nil {
		w.known = map[string]string{"": ""}
	}
	word, ok = w.known[string(text)]
	switch {
	case ok:
		return word
	case len(w.known) >= maxWords:
		return other
	}
	word = string(text)
	w.known[word] = word
	return word
}

// statusWords are the labels of HTTP statuses. If a status has no name, it is counted by its class.
var statusWords = func() (words [600]string) {
	for status := range words {
		switch {
		case status < 100:
			words[status] = other
		case http.StatusText(status) != "", status == 499, status == 529: // 499: client closed request; 529: Anthropic's overloaded
			words[status] = strconv.Itoa(status)
		default:
			words[status] = strconv.Itoa(status/100) + "xx"
		}
	}
	return words
}()

func statusWord(status int) string {
	if status < 0 || status >= len(statusWords) {
		return other
	}
	return statusWords[status]
}

// children are the series of a metric that have been used before. A lookup here costs less than WithLabelValues.
type children[K comparable, V any] struct {
	mu    sync.RWMutex
	known map[K]V
	make  func(K) V
}

func (c *children[K, V]) of(key K) V {
	c.mu.RLock()
	child, ok := c.known[key]
	c.mu.RUnlock()
	if ok {
		return child
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if child, ok = c.known[key]; ok {
		return child
	}
	if c.known == nil {
		c.known = map[K]V{}
	}
	child = c.make(key)
	c.known[key] = child
	return child
}
