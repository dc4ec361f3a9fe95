package exchange

import (
	"strings"

	"github.com/postern-ai/postern/core/api/openai"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

type extent uint8

// If a record is too long, these parts are omitted one by one, starting with the last.
const (
	basics       extent = iota
	withAttempts        // and limits
	withCaller
	withDetails
	withText // from the provider
)

// endRecord returns the record of a request that ends with f. The record contains no message text. It contains a
// provider's error text only if the project records such texts. Details may repeat a short value, such as a role.
func (x *exchange) endRecord(f fault.Fault, end ledger.End) ledger.Record {
	r := ledger.Record{
		AtMs: x.s.startMs, ID: x.s.requestID, End: end, Status: x.statusOf(f), Model: x.endModel(), Provider: x.trace(f.Status()).Provider,
	}
	x.s.notes.user = x.recordedUser()
	for to := withText; ; to-- {
		r.Body = x.recordBody(f, to)
		if to == basics || len(r.Body) <= ledger.MaxRecordBytes {
			return r
		}
	}
}

// endModel returns the model under which a request that was not served is counted and settled. If there is a cached
// response, it is that response's model. Otherwise, it is the last model called. If none was called, it is the
// requested model.
func (x *exchange) endModel() string {
	if x.s.hit.found {
		return x.s.hit.model
	}
	if model := x.lastModel(); model != "" {
		return model
	}
	name := x.s.request.model
	if x.config.Model(name) == nil && x.config.Tier(name) == nil {
		return "" // it could be arbitrary text from the caller
	}
	return name
}

// recordedUser returns the ID of the end user. If the project's policy finds anything in the ID, it returns "". If
// the Governor is off, it returns "" if the default policy finds a secret in the ID.
func (x *exchange) recordedUser() string {
	user := x.s.notes.user
	if user == "" {
		return ""
	}
	check := inspect.Check{Policy: governor.NewPolicy()}
	if x.s.govern.on {
		check.Policy = x.guard().check.Policy
	}
	for _, r := range check.Text(user, governor.Input).Reports {
		if _, category, _ := check.Policy.Rule(r.Rule); x.s.govern.on || category == governor.Secret {
			return ""
		}
	}
	return user
}

// recordBody returns a JSON object with the parts of the record that the admin API shows.
func (x *exchange) recordBody(f fault.Fault, to extent) []byte {
	s := &x.s
	b := jsontext.Builder{B: append(make([]byte, 0, 512), '{')}
	b.StringMember("code", f.Code())
	b.StringMember("message", f.Text())
	b.StringMember("method", x.endpoint.method)
	b.StringMember("endpoint", x.endpoint.label())
	b.UintMember("durationMs", x.since(s.startMs))
	if to >= withDetails {
		b.Member("details", s.notes.details)
	}
	if to >= withText {
		b.StringMember("providerText", s.notes.providerText) // not a field of providerError: older control planes show that field to everyone
	}
	if to >= withCaller {
		b.StringMember("userAgent", s.agent)
		b.StringMember("user", s.notes.user)
	}
	if name := s.request.model; name != "" && (x.config.Model(name) != nil || x.config.Tier(name) != nil) {
		b.StringMember("requestedModel", name)
	}
	if s.request.stream {
		b.Member("stream", "true")
	}
	b.StringMember("cache", x.cacheWord())
	b.StringMember("finishReason", finishWord(s.notes.finish))
	if to >= withAttempts {
		x.recordAttempts(&b)
	}
	x.recordUsage(&b)
	if to >= withAttempts {
		x.recordLimits(&b)
	}
	return append(b.B, '}')
}

// endsLater reports whether result i is the 200 of a stream and the next result is the stream's outcome.
func (x *exchange) endsLater(results []string, i int) bool {
	times := x.s.notes.times
	if i+1 >= min(len(results), len(times)) || times[i].startMs != times[i+1].startMs {
		return false
	}
	target, result, _ := strings.Cut(results[i], "=")
	return result == "200" && strings.HasPrefix(results[i+1], target+"=")
}

// cacheWord returns the result of the cache lookup. If there was none, it returns "".
func (x *exchange) cacheWord() string {
	if x.s.admission.admitted && x.endpoint.body != noBody && x.s.rejected == fault.None {
		return x.cacheState(x.s.hit.found)
	}
	return ""
}

// finishWord returns why the provider's response ended, in a word of the native API. If that API has no word for the
// reason, it returns the provider's. If the provider gave no reason, it returns "".
func finishWord(finish chat.Finish) string {
	switch finish {
	case chat.FinishNone:
		return ""
	case chat.FinishPause:
		return "pause"
	case chat.FinishError:
		return "error"
	}
	return openai.Reason(finish)
}

// maxRecordAttempts limits the number of attempts in a record.
const maxRecordAttempts = 8

// recordAttempts writes each attempt's target, outcome, start time and duration, and the last provider error.
func (x *exchange) recordAttempts(b *jsontext.Builder) {
	s := &x.s
	if s.attemptResults == "" {
		return
	}
	b.Key("attempts")
	b.Open('[')
	results := strings.Split(s.attemptResults, ", ")
	for i, entry := range results {
		if i == maxRecordAttempts {
			break
		}
		if x.endsLater(results, i) {
			continue
		}
		target, result, _ := strings.Cut(entry, "=")
		provider, model, _ := strings.Cut(target, "/")
		b.Open('{')
		b.StringMember("provider", provider)
		b.StringMember("model", model)
		b.StringMember("result", result)
		if i < len(s.notes.times) {
			b.UintMember("startMs", s.notes.times[i].startMs)
			b.UintMember("durationMs", s.notes.times[i].durationMs)
		}
		b.Close('}')
	}
	b.Close(']')
	if s.notes.providerStatus == 0 {
		return
	}
	b.Key("providerError")
	b.Open('{')
	b.UintMember("status", s.notes.providerStatus)
	b.StringMember("type", s.notes.providerType)
	b.StringMember("code", s.notes.providerCode)
	b.Close('}')
}

func (x *exchange) recordUsage(b *jsontext.Builder) {
	s := &x.s
	if first := x.firstTokenMs(); first > 0 {
		b.UintMember("timeToFirstTokenMs", first)
	}
	if total := s.spent.Usage.Input + s.spent.Usage.Output; total > 0 || s.spent.CostPico > 0 {
		b.UintMember("promptTokens", s.spent.Usage.Input)
		b.UintMember("completionTokens", s.spent.Usage.Output)
		b.Member("cost", string(money.Append(nil, s.spent.CostPico, money.Dollar)))
		if s.spent.Estimated {
			b.Member("estimated", "true")
		}
	}
	if g := &s.govern; g.on && g.inspected {
		b.Key("governor")
		b.Open('{')
		b.StringMember("decision", g.input.decision.String())
		b.UintMember("risk", g.input.risk)
		b.UintMember("policy", s.record.Policy)
		if s.admission.admitted {
			recordRules(b, g.rules)
		}
		b.Close('}')
	}
}

// recordRules writes the rules of the request's violations. The project's Ledger lists violations by rule, key and
// time. It has none for requests that were not admitted.
func recordRules(b *jsontext.Builder, rules string) {
	if rules == "" {
		return
	}
	b.Key("rules")
	b.Open('[')
	for rule := range strings.SplitSeq(rules, ",") {
		b.String(rule)
	}
	b.Close(']')
}

// recordLimits writes the state of each limit at admission.
func (x *exchange) recordLimits(b *jsontext.Builder) {
	windows := x.s.admission.windows
	if len(windows) == 0 {
		return
	}
	b.Key("limits")
	b.Open('[')
	for i := range windows {
		w := &windows[i]
		b.Open('{')
		if w.Tokens {
			b.Member("tokens", "true")
		}
		b.UintMember("windowMs", w.WindowMs)
		b.UintMember("limit", w.Limit)
		b.UintMember("remaining", w.Remaining)
		b.UintMember("resetMs", w.ResetMs)
		b.Close('}')
	}
	b.Close(']')
}
