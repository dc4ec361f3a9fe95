package explore_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/test/interpreter"
)

// maxState is the maximum size of an exchange's state in bytes.
const maxState = 8 << 10

// Marked texts. The checks restrict where they may appear.
const (
	promptMark          = "marked-prompt"
	completionMark      = "marked-answer"
	openaiKey           = "marked-openai-key-of-the-deployment"
	anthropicKey        = "marked-anthropic-key-of-the-deployment"
	geminiKey           = "marked-gemini-key-of-the-deployment"
	projectOpenAIKey    = "marked-key-of-the-project"
	projectAnthropicKey = "marked-anthropic-key-of-the-project"
	masterKey           = "bWFya2VkLW1hc3Rlci1rZXktMzItYnl0ZXMtbG9uZyE="
)

// secrets must not leave the gateway. Each provider key has a prefix, and the key may be sent only to URLs with that
// prefix.
var secrets = []struct{ text, url string }{
	{callerKey, ""}, {developmentKey, ""}, {projectKey, ""}, {masterKey, ""},
	{openaiKey, "https://openai.test/"}, {anthropicKey, "https://anthropic.test/"}, {projectOpenAIKey, "https://openai.test/"}, {geminiKey, "https://gemini.test/"}, {projectAnthropicKey, "https://anthropic.test/"},
}

// texts are parts of conversations. They must not appear in logs, headers and names.
var texts = []string{promptMark, completionMark}

func (w *world) checkState() {
	if len(w.State) > maxState+w.scenario.maxKept {
		w.violate("the state has %d bytes", len(w.State))
	}
}

// checkAction checks the data that an action sends or stores.
func (w *world) checkAction(a *abi.Action) {
	w.checkGoverned(a)
	switch a.Kind {
	case abi.ActionLog:
		w.checkLeaks("the log", a.Data, true)
	case abi.ActionRespond, abi.ActionOpen:
		w.checkHeaders(a)
		w.checkStatus(a.Code)
		w.checkLeaks("the response", append(w.join(a.Body), a.Data...), false)
	case abi.ActionForward:
		w.checkHeaders(a)
	case abi.ActionSend:
		w.checkLeaks("the response", w.join(a.Body), false)
	case abi.ActionRead, abi.ActionJoin:
		w.checkLeaks("a stored key", []byte(a.Key+a.Name), true)
	case abi.ActionWrite:
		w.checkLeaks("a stored key", []byte(a.Key), true)
		value, _ := doc.SplitKnown(w.join(a.Body))
		w.checkLeaks("a stored value", value, false)
		w.checkStored(a)
	case abi.ActionCall:
		w.checkLeaks("an object's name", []byte(a.Name), true)
		w.checkLeaks("a command", a.Data, false)
	case abi.ActionFetch:
		w.checkFetch(a)
	case abi.ActionUnseal:
		w.Content((*host)(w), a.Buffer)
	}
}

// checkStatus checks that every error status has a reason.
func (w *world) checkStatus(status uint64) {
	reason, known := map[uint64]reasons{
		401: sawUnknownKey, 402: sawNoBudget, 429: sawLimit, 502: sawBadProvider, 503: sawOutage | sawSealedKey | sawRounds, 504: sawSlow,
	}[status]
	switch {
	case slices.Contains(w.scenario.refused, status):
	case status == 499 && !w.facts.disconnected:
		w.violate("499, but the client is connected")
	case status == 402 && w.facts.seen&sawHit != 0:
		w.violate("402, but the response is cached")
	case status == 500:
		w.violate("500")
	case known && w.facts.seen&reason == 0:
		w.violate("%d without a reason", status)
	case !known && status > 500:
		w.violate("%d, for which checkStatus has no reason", status)
	}
}

func (w *world) checkHeaders(a *abi.Action) {
	for _, h := range a.Headers {
		w.checkLeaks("the header "+h.Name, []byte(h.Value), true)
	}
}

// checkLeaks finds secrets. If private is set, it also finds parts of conversations.
func (w *world) checkLeaks(where string, data []byte, private bool) {
	for _, s := range secrets {
		if bytes.Contains(data, []byte(s.text)) {
			w.violate("%s contains the secret %s", where, s.text)
		}
	}
	for _, text := range texts {
		if private && bytes.Contains(data, []byte(text)) {
			w.violate("%s contains %s", where, text)
		}
	}
}

