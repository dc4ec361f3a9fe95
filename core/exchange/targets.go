package exchange

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/exchange/bill"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/policy"
)

// orderTargets returns the indexes of the targets in the order of the attempts. The order depends on the route's
// strategy.
func (x *exchange) orderTargets() []byte {
	s := &x.s
	q := &s.request
	u := chat.Usage{Input: q.PromptTokens, Output: q.MaxTokens, Extras: &chat.Extras{Terms: q.Bought.Terms}}
	if q.MaxTokens == 0 {
		u.Output = bill.InitialStreamTokens
	}
	targets := x.targets()
	plain := make([]config.Target, len(targets))
	for i := range targets {
		plain[i] = targets[i].Target
	}
	return x.circuits.Order(s.selection.StrategyOf(x.config, q.model), plain, x.now, x.random,
		func(m *config.Model) int64 { return m.Cost(&u) },
		func(i int) bool { return targets[i].Usable() })
}

// chooseTarget advances to a target that is usable, supports the request and has a closed circuit. If all remaining
// suitable targets have open circuits, it takes the first of them. Targets that get all provider tools and content
// come before targets that do not. If no target is suitable, it returns false.
func (x *exchange) chooseTarget() bool {
	if x.chooseFitting() {
		return true
	}
	if x.s.lossy || x.s.request.params&sparable == 0 {
		return false
	}
	x.s.lossy, x.s.orderIndex = true, 0
	return x.chooseFitting()
}

// sparable lists the tools and content parts that are left out only if no target supports all of them.
const sparable = chat.Content | chat.ParamOwnTools

func (x *exchange) chooseFitting() bool {
	s := &x.s
	firstOpen := len(s.order)
	for at := int(s.orderIndex); at < len(s.order); at++ {
		s.orderIndex = uint64(at)
		if !x.current().Usable() || !x.fits() || len(x.quote().Unpriced(x.model())) > 0 {
			continue
		}
		if !x.circuitOpen() {
			s.skipped = s.skipped || firstOpen < at
			return true
		}
		firstOpen = min(firstOpen, at)
	}
	s.orderIndex = uint64(firstOpen)
	return firstOpen < len(s.order)
}

func (x *exchange) circuitOpen() bool {
	return x.circuits.Open(x.model().Name, x.usesOwnProviderKey(), x.now)
}

func (x *exchange) supportedParams() chat.Params {
	model := x.model()
	f, ok := x.endpoint.calls.family(model.Provider.Wire)
	if !ok {
		return chat.All
	}
	carries := f.Carries &^ model.Provider.Drops &^ model.Drops
	const own = chat.ParamForeign | chat.ParamOwnTools
	if missing := x.s.request.params &^ carries; x.isNative(model) && missing&own != 0 && api.Filters(f.Dialect, missing&^own) {
		carries |= own // the body is sent in its original dialect
	}
	return carries
}

// keepsBody reports whether the current target gets the fields of the caller's body, except unsupported parameters.
// Provider tools, and some parts of a Responses request, exist only in their original form.
func (x *exchange) keepsBody() bool {
	missing := x.unsupportedParams()
	return x.isNative(x.model()) && api.Filters(x.wire().Dialect, missing) &&
		(x.s.dialect == chat.Responses || x.s.request.params&(chat.ParamForeign|chat.ParamOwnTools) != 0)
}

func (x *exchange) unsupportedParams() chat.Params { return x.s.request.params &^ x.supportedParams() }

// fits reports whether the current target may get the request. The target's model must be offered on the endpoint's
// API, and the target must support the necessary parameters. In strict mode, the target must support all parameters
// that the caller set. Otherwise, unsupported parameters are dropped unless they are necessary.
func (x *exchange) fits() bool {
	if x.model().APIs&x.endpoint.api == 0 || !x.hasNative() {
		return false
	}
	missing := x.unsupportedParams()
	if x.s.request.params&sparable != 0 && (missing&sparable != 0) != x.s.lossy {
		return false // targets that get them come first
	}
	return missing&x.necessary(missing) == 0 && !(x.s.strict && missing&^x.s.request.defaulted != 0)
}

// necessary returns the parameters that cannot be dropped. Tools are always necessary. Content is necessary if the
// user's last turn would otherwise be empty, or if the endpoint does not translate requests.
func (x *exchange) necessary(missing chat.Params) chat.Params {
	if missing.Loses(x.s.request.question) || x.endpoint.calls.native != "" {
		return chat.ParamTools | chat.Content
	}
	return chat.ParamTools
}

// hasNative reports whether the current target's provider serves the endpoint. If the provider need not serve it,
// hasNative returns true.
func (x *exchange) hasNative() bool {
	p, native := x.model().Provider, x.endpoint.calls.native
	if native == "" || p.Wire == mockProvider {
		return true
	}
	_, ok := x.endpoint.calls.family(p.Wire)
	return ok && p.Serves(native)
}

// unseal starts decrypting the project's provider key for the current target. If there is no such key, or if it has
// been decrypted, unseal returns false.
func (x *exchange) unseal() bool {
	id := x.current().MasterKeyID
	if id == "" || x.s.providerKey != "" {
		return false
	}
	x.await(abi.Action{
		Kind: abi.ActionUnseal, ID: idUnseal, Buffer: bufferSealed + uint64(x.currentIndex()), Key: x.config.MasterKey(id),
		Name: doc.SealedFor(x.s.record.ProjectID, x.model().Provider.Account),
	})
	return true
}

