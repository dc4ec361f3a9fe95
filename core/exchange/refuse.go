package exchange

import (
	"strconv"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/keymeter"
)

// ErrorHeaders are those of an answer that no step could make.
var ErrorHeaders = []abi.Header{
	{Name: "content-type", Value: "application/json"}, {Name: "cache-control", Value: "private, no-store"},
}

// refusal is what an error says besides its row of the table.
type refusal struct {
	details []fault.Detail
	allow   string           // 405
	retryMs uint64           // when it may help to try again; 0: not said
	noRetry bool             // it will not help
	message jsontext.Spelled // the provider's word for it, for callers who may read that
}

// refuse ends the exchange with an error, and gives back what it had reserved.
func (x *exchange) refuse(f fault.Fault, r refusal) {
	x.refuseWith(f, r, []abi.Part{{Data: x.errorBody(f, r)}})
}

// refuseBad answers a bad request with the error that was written when it was found.
func (x *exchange) refuseBad() {
	s := &x.s
	admitted := s.admission.admitted && x.repeatable() != ""
	if admitted && x.event.Kind != abi.EventSupplied {
		x.do(abi.Action{Kind: abi.ActionSupply, ID: idSupply, Buffer: bufferError})
		return
	}
	f := fault.InvalidRequest
	for _, other := range []fault.Fault{fault.ModelForbidden, fault.UnknownModel, fault.BodyTooLarge, fault.UnsupportedType} {
		if other.Status == s.bad {
			f = other
		}
	}
	x.refuseWith(f, refusal{}, []abi.Part{{Buffer: bufferError}})
	if admitted {
		settle := x.settlement(keymeter.Finish, "", f.Status)
		x.keepReplay(&settle, f.Status, []abi.Header{{Name: "content-type", Value: "application/json"}}, x.event.Data)
		x.settle(&settle)
	}
}

func (x *exchange) refuseWith(f fault.Fault, r refusal, body []abi.Part) {
	s := &x.s
	if s.stream.opened && !s.stream.over {
		x.breakOff(f, r)
		return
	}
	if s.responded {
		return
	}
	headers := []abi.Header{{Name: "content-type", Value: "application/json"}}
	add := func(name, value string) { headers = append(headers, abi.Header{Name: name, Value: value}) }
	if r.allow != "" {
		add("allow", r.allow)
	}
	if f.Status == 401 {
		add("www-authenticate", `Bearer realm="postern"`)
	}
	if r.retryMs > 0 {
		// Retry-After is in whole seconds; at least one, or clients would hammer.
		add("retry-after", strconv.FormatUint(max(1, seconds(r.retryMs)), 10))
		add("retry-after-ms", strconv.FormatUint(r.retryMs, 10))
	}
	if r.noRetry || f == fault.RateLimited && x.daySpent() {
		add("x-should-retry", "false")
	}
	if s.attempts > 0 {
		add("x-postern-attempts", x.attemptsHeader())
	}
	x.respond(f.Status, headers, body)
	if s.admission.admitted && s.admission.mode == keymeter.ModeReserve {
		model := ""
		if s.attempts > 0 {
			model = x.modelName() // else none is to blame
		}
		settle := x.settlement(keymeter.Released, model, f.Status)
		x.settle(&settle)
	}
	x.log(f.Status, f.Code)
}

// daySpent: the limit that was hit is the day's, so waiting a moment does not help.
func (x *exchange) daySpent() bool {
	for _, w := range x.s.admission.windows {
		if w.WindowMs == calendar.DayMs && w.Remaining == 0 {
			return true
		}
	}
	return false
}