// checkStored checks that only complete and clean responses are cached.
func (w *world) checkStored(a *abi.Action) {
	if kind, _, _ := strings.Cut(a.Key, "/"); kind != "cache" {
		// The check ignores how often a fact is repeated, and a policy beside a record, which is a copy.
		_, copied := doc.SplitKnown(w.join(a.Body))
		if what := fmt.Sprintf("remember %s (%d bytes)", kind, len(w.join(a.Body))); copied == nil && !strings.Contains(w.facts.outcomes, what) {
			w.facts.record(what)
		}
		return
	}
	w.stored = w.join(a.Body)
	w.facts.record("store")
	if !w.facts.clean {
		w.violate("a cached response is not complete and clean")
	}
}

// checkFetch checks that a fetch follows an admission, goes to an allowed target, and has that target's credentials.
func (w *world) checkFetch(a *abi.Action) {
	body := w.join(a.Body)
	for _, s := range secrets {
		if (s.url == "" || !strings.HasPrefix(a.URL, s.url)) && contains(a, body, s.text) {
			w.violate("%s is sent the secret %s", a.URL, s.text)
		}
	}
	model := w.target(a)
	if a.ID == classifyID {
		w.checkClassifier(model)
		return
	}
	switch {
	case w.facts.admitted == 0:
		w.violate("%s is called before an admission", model)
	case w.facts.disconnected:
		w.violate("%s is called after the client disconnected", model)
	case !slices.Contains(w.scenario.allowed, model):
		w.violate("%s is called, which the route or a policy does not allow", model)
	case !strings.HasSuffix(a.URL, w.scenario.calledAt[model]):
		w.violate("%s is called at %s", model, a.URL)
	}
	for i := range w.open {
		if w.open[i].action.Kind == abi.ActionFetch && w.open[i].action.ID != classifyID {
			w.violate("%s is called while %s is outstanding", model, w.open[i].meaning)
		}
	}
	if w.scenario.clock {
		w.checkTime(a)
	}
	if w.responded() {
		w.violate("%s is called after the response", model)
	}
}

// checkTime checks that an attempt's timeouts are not longer than the request's remaining time. Only the total
// timeout of a stream may be longer.
func (w *world) checkTime(a *abi.Action) {
	left := startMs + w.config.Routing.RequestMs - min(w.nowMs, startMs+w.config.Routing.RequestMs)
	limits := []uint64{a.HeadMs, a.FirstByteMs, a.TotalMs}
	if a.Stream != 0 {
		limits = limits[:2]
	}
	for _, ms := range limits {
		if ms == 0 || ms > left {
			w.violate("an attempt may take %d ms, but only %d ms remain", ms, left)
		}
	}
}

func contains(a *abi.Action, body []byte, text string) bool {
	if strings.Contains(a.URL, text) || bytes.Contains(body, []byte(text)) {
		return true
	}
	return slices.ContainsFunc(a.Headers, func(h abi.Header) bool { return strings.Contains(h.Value, text) })
}

// target returns the model that a fetch calls. It finds the model by its upstream name.
func (w *world) target(a *abi.Action) string {
	body := w.join(a.Body)
	for i := range w.config.Models {
		m := &w.config.Models[i]
		if contains(a, body, `"`+m.Upstream+`"`) || strings.Contains(a.URL, "/"+m.Upstream) {
			return m.Name
		}
	}
	return "unknown"
}

func (w *world) noteFetch(a *abi.Action) {
	f := &w.facts
	if a.ID == classifyID {
		f.classified++
	} else {
		f.fetches++
		f.clean = false
	}
	if model := w.target(a); !strings.Contains(f.called, model+" ") {
		f.called += model + " "
	}
	f.dispatched = f.dispatched || f.admitted == keymeter.ModeReserve
}

// noteReply records the facts in a reply: an admission, or a reason for an error status.
func (w *world) noteReply(p *pending, e *abi.Event) {
	seen := &w.facts.seen
	switch p.action.Kind {
	case abi.ActionFetch, abi.ActionForward:
		switch {
		case p.action.ID == classifyID:
			w.noteClassifier(e)
		case e.Kind == abi.EventFault:
			w.noteFault(e.Code)
		case e.Kind == abi.EventResponse && !w.facts.clean:
			*seen |= sawBadProvider
		}
	case abi.ActionUnseal:
		if e.Code != abi.OutcomeOK || len(e.Data) == 0 {
			*seen |= sawSealedKey
		}
	case abi.ActionRead:
		if string(e.Data) == "\x00" {
			*seen |= sawUnknownKey
		}
		if e.Code == abi.OutcomeFailed {
			*seen |= sawOutage
		}
		if p.meaning == "cache" && e.Code == abi.OutcomeOK && string(e.Data) == string(w.scenario.entry) {
			*seen |= sawHit
		}
	case abi.ActionCall:
		w.noteObjectReply(p, e)
	}
}

