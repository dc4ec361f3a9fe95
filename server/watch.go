package server

import (
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/host"
	"github.com/postern-ai/postern/store"
)

// Watcher is implemented by an observer (Config.Observer) that reads the state of the server's parts when metrics are
// requested. New calls Watch before the first request. Reload calls Watch with the new parts before they serve
// requests.
type Watcher interface{ Watch(Parts) }

// Parts are the parts of a server that a Watcher may read.
type Parts struct {
	Config  *config.Config
	Store   store.Store
	Host    *host.Host
	Objects host.Objects
	Stats   *host.Stats
}

func watch(observer host.Observer, parts Parts) {
	if w, ok := observer.(Watcher); ok {
		w.Watch(parts)
	}
}
