package postern

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"testing"
	"time"
)

const closeTimeout = 30 * time.Second

// scriptedServer is test/clients/server.mjs.
type scriptedServer struct{ url string }

func startScriptedServer(t testing.TB) *scriptedServer {
	var ready struct{ URL string }
	StartNode(t, &ready, "server.mjs")
	return &scriptedServer{ready.URL}
}

// script creates a case with the given responses and returns its ID.
func (s *scriptedServer) script(t testing.TB, number int, answers []byte) string {
	id := strconv.Itoa(number)
	request, err := http.NewRequest(http.MethodPut, s.url+"/__cases/"+id, bytes.NewReader(answers))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return id
}

// requests returns the requests of a case so far.
func (s *scriptedServer) requests(t testing.TB, id string) []map[string]any {
	response, err := http.Get(s.url + "/__cases/" + id)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var requests []map[string]any
	if err := json.NewDecoder(response.Body).Decode(&requests); err != nil {
		t.Fatal(err)
	}
	return requests
}

// await returns the requests as soon as ready accepts them, at the latest after closeTimeout.
func (s *scriptedServer) await(t testing.TB, id string, ready func([]map[string]any) bool) []map[string]any {
	for end := time.Now().Add(closeTimeout); ; time.Sleep(5 * time.Millisecond) {
		if requests := s.requests(t, id); ready(requests) || time.Now().After(end) {
			return requests
		}
	}
}
