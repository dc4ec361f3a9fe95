package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/postern-ai/postern/server"
)

const (
	// readyTimeout limits one check of the store. A store that takes longer is not ready.
	readyTimeout = 2 * time.Second
	// scrapesAtOnce is the maximum number of concurrent requests to /metrics.
	scrapesAtOnce = 4
)

// Ops returns the handler of the operations listener, for server.Config.Ops. /livez says whether the process runs.
// /readyz says whether it accepts requests and can commit changes. /metrics is for Prometheus. None of them requires
// a credential, so the listener must not be reachable from outside.
func (t *Telemetry) Ops(ready func(context.Context) error) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "live", "") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()
		if err := ready(ctx); err != nil {
			answer(w, http.StatusServiceUnavailable, "not ready", notReady(err))
			return
		}
		answer(w, http.StatusOK, "ready", "")
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: scrapesAtOnce,
	}))
	return mux
}

// notReady returns the reason for the response. If the error is the store's, it leaves the error out, because it may
// contain addresses.
func notReady(err error) string {
	switch {
	case errors.Is(err, server.ErrStarting):
		return "starting"
	case errors.Is(err, server.ErrDraining):
		return "draining"
	}
	return "store_unavailable"
}

func answer(w http.ResponseWriter, status int, word, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(struct {
		Status string `json:"status"`
		Reason string `json:"reason,omitempty"`
	}{word, reason})
}