func (w *world) noteFault(code uint64) {
	w.facts.seen |= sawBadProvider
	if code >= abi.FaultHead && code <= abi.FaultTotal {
		w.facts.seen |= sawSlow
	}
}

func (w *world) noteObjectReply(p *pending, e *abi.Event) {
	seen := &w.facts.seen
	switch p.meaning {
	case "report-lease":
		w.noteReport(&p.action, e)
		return
	case "settle":
		w.noteKept(e.Code == abi.OutcomeOK)
		return
	}
	if e.Code != abi.OutcomeOK {
		*seen |= sawOutage
		admit, ok := keymeter.Open(p.action.Data).(*keymeter.Admit)
		if ok && p.action.Class == abi.ClassKeyMeter && admit.Mode == keymeter.ModeReserve && e.Code == abi.OutcomeFailed {
			w.facts.unsure = true
		}
		return
	}
	switch p.action.Class {
	case abi.ClassKeyMeter:
		if p.meaning == "flush" {
			if _, err := keymeter.DecodeFlushReply(e.Data); err != nil {
				*seen |= sawOutage
			}
			return
		}
		reply, err := keymeter.DecodeAdmitReply(e.Data)
		if err != nil {
			*seen |= sawOutage
			return
		}
		w.noteVerdict(p, &reply)
	case abi.ClassLedger:
		w.noteLedger(p.meaning, e.Data)
	}
}

func (w *world) noteLedger(meaning string, data []byte) {
	var err error
	switch meaning {
	case "grant":
		var reply ledger.GrantReply
		if reply, err = ledger.DecodeGrantReply(data); err == nil && !reply.Granted && reply.Next == "" {
			w.facts.seen |= sawNoBudget
		}
	case "ask-policy":
		var policy doc.Policy
		policy, err = doc.DecodePolicy(data)
		if policy.Version < currentPolicy || policy.Version == currentPolicy && w.facts.seen&sawRound != 0 {
			err = abi.ErrMalformed // older than the policy of the current record, so it counts as a malformed reply
		}
	case "report first", "report waited", "report final":
		var reply ledger.ReportReply
		if reply, err = ledger.DecodeReportReply(data); reply.WaitMs > 0 || len(reply.Flush) > 0 {
			w.noteRound()
		}
	}
	if err != nil {
		w.facts.seen |= sawOutage
	}
}

func (w *world) noteVerdict(p *pending, reply *keymeter.AdmitReply) {
	f := &w.facts
	switch reply.Verdict {
	case keymeter.Admitted:
		f.reserved = reply.ReservedPico
		if command, ok := keymeter.Open(p.action.Data).(*keymeter.Admit); ok {
			f.admitted, f.idem = command.Mode, command.Idempotency != ""
			w.noteViolations(command.Violations)
			if command.Version == 0 {
				f.seen |= sawOutage // the request did not have the record, so the meter must return the record
			}
		}
	case keymeter.Unknown, keymeter.Inactive:
		f.seen |= sawUnknownKey
	case keymeter.OverOwn:
		f.seen |= sawNoBudget
	case keymeter.RateLimited, keymeter.ConcurrencyLimited:
		f.seen |= sawLimit
	case keymeter.Stale, keymeter.Short:
		w.noteRound()
	}
}

func (w *world) noteRound() {
	if w.facts.seen&sawRound != 0 {
		w.facts.seen |= sawRounds
	}
	w.facts.seen |= sawRound
}

func (w *world) noteSettle(settle *keymeter.Settle) {
	f := &w.facts
	f.freed = f.freed || settle.Idempotency != "" && len(settle.Answer) == 0 && !settle.Oversized
	if settle.Outcome == keymeter.Finish && f.admitted == keymeter.ModeReserve {
		f.record(settleText(settle)) // stores a response while its settlement waits for the classifier
		return
	}
	if f.settled++; f.settled > 1 {
		w.violate("a reservation is settled %d times", f.settled)
	}
	if f.admitted == 0 && !(f.unsure && settle.Outcome == keymeter.Released && settle.CostPico == 0 && len(settle.Attempts) == 0) {
		w.violate("a request is settled that was never admitted")
	}
	w.noteViolations(settle.Violations)
	w.checkCovered(settle)
	if settle.Outcome != keymeter.Released || settle.CostPico != 0 {
		w.checkCharged(settle.Model) // a failure may belong to another request, or to none
	}
	for i := range settle.Attempts {
		w.checkCharged(settle.Attempts[i].Model)
	}
	f.record(settleText(settle))
}

