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

func (x *exchange) useEndpoint(id endpointID) {
	x.s.endpoint = id
	x.endpoint = &x.rows[id]
}

func (e *endpoint) label() string {
	if e.name != "" {
		return e.name
	}
	return e.path
}

func (e *endpoint) listed() bool { return !e.unlisted && e.path != "" }

type endpointID uint8

// endpoint is one row of the endpoint table. The row contains everything that the core knows about the endpoint. No
// other code distinguishes between endpoints. To add one, follow "Add an endpoint" in CONTRIBUTING.md. The tests in
// endpoints_test.go report missing parts of a row.
type endpoint struct {
	method, path string // see match; HEAD is allowed where GET is
	operation    string // its operationId in docs/openapi.yaml
	name         string // in logs, metrics and traces; if empty, path is used
	scenario     string // the file of testdata/conformance that covers the endpoint

	needs    doc.Permission // the permission that the key must have; 0: none
	keyless  bool           // requests need no key; serve responds immediately
	unlisted bool           // GET / does not list it
	dialect  chat.Dialect   // of requests, responses and errors

	format func() api.Family // the format of requests and responses, if the dialect has several; nil: the first one

	body    bodyKind
	policy  policyUse // the parts of the project's policy that the endpoint reads
	streams bool      // the body's "stream" field is honored; if this is not set, responses are never streamed
	repeats bool      // responses are stored under the caller's Idempotency-Key; if this is not set, repeating a request is harmless

	// parse reads a body and checks its limits. The body is a JSON object with valid text. If there are problems,
	// parse reports them to the Parser. Otherwise, it keeps the request.
	parse func(*exchange, *api.Parser, gjson.Result)
	// admit calls the key's meter. If the request is not free, admit reserves the highest possible cost.
	admit func(*exchange)
	// serve responds to the admitted request, or sends it to a provider.
	serve func(*exchange)

	api   config.API // the API that must offer the requested model; 0: requests name no model
	texts texts
	calls calls
}

// bodyKind is the form of a request's body. POSTERN_MAX_BODY_BYTES limits the body's size.
type bodyKind uint8

const (
	noBody bodyKind = iota
	jsonBody
)

// policyUse says which parts of the project's policy an endpoint reads.
type policyUse uint8

const (
	ignoresPolicy policyUse = iota
	choosesModel            // the models that the key may use for the request
	checksTexts             // the Governor's settings only
	listsModels             // the complete policy
)

// texts says how the Governor checks the text in an endpoint's requests and responses.
type texts struct {
	request  inspect.Kind
	response inspect.Kind
	checked  bool // responses have text to check
	judged   bool // the project's classifier judges requests
	always   bool // the Governor checks even if the project has not enabled it
	folded   bool // of a checked non-streaming response, only the parts that chat.Response has are kept, because inspect has no Kind for the body
}

// calls says how an endpoint's requests are sent to providers. If the endpoint calls no providers, it is the zero
// value.
type calls struct {
	noun    string  // how error messages name a model for this API, with an article
	purpose Purpose // the purpose of the fetch, for observers
	variant uint64  // distinguishes bodies of one dialect in the keys of stored responses: 0 for chat, then 1, 4, 5, …; 2 is strictVariant
	// family returns the part of a provider's family that supports this API. If there is none, ok is false.
	family func(name string) (f *wire.Family, ok bool)
	// build encodes the request for the current target, from the caller's body.
	build func(x *exchange, body []byte)
	// rebuilds means that build encodes every request. If it is not set, a body in the target's dialect is forwarded
	// field by field.
	rebuilds bool
	// read handles a provider's 200 response. mock responds in place of a provider.
	read func(x *exchange)
	mock func(x *exchange, body []byte)
	// stored returns a stored response in the endpoint's own format, with the figures of this request. If stored is
	// nil, entries already have that format.
	stored func(x *exchange, body []byte, m *api.Meta) []byte
	// outputs means that responses have output tokens. Reservations cover these tokens, and requests can limit them.
	outputs bool
	// unlimited means that a request cannot limit its output tokens, so the reservation covers the longest response.
	unlimited bool
	// native is the endpoint that the provider must serve (config.Provider.Serves), because requests are not
	// translated. If native is empty, any provider will do.
	native string
}

// Purpose is the purpose of a fetch.
type Purpose uint8

const (
	ForChat Purpose = iota
	ForEmbeddings
	ForCount      // counts the tokens of a request
	ForClassifier // asks the project's classifier to judge a request
	ForModerations
	ForCompaction
	Purposes
)
