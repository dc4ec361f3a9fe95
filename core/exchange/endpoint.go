package exchange

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/provider/wire"
)

// useEndpoint selects a row of the endpoint table for this step and all that follow.
func (x *exchange) useEndpoint(id endpointID) {
	x.s.endpoint = id
	x.endpoint = &x.rows[id]
}

// label is the endpoint's name in logs, metrics and traces.
func (e *endpoint) label() string {
	if e.name != "" {
		return e.name
	}
	return e.path
}

// listed reports whether GET / lists the endpoint.
func (e *endpoint) listed() bool { return !e.unlisted && e.path != "" }

// endpointID is the index of a row of endpoints.
type endpointID uint8

// endpoint is one row of the endpoint table: all that the core knows of it. Nothing else asks which endpoint a request is for.
// To add one, follow "an endpoint" in CONTRIBUTING.md; the tests of this file name what a row lacks.
type endpoint struct {
	method, path string // see match; HEAD is allowed where GET is
	operation    string // its operationId in docs/openapi.yaml
	name         string // in logs, metrics and traces; empty: path
	scenario     string // the file of testdata/conformance that shows it

	needs    doc.Permission // required of the key; 0: any key
	keyless  bool           // it needs no key, and serve answers at once
	unlisted bool           // GET / does not list it
	dialect  chat.Dialect   // of requests, responses and errors

	format func() api.Family // of requests and responses, where the dialect has several; nil: its first

	body    bodyKind
	policy  policyUse // what it reads of the project's policy
	streams bool      // the body's member "stream" is obeyed; else the response is always whole
	repeats bool      // a response is stored under the caller's Idempotency-Key; else a repeat has no effect that counts

	// parse reads and bounds a body: a JSON object of valid text. It reports problems to the Parser, or keeps the request.
	parse func(*exchange, *api.Parser, gjson.Result)
	// admit calls the key's meter, with a reservation of what the request may cost if it is not free.
	admit func(*exchange)
	// serve answers the admitted request, or sends it to a provider.
	serve func(*exchange)

	api   config.API // that a model must be offered on; 0: it has no model
	texts texts
	calls calls
}

// bodyKind is the form of a request's body. Its size is limited by POSTERN_MAX_BODY_BYTES.
type bodyKind uint8

const (
	noBody bodyKind = iota
	jsonBody
)

// policyUse is what an endpoint reads of the project's policy.
type policyUse uint8

const (
	ignoresPolicy policyUse = iota
	choosesModel            // the models that the key may use for the request
	checksTexts             // the Governor's settings only
	listsModels             // all of it
)

// texts is how the Governor walks the texts of an endpoint.
type texts struct {
	request  inspect.Kind
	response inspect.Kind
	checked  bool // responses have texts to check
	judged   bool // the project's classifier judges requests
	always   bool // the Governor checks although the project has not enabled it
	folded   bool // checked whole responses keep only what chat.Response has: there is no inspect.Kind of their body
}

// calls is how an endpoint's requests are sent to providers. The zero value is that of an endpoint without them.
type calls struct {
	noun    string  // such a model in messages, with its article
	purpose Purpose // of the fetch, for observers
	variant uint64  // tells apart bodies of one dialect in the keys of responses: 0 for chat, 1, 4, 5, …; 2 is strictVariant
	// family is the part of a provider's family that speaks this API; ok is false if there is none.
	family func(name string) (f *wire.Family, ok bool)
	// build encodes the request for the current target, from the caller's body.
	build func(x *exchange, body []byte)
	// rebuilds means that every request is built. Else a body in the target's dialect is forwarded member by member.
	rebuilds bool
	// read takes a provider's 200 response, and mock answers in its place.
	read func(x *exchange)
	mock func(x *exchange, body []byte)
	// stored is a stored response in the endpoint's own form, with the figures of this request; nil: its entries have that form.
	stored func(x *exchange, body []byte, m *api.Meta) []byte
	// outputs means that responses have output tokens, which are limited and reserved.
	outputs bool
	// unlimited means that a request cannot limit them: the reservation covers the longest response.
	unlimited bool
	// native is the endpoint that the provider must have (config.Provider.Serves): there is no translation. Empty: none.
	native string
}

// Purpose is what a fetch is for.
type Purpose uint8

const (
	ForChat Purpose = iota
	ForEmbeddings
	ForCount      // counts the tokens of a request
	ForClassifier // asks the project's classifier about a request
	ForModerations
	ForCompaction
	Purposes
)
