package exchange

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/policy"
)

// policyKeepMs is how long an isolate keeps a policy. A policy version never changes.
const policyKeepMs = 300_000

// needsPolicy reports whether this exchange still has to read the project's policy: to choose targets, to list
// models, or to suggest alternatives to an unknown model.
func (x *exchange) needsPolicy() bool {
	s := &x.s
	if s.record.Policy == 0 || s.policyVersion == s.record.Policy {
		return false
	}
	return s.endpoint.listsModels() || s.endpoint.hasBody() && (s.rejected == "" || x.rejection() == fault.UnknownModel)
}

func (x *exchange) readPolicy() {
	x.enter(phasePolicy)
	x.await(abi.Action{
		Kind: abi.ActionRead, ID: idPolicy, Key: doc.PolicyKey(x.s.record.ProjectID, x.s.record.Policy),
		Where: abi.WhereMemory | abi.WhereKV, KeepMs: policyKeepMs,
	})
}

// onPolicy takes the policy from memory or KV. If it is not there yet, the project's Ledger is called.
func (x *exchange) onPolicy() {
	if x.event.Code == abi.OutcomeOK {
		if p, err := doc.DecodePolicy(x.event.Data); err == nil {
			x.usePolicy(&p)
			return
		}
	}
	x.call(idLedgerPolicy, abi.ClassLedger, x.s.record.ProjectID, ledger.Policy())
}

// onLedgerPolicy takes the policy from the Ledger, its authority. If it is older than the key's record requires,
// the newer one has not been delivered yet, and the request fails with 503.
func (x *exchange) onLedgerPolicy() {
	p, err := doc.DecodePolicy(x.event.Data)
	if err == nil && p.Version < x.s.record.Policy {
		err = abi.ErrMalformed
	}
	if x.refuseFailedCall(err) {
		return
	}
	if p.Version == x.s.record.Policy {
		x.do(abi.Action{
			Kind: abi.ActionWrite, Key: doc.PolicyKey(x.s.record.ProjectID, p.Version), Where: abi.WhereMemory, KeepMs: policyKeepMs,
			Body: []abi.Part{{Data: x.event.Data}},
		})
	}
	x.usePolicy(&p)
}

// usePolicy stores the parts of the policy that concern this exchange, and continues.
func (x *exchange) usePolicy(p *doc.Policy) {
	s := &x.s
	s.policyVersion, s.order, x.targetsMemo = s.record.Policy, nil, nil
	x.enter(phaseIntake)
	switch {
	case !s.endpoint.hasBody():
		x.do(abi.Action{Kind: abi.ActionKeep, Buffer: bufferPolicy, Data: x.event.Data})
	case s.rejected != "":
		x.rejectModel(x.rejection(), p)
	default:
		if !x.startGovernor(p) {
			return
		}
		s.selection = policy.Select(x.config, p, s.record.KeyID, s.request.model)
		x.keepSealed(p)
		if s.endpoint != endpointValidate && !x.allowsAny() {
			x.rejectModel(fault.ModelForbidden, p)
		}
	}
	x.proceed()
}

// keepSealed stores the project's sealed provider keys in buffers, one per target.
func (x *exchange) keepSealed(p *doc.Policy) {
	for i := range x.s.selection.MasterKeyIDs {
		if x.s.selection.MasterKeyIDs[i] == "" {
			continue
		}
		if k := policy.Key(p, x.targets()[i].Model); k != nil {
			x.do(abi.Action{Kind: abi.ActionKeep, Buffer: bufferSealed + uint64(i), Data: k.Sealed})
		}
	}
}

const maxNearest = 5

// rejectModel rejects the requested model and suggests allowed ones, unless the registry names a successor. Without the
// policy of a project that has one, it suggests none: the policy may forbid them.
func (x *exchange) rejectModel(f fault.Fault, p *doc.Policy) {
	v := x.view(p)
	kind := config.ChatModel
	if x.s.endpoint == endpointEmbeddings {
		kind = config.EmbeddingModel
	}
	name := x.s.request.model
	message, advised := api.Subject(name), false
	switch {
	case f == fault.ModelForbidden:
		message, advised = x.forbidden(message)
	case api.Hides(name):
		message = hiddenModel(name)
	case x.config.Model(name) == nil:
		message += "is not in the catalog"
	case kind == config.ChatModel:
		message += "is not a chat model"
	default:
		message += "is not an embedding model"
	}
	if !advised {
		message += x.alternatives(v, kind)
	}
	x.reject(f, fault.Detail{Field: "model", Message: message})
}

// view is the part of the catalog that the key may use under a policy of its project.
func (x *exchange) view(p *doc.Policy) *policy.View {
	return &policy.View{Config: x.config, Key: x.s.record.Models, KeyID: x.s.record.KeyID, Project: p, Development: x.testMode()}
}

// forbidden completes a message about the requested name with the reason why the key must not use it.
func (x *exchange) forbidden(subject string) (message string, advised bool) {
	reason, advised := forbiddenBecause(x.targets(), x.tier())
	return subject + reason, advised
}

// alternatives is the end of a message about a model that cannot be used.
func (x *exchange) alternatives(v *policy.View, kind config.Kind) string {
	known := v.Project != nil || x.s.policyVersion == 0
	if name := x.s.request.model; known && !api.Hides(name) {
		if names := v.Nearest(name, kind, maxNearest); len(names) > 0 {
			return "; similar models that this key may use: " + strings.Join(names, ", ")
		}
	}
	return "; see GET /v1/models"
}

// hiddenModel is the message for a model name that error messages do not repeat, such as an API key sent by mistake.
func hiddenModel(name string) string {
	return "must be the name of a model or tier, got " + api.Quote(name)
}
