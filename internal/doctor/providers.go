package doctor

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/catalog"
	"github.com/postern-ai/postern/core/config"
)

// lists contains, for each wire, the request that lists a provider's models: the path after the base URL, and the
// header with the key. Sources: the providers' API references, "List models". A wire without an entry has no such
// request, so its keys are not checked.
var lists = map[string]struct{ path, header, prefix string }{
	"openai":    {"/models", "Authorization", "Bearer "},
	"responses": {"/models", "Authorization", "Bearer "},
	"mistral":   {"/models", "Authorization", "Bearer "},
	"azure":     {"/models", "api-key", ""},
	"anthropic": {"/models", "x-api-key", ""},
	"gemini":    {"/models", "x-goog-api-key", ""},
}

// anthropicVersion is required with every request.
// Source: docs.anthropic.com, "Versions".
const anthropicVersion = "2023-06-01"

// providers lists the configured providers and, with Online, calls each of them once.
func (d *doctor) providers(ctx context.Context) {
	in := abi.Config{Catalog: catalog.Default}
	for name, value := range d.config.Env {
		in.Env = append(in.Env, abi.Header{Name: name, Value: value})
	}
	parsed, problem := config.Parse(in)
	if problem != "" {
		d.add(Fail, "catalog", "", "%s", problem)
		return
	}
	var ready []*config.Provider
	var names []string
	for i := range parsed.Providers {
		if p := &parsed.Providers[i]; p.Ready && p.Wire != config.MockWire && p.Account == p.Name {
			ready, names = append(ready, p), append(names, withWires(p))
		}
	}
	if len(ready) == 0 {
		d.add(Warn, "providers", "set a provider's key, such as OPENAI_API_KEY", "none is configured, so only development keys get responses, from the built-in mock")
		return
	}
	if !d.Online {
		d.ok("providers", "configured: %s; --online calls them", strings.Join(names, ", "))
		return
	}
	results := make([][]Check, len(ready))
	var wait sync.WaitGroup
	for i, p := range ready {
		wait.Go(func() {
			one := &doctor{Options: d.Options, config: d.config}
			one.provider(ctx, p)
			results[i] = one.checks
		})
	}
	wait.Wait()
	for _, checks := range results {
		d.checks = append(d.checks, checks...)
	}
}

// withWires returns a provider's name and the additional APIs on which it is called. Those APIs depend on the base
// URL.
func withWires(p *config.Provider) string {
	if len(p.Further) == 0 {
		return p.Name
	}
	return p.Name + " (also " + strings.Join(p.Further, ", ") + ")"
}

func (d *doctor) provider(ctx context.Context, p *config.Provider) {
	name := "provider " + p.Name
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	list, lists := lists[p.Wire]
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.BaseURL+list.path, nil)
	if err != nil {
		d.add(Fail, name, "check its base URL", "the address is not valid")
		return
	}
	if lists && p.Key != "" {
		request.Header.Set(list.header, list.prefix+p.Key)
	}
	if p.Wire == "anthropic" {
		request.Header.Set("anthropic-version", anthropicVersion)
	}
	before := d.Now()
	response, err := d.HTTP.Do(request)
	if err != nil {
		d.add(Fail, name, "check the network, DNS, a firewall and the base URL", "%s cannot be reached: %s", request.URL.Host, cause(err))
		return
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20))
	switch status := response.StatusCode; {
	case lists && (status == http.StatusUnauthorized || status == http.StatusForbidden):
		d.add(Fail, name, "set a valid key", "reachable, but the key is rejected (status %d)", status)
	case lists && status == http.StatusOK && p.Key != "":
		d.ok(name, "reachable, and the key is accepted")
	case status >= 500:
		d.add(Warn, name, "try again later", "reachable, but it answers with status %d", status)
	default:
		d.ok(name, "reachable; the key was not checked, because the provider has no list of models (status %d)", status)
	}
	if theirs, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		d.clock("clock", "that of "+p.Name, theirs, before, d.Now().Sub(before)+time.Second) // Date has whole seconds
	}
}

// cause returns a network error without the URL.
func cause(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no response within " + callTimeout.String()
	}
	return err.Error()
}
