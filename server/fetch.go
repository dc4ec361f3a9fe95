package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/postern-ai/postern/control"
	"github.com/postern-ai/postern/host"
)

const fetchTimeout = 10 * time.Second

var fetchClient = &http.Client{
	Transport: host.NewTransport(), Timeout: fetchTimeout,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// fetchSmall is control.Config.Fetch.
func fetchSmall(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := fetchClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: status %d", url, response.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, control.MaxFetchBytes+1))
	if err == nil && len(body) > control.MaxFetchBytes {
		err = errors.New(url + ": response too large")
	}
	return body, err
}