// checkCharged checks that a settle names only models that were called.
func (w *world) checkCharged(model string) {
	if model != "" && !strings.Contains(w.facts.called, model+" ") && !slices.Contains(w.scenario.mayName, model) {
		w.violate("%s is settled, which was not called (called: %s)", model, w.facts.called)
	}
}

func settleText(s *keymeter.Settle) string {
	text := fmt.Sprintf("settle %s %s", [...]string{"?", "served", "hit", "released", "finish"}[s.Outcome], s.Model)
	if s.CostPico != 0 || s.Tokens != (keymeter.Tokens{}) {
		text += fmt.Sprintf(" %d pico %d+%d tokens", s.CostPico, s.Tokens.Prompt, s.Tokens.Completion)
	}
	for _, c := range s.Attempts {
		text += fmt.Sprintf(", %s %d pico %d+%d tokens", c.Model, c.CostPico, c.Tokens.Prompt, c.Tokens.Completion)
		if c.Estimated {
			text += " estimated"
		}
	}
	for _, flag := range []struct {
		set  bool
		name string
	}{{s.Estimated, "estimated"}, {s.Missed, "missed"}, {s.Oversized, "oversized"}, {len(s.Answer) > 0, "kept"}} {
		if flag.set {
			text += " " + flag.name
		}
	}
	for i := range s.Violations {
		text += ", violation: " + violationText(&s.Violations[i])
	}
	return fmt.Sprintf("%s (%d %s)", text, s.Trace.Status, strings.TrimSpace(s.Trace.Provider+" "+[...]string{"", "miss", "hit"}[s.Trace.Cache]))
}

// checkOver checks that no timer and no provider call continues after the complete response. Reads that are pending
// may continue, because they end on their own.
func (w *world) checkOver() {
	if !w.responded() || len(w.ready) > 0 {
		return
	}
	for i := range w.open {
		p := &w.open[i]
		if p.outlivesResponse() {
			continue
		}
		switch p.action.Kind {
		case abi.ActionWait:
			w.violate("a timer continues after the response")
		case abi.ActionFetch:
			if !w.facts.clean {
				w.violate("%s continues after the response", p.meaning)
			}
		case abi.ActionUnseal, abi.ActionSupply, abi.ActionForward:
			w.violate("%s is outstanding after the response", p.meaning)
		}
	}
}

// checkStoredFirst checks a response under an idempotency key. It must be stored before it is sent, and the key must
// not be freed. If the response is a failure, it is not stored.
func (w *world) checkStoredFirst(success bool) {
	f := &w.facts
	switch {
	case !f.idem || !success:
	case !f.kept:
		w.violate("a response is sent before it is stored")
	case f.unkept:
		w.violate("a response is sent, and nobody stores it")
	case f.freed:
		w.violate("a request with a response frees its idempotency key")
	}
}

// succeeded reports whether a stream ends successfully with these bytes.
func succeeded(sent []byte) bool {
	for _, mark := range []string{"data: [DONE]", "event: message_stop", "event: response.completed"} {
		if bytes.Contains(sent, []byte(mark)) {
			return true
		}
	}
	return false
}

// checkSent checks that a stream has one start and one end. This also holds if several targets have contributed to
// it.
func (w *world) checkSent() {
	for _, m := range marks {
		switch m.name {
		case "start", "stop", "done", "completed", "failed":
			if n := bytes.Count(w.sent, []byte(m.text)); n > 1 {
				w.violate("the caller is sent %q %d times", m.text, n)
			}
		}
	}
}

func (w *world) checkEnd() {
	f := &w.facts
	switch {
	case w.Response == interpreter.None:
		w.violate("the exchange ends without a response")
	case w.Response == interpreter.Opened && !f.disconnected:
		w.violate("the exchange ends with an open response")
	case f.seat == leading || f.seat == following:
		w.violate("the exchange ends in a flight")
	}
	w.checkReported()
	w.checkLease()
	reserved := f.admitted == keymeter.ModeReserve
	switch {
	case (f.dispatched || reserved || f.unsure || f.idem) && f.settled == 0:
		w.violate("a reservation is not settled")
	}
}
