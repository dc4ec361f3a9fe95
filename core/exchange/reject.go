package exchange

import (
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/policy"
)

// reject records an error in the request. The caller gets the error only after admission. Without a valid key, it
// therefore learns nothing about its request.
func (x *exchange) reject(f fault.Fault, details ...fault.Detail) {
	x.s.rejected, x.s.bodyDone = f.Deferred(), true
	x.noteDetails(details)
	x.keep(bufferError, x.errorBody(f, refusal{details: details}))
}

func (x *exchange) rejectLargeBody() {
	x.reject(fault.BodyTooLarge, fault.Detail{
		Field: "body", Message: "must be at most " + strconv.FormatUint(x.config.MaxBodyBytes, 10) + " bytes",
	})
}

// noteUnknownModel records the name of a model that is unknown or not offered on this endpoint's API. The error
// message suggests other models. For this, it needs the key's record, which arrives separately.
func (x *exchange) noteUnknownModel(name string) {
	x.s.request.model = name
	x.s.rejected, x.s.bodyDone = fault.UnknownModel.Deferred(), true
}

// rejectModel rejects the requested model. If the registry names a successor, rejectModel names it. Otherwise, it
// suggests allowed models. If the project's policy is not available, it suggests none, because the policy may forbid
// them.
func (x *exchange) rejectModel(f fault.Fault, p *doc.Policy) {
	v := x.view(p)
	name := x.s.request.model
	message, advised := api.Subject(name), false
	switch {
	case f == fault.ModelForbidden:
		message, advised = x.forbidden(message)
	case api.Hides(name):
		message = hiddenModel(name)
	case x.config.Model(name) == nil && x.config.Tier(name) == nil:
		message += "is not in the catalog"
	default:
		message += "is not " + x.endpoint.calls.noun
	}
	if !advised {
		message += x.alternatives(v)
	}
	x.reject(f, fault.Detail{Field: "model", Message: message})
}

const maxNearest = 5

// forbidden completes a message about the requested name with the reason why the key cannot use it.
func (x *exchange) forbidden(subject string) (message string, advised bool) {
	reason, advised := policy.ForbiddenBecause(x.targets(), x.tier())
	return subject + reason, advised
}

// alternatives returns the end of a message about a model that cannot be used: a suggestion of other models.
func (x *exchange) alternatives(v *policy.View) string {
	known := v.Project != nil || x.s.policyVersion == 0
	if name := x.s.request.model; known && !api.Hides(name) {
		if names := v.Nearest(name, x.endpoint.api, maxNearest); len(names) > 0 {
			return "; similar models that this key may use: " + strings.Join(names, ", ")
		}
	}
	return "; see GET /v1/models"
}

// hiddenModel returns the message for a model name that error messages must not repeat, such as an API key sent by
// mistake.
func hiddenModel(name string) string {
	return "must be the name of a model or tier, got " + api.Quote(name)
}

func (x *exchange) rejectionHeaders(f fault.Fault) []abi.Header {
	headers := x.helpLink(jsonHeaders(), f)
	if f.Permanent() {
		headers = append(headers, abi.Header{Name: "x-should-retry", Value: "false"})
	}
	return headers
}

func (x *exchange) respondRejection() {
	if x.s.admission.admitted && x.replayKey() != "" {
		x.enter(phaseKeepError)
		x.supply(idBuffer, bufferError)
		return
	}
	x.sendRejection()
}

func (x *exchange) sendRejection() {
	f := x.s.rejected
	x.refuseWith(f, refusal{}, []abi.Part{{Buffer: bufferError}})
	x.refused(f)
}

// finishRejection stores the recorded error for a replay, and then returns it.
func (x *exchange) finishRejection() {
	f := x.s.rejected
	settle := x.settlement(keymeter.Finish, "", f.Status())
	x.keepReplay(&settle, x.rejectionHeaders(f), x.event.Data)
	x.keepAnswer(&settle, bufferError)
}
