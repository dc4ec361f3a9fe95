package fakeprovider

import (
	"encoding/json"
	"net/http"
	"strings"
)

// command is the body of POST /__fake/next: a Behavior, and the number of requests that get it (default 1).
type command struct {
	Behavior
	Times int `json:"times"`
}

// control executes commands from tests in other languages. It returns false for requests that are meant for the
// provider:
//
//	POST /__fake/next      {"kind":"stall","family":"gemini","times":2}   204
//	POST /__fake/script    [Rule], in place of the earlier ones           204
//	POST /__fake/reset     clear commands, rules and requests             204
//	POST /__fake/release   release held requests                          204
//	GET  /__fake/seen      [Seen]                                         200
//	GET  /__fake/active    {"active":1,"held":0}                          200
func (s *Server) control(w http.ResponseWriter, r *http.Request) bool {
	name, ok := strings.CutPrefix(r.URL.Path, "/__fake/")
	if !ok {
		return false
	}
	switch r.Method + " " + name {
	case "POST next":
		s.command(w, r)
	case "POST script":
		s.script(w, r)
	case "POST reset":
		s.Reset()
		w.WriteHeader(http.StatusNoContent)
	case "POST release":
		s.Release()
		w.WriteHeader(http.StatusNoContent)
	case "GET seen":
		reply(w, array(s.Seen()...))
	case "GET active":
		reply(w, object("active", s.Active(), "held", s.Held()))
	default:
		http.NotFound(w, r)
	}
	return true
}

func (s *Server) command(w http.ResponseWriter, r *http.Request) {
	var c command
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&c); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for range max(c.Times, 1) {
		s.Next(c.Behavior)
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) script(w http.ResponseWriter, r *http.Request) {
	var rules []Rule
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&rules); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.Script(rules...)
	w.WriteHeader(http.StatusNoContent)
}

func reply(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}
