package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/postern-ai/postern/host"
)

// The maximum sizes of a request's body and of a line of a stream, in bytes.
const (
	maxBody = 4 << 20
	maxLine = 32 << 10
)

// chunk is the part of a chat.completion.chunk that a gateway has to know: the text, the reason for the end and the
// usage.
type chunk struct {
	Choices []struct {
		Index int `json:"index"`
		Delta struct {
			Content string `json:"content"`
		} `json:"delta"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
	} `json:"usage"`
}

// eventProxy is a proxy that reads every event of a stream. It splits the upstream's response into lines, decodes the
// JSON of each event into a chunk with encoding/json, and writes the event again with the same data. It flushes once for
// all events that have arrived together, as Postern does.
type eventProxy struct {
	upstream *url.URL
	client   http.Client
}

func newEventProxy(upstream *url.URL) http.Handler {
	return &eventProxy{upstream: upstream, client: http.Client{Transport: host.NewTransport()}}
}

func (p *eventProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// net/http may close the request body when the response begins, so it is read first.
	sent, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	request, err := http.NewRequestWithContext(r.Context(), r.Method, p.upstream.JoinPath(r.URL.Path).String(), bytes.NewReader(sent))
	if err != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	request.Header.Set("Content-Type", r.Header.Get("Content-Type"))
	request.Header.Set("Authorization", "Bearer sk-bench")
	response, err := p.client.Do(request)
	if err != nil {
		http.Error(w, "bad gateway", http.StatusBadGateway)
		return
	}
	defer response.Body.Close()
	w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
	w.WriteHeader(response.StatusCode)
	if err := forwardEvents(w, response.Body); err != nil {
		panic(http.ErrAbortHandler) // the response must not look complete
	}
}

// forwardEvents writes the events of a stream. It returns an error unless the stream ends with the end mark.
func forwardEvents(w http.ResponseWriter, body io.Reader) error {
	in, out := bufio.NewReaderSize(body, maxLine), bufio.NewWriter(w)
	flush := http.NewResponseController(w)
	for ended := false; !ended; {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		data, isData := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte("data: "))
		if !isData {
			continue
		}
		if ended = string(data) == "[DONE]"; !ended {
			var c chunk
			if err := json.Unmarshal(data, &c); err != nil {
				return err
			}
		}
		for _, piece := range [][]byte{[]byte("data: "), data, blankLine} {
			_, _ = out.Write(piece)
		}
		if buffered, _ := in.Peek(in.Buffered()); bytes.Contains(buffered, blankLine) {
			continue // write and flush this event together with the next one, which has already arrived
		}
		if err := errors.Join(out.Flush(), flush.Flush()); err != nil {
			return err
		}
	}
	if err := errors.Join(out.Flush(), flush.Flush()); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, in) // lets the connection be used again
	return err
}

// blankLine ends the last line of an event and the event.
var blankLine = []byte("\n\n")
