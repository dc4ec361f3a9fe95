package kernel

import (
	"context"
	"net/http"
)

// Call is one request to an endpoint.
type Call struct {
	context.Context
	Request *http.Request
	Action  string      // action of the audit entry, from the route
	maxBody int         // in bytes, from the route
	Header  http.Header // response headers; endpoints may add some
	Actor   Identity    // authenticated sender; empty for sign-in
	Project string      // ID of the project key's project, or a path parameter with a valid ID, or empty
	Group   string      // path parameter with a valid ID, which may be the root's, or empty
	Key     string      // path parameter with a valid ID, or empty
	ID      string      // path parameter: ID of a violation, a registry entry or a request, or empty
	Hash    string      // path parameter: SHA-256 of a key's value in lowercase hexadecimal digits, or empty
	// Provider is a path parameter. The catalog need not contain it.
	Provider string
}

// Answer is an endpoint's response, consisting of a status and a body that will be encoded as JSON. If Body is nil,
// the response has no body.
type Answer struct {
	Status int
	Body   any
}

// OK returns a 200.
func OK(body any) Answer { return Answer{http.StatusOK, body} }

// Created returns a 201.
func Created(body any) Answer { return Answer{http.StatusCreated, body} }

// NoContent returns a 204, which has no body.
func NoContent() Answer { return Answer{Status: http.StatusNoContent} }