// keepProviderKey stores the decrypted key for the next fetch. If decryption failed, it returns false.
func (x *exchange) keepProviderKey() bool {
	if x.event.Code != abi.OutcomeOK || len(x.event.Data) == 0 {
		return false
	}
	x.s.providerKey = string(x.event.Data)
	return true
}

// withOwnProviderKey returns the model with the project's decrypted provider key, if there is one.
func (x *exchange) withOwnProviderKey(m *config.Model) *config.Model {
	if x.s.providerKey == "" {
		return m
	}
	owned, provider := *m, *m.Provider
	provider.Key, provider.Ready = x.s.providerKey, true
	owned.Provider = &provider
	return &owned
}

// orUnpriced returns the given details. If there are none, it returns details about missing prices.
func (x *exchange) orUnpriced(details []fault.Detail) []fault.Detail {
	if len(details) == 0 {
		return x.quote().Unpriced(x.model())
	}
	return details
}

func (x *exchange) refuseUnsupported() {
	missing := x.unsupportedParams()
	if !x.s.strict {
		missing &= x.necessary(missing)
	}
	var details []fault.Detail
	if x.model().APIs&x.endpoint.api == 0 {
		missing = 0
		details = append(details, fault.Detail{Field: "model", Message: "has the target " + x.model().Name + ", which is not " + x.endpoint.calls.noun})
	} else if !x.hasNative() {
		details = append(details, fault.Detail{Field: "model", Message: x.model().Name + " has no " + x.endpoint.path +
			" at its provider; use a model of a provider that has it, or do without this endpoint"})
	}
	noteLost := func(p chat.Params, part *fault.Detail) {
		if missing&p != 0 && part.Field != "" {
			details = append(details, fault.Detail{
				Field: part.Field, Message: part.Message + ", which " + x.model().Name + " does not support; omit it or use another model",
			})
		}
	}
	noteLost(chat.ParamForeign, &x.s.request.foreign)
	noteLost(chat.ParamOwnTools, &x.s.request.own)
	details = append(details, x.unsupportedDetails(missing)...)
	x.refuse(fault.InvalidRequest, refusal{noRetry: true, details: x.orUnpriced(details)})
}

// droppedParams returns the names of the parameters that the current target does not support. Provider tools and
// foreign parts are named individually, so they are not included.
func (x *exchange) droppedParams(missing chat.Params) string {
	return string((missing &^ x.s.request.defaulted &^ chat.ParamOwnTools &^ chat.ParamForeign).AppendNames(nil))
}

// unsupportedDetails returns details about the parameters in p, which the current target does not support. Parameters
// that the caller did not set are left out.
func (x *exchange) unsupportedDetails(p chat.Params) (details []fault.Detail) {
	for name := range strings.SplitSeq(x.droppedParams(p), ",") {
		if name != "" {
			details = append(details, x.unsupported(name))
		}
	}
	return details
}

func (x *exchange) unsupported(field string) fault.Detail {
	return fault.Detail{Field: field, Message: "is not supported by " + x.model().Name + "; omit it or use another model"}
}

func unready(t *policy.Target) string {
	p := t.Model.Provider
	message := t.Model.Name + " cannot be used: "
	switch {
	case t.MasterKeyID != "":
		return message + "the project's key for provider " + p.Name + " cannot be decrypted; store the key again"
	case len(p.Missing) > 0 && p.Ownable:
		return message + "provider " + p.Name + " has no credentials; set " + strings.Join(p.Missing, " and ") +
			" or store a provider key in the project"
	case len(p.Missing) > 0:
		return message + "provider " + p.Name + " is not configured; set " + strings.Join(p.Missing, " and ")
	}
	return message + "provider " + p.Name + " is not configured; the operator must complete its entry in the catalog"
}

// refuseUnready refuses the request and explains why no target is suitable. Either no target has credentials, or none
// supports the request. It sends no Retry-After: only the operator can add credentials, and a client's retries end
// before that.
func (x *exchange) refuseUnready() {
	for i := range x.s.order {
		x.s.orderIndex = uint64(i)
		if x.current().Usable() {
			x.refuseUnsupported()
			return
		}
	}
	var details []fault.Detail
	for i := range x.s.order {
		x.s.orderIndex = uint64(i)
		if x.current().Allowed {
			details = append(details, fault.Detail{Field: "model", Message: unready(x.current())})
		}
	}
	x.refuse(fault.NoProvider, refusal{noRetry: true, details: details})
}

// directRequest returns the values that the gateway sets when it forwards the fields of a caller's body.
func (x *exchange) directRequest(dialect chat.Dialect) chat.Request {
	q := &x.s.request
	return chat.Request{
		Dialect: dialect, MaxTokens: x.effectiveMaxTokens(), N: q.N, Stream: x.streams(), MaxToolCalls: q.Bought.MaxToolCalls, ServiceTier: q.ServiceTier(x.model()),
	}
}

func (x *exchange) serviceTier(m *config.Model) string { return x.s.request.ServiceTier(m) }

// effectiveMaxTokens returns the max tokens sent to the target. The caller set them, or the gateway imposed them.
func (x *exchange) effectiveMaxTokens() uint64 {
	return max(x.s.request.MaxTokens, x.s.imposedMaxTokens)
}
