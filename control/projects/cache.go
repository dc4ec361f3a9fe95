package projects

import (
	"strconv"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
)

// The cache scopes in the API and in documents, in the same order. In both, the TTL is 0 if and only if the scope is
// off. A client that knows only the TTL can therefore still tell whether the cache is on, and turn it on or off.
var (
	scopeWords  = []string{"off", "colo", "global"}
	cacheScopes = []doc.CacheScope{doc.CacheOff, doc.CacheColo, doc.CacheGlobal}
)

const (
	maxCacheTTLSeconds     = 30 * 24 * 60 * 60
	defaultCacheTTLSeconds = 60 * 60
)

// cacheEdit holds the values of the fields "cache" and "cacheTtlSeconds".
type cacheEdit struct {
	scope            doc.CacheScope
	seconds          uint64
	hasScope, hasTTL bool
}

// takeCache takes the fields "cache" and "cacheTtlSeconds".
func takeCache(f *kernel.Fields) (e cacheEdit) {
	if string(f.Values["cache"]) == "false" { // older versions of YAML decode an unquoted off as false
		f.Fixed("cache", "must be a string, got false; put quotes around off")
	}
	word, hasScope := f.Choice("cache", "", scopeWords)
	e.scope, e.hasScope = kernel.Translate(word, scopeWords, cacheScopes), hasScope
	e.seconds, e.hasTTL = f.Integer("cacheTtlSeconds", 0, maxCacheTTLSeconds)
	if e.hasScope && e.hasTTL {
		if problem := wrongTTL(e.scope, e.seconds); problem != "" {
			f.Problem("cacheTtlSeconds", problem+", got "+strconv.FormatUint(e.seconds, 10))
		}
	}
	return e
}

// wrongTTL describes the problem with a TTL that the scope does not allow. It returns an empty string if the scope
// allows the TTL.
func wrongTTL(scope doc.CacheScope, seconds uint64) string {
	word := kernel.Translate(scope, cacheScopes, scopeWords)
	switch {
	case scope == doc.CacheOff && seconds != 0:
		return "must be 0 or absent with cache " + word
	case scope == doc.CacheGlobal && seconds < doc.MinGlobalCacheSeconds:
		return "must be at least " + strconv.Itoa(doc.MinGlobalCacheSeconds) + " with cache " + word
	case scope != doc.CacheOff && seconds == 0:
		return "must be at least 1 with cache " + word
	}
	return ""
}

// apply sets the scope and the TTL of a project. If only one of the two is given, the other keeps its value if they
// are compatible. A TTL alone also turns the cache off or on.
func (e *cacheEdit) apply(p *directory.Project) error {
	switch {
	case e.hasScope && e.hasTTL:
		p.Cache, p.CacheTTLSeconds = e.scope, e.seconds
	case e.hasScope:
		return e.applyScope(p)
	case e.hasTTL:
		return e.applyTTL(p)
	}
	return nil
}

func (e *cacheEdit) applyScope(p *directory.Project) error {
	seconds := p.CacheTTLSeconds
	switch {
	case e.scope == doc.CacheOff:
		seconds = 0
	case seconds == 0:
		seconds = defaultCacheTTLSeconds
	}
	if problem := wrongTTL(e.scope, seconds); problem != "" {
		return kernel.Invalid(fault.Detail{Field: "cacheTtlSeconds", Message: problem + "; it is " + strconv.FormatUint(seconds, 10)})
	}
	p.Cache, p.CacheTTLSeconds = e.scope, seconds
	return nil
}

func (e *cacheEdit) applyTTL(p *directory.Project) error {
	scope := p.Cache
	switch {
	case e.seconds == 0:
		scope = doc.CacheOff
	case scope == doc.CacheOff:
		scope = doc.CacheColo
	}
	if problem := wrongTTL(scope, e.seconds); problem != "" {
		return kernel.Invalid(fault.Detail{Field: "cacheTtlSeconds", Message: problem + ", got " + strconv.FormatUint(e.seconds, 10)})
	}
	p.Cache, p.CacheTTLSeconds = scope, e.seconds
	return nil
}
