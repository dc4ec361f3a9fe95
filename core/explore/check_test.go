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
)

// maxState bounds what the exchange remembers between two steps.
const maxState = 8 << 10

// Words that must not turn up where they have no business.
const (
	promptMark = "marked-prompt"
	answerMark = "marked-answer"
	openaiKey  = "marked-openai-key-of-the-deployment"
	poetKey    = "marked-anthropic-key-of-the-deployment"
	twinKey    = "marked-gemini-key-of-the-deployment"
	ownKey     = "marked-key-of-the-project"
	ownPoetKey = "marked-anthropic-key-of-the-project"
	masterKey  = "bWFya2VkLW1hc3Rlci1rZXktMzItYnl0ZXMtbG9uZyE="
)

// secrets are never told to anybody, and where those of providers may be sent.
var secrets = []struct{ text, url string }{
	{callerKey, ""}, {developmentKey, ""}, {projectKey, ""}, {masterKey, ""},
	{openaiKey, "https://openai.test/"}, {poetKey, "https://anthropic.test/"}, {ownKey, "https://openai.test/"}, {twinKey, "https://gemini.test/"}, {ownPoetKey, "https://anthropic.test/"},
}

// texts are what callers and providers say to each other: not for logs, headers and names.
var texts = []string{promptMark, answerMark}

func (w *world) checkState() {
	if len(w.state) > maxState+w.scenario.maxKept {
		w.violate("the state has %d bytes", len(w.state))
	}
}

// checkAction looks at what an action says to the outside.
func (w *world) checkAction(a *abi.Action) {
	switch a.Kind {
	case abi.ActionLog:
		w.checkTold("the log", a.Data, true)
	case abi.ActionRespond, abi.ActionOpen:
		w.checkHeaders(a)
		w.checkStatus(a.Code)
		w.checkTold("the answer", append(w.join(a.Body), a.Data...), false)
	case abi.ActionForward:
		w.checkHeaders(a)
	case abi.ActionSend:
		w.checkTold("the answer", w.join(a.Body), false)
	case abi.ActionRead:
		w.checkTold("a stored key", []byte(a.Key), true)
	case abi.ActionWrite:
		w.checkTold("a stored key", []byte(a.Key), true)
		w.checkTold("what is stored", w.join(a.Body), false)
		w.checkStored(a)
	case abi.ActionCall:
		w.checkTold("an object's name", []byte(a.Name), true)
		w.checkTold("a command", a.Data, false)
	case abi.ActionFetch:
		w.checkFetch(a)
	case abi.ActionUnseal:
		w.content(a.Buffer)
	}
}

// checkStatus wants a reason for every refusal.
func (w *world) checkStatus(status uint64) {
	reason, known := map[uint64]reasons{
		401: sawStranger, 402: sawNoBudget, 429: sawLimit, 502: sawBadProvider, 503: sawOutage | sawSealed | sawRounds, 504: sawSlow,
	}[status]
	switch {
	case slices.Contains(w.scenario.refused, status):
	case status == 499 && !w.facts.left:
		w.violate("499, and the caller is there")
	case status == 402 && w.facts.seen&sawHit != 0:
		w.violate("402, and the answer is cached")
	case status == 500:
		w.violate("500")
	case known && w.facts.seen&reason == 0:
		w.violate("%d for no reason", status)
	}
}

func (w *world) checkHeaders(a *abi.Action) {
	for _, h := range a.Headers {
		w.checkTold("the header "+h.Name, []byte(h.Value), true)
	}
}

// checkTold finds secrets, and if nothing of the conversation belongs there, that too.
func (w *world) checkTold(where string, data []byte, silent bool) {
	for _, s := range secrets {
		if bytes.Contains(data, []byte(s.text)) {
			w.violate("%s holds the secret %s", where, s.text)
		}
	}
	for _, text := range texts {
		if silent && bytes.Contains(data, []byte(text)) {
			w.violate("%s holds %s", where, text)
		}
	}
}

// checkStored holds the cache to whole and clean answers.
func (w *world) checkStored(a *abi.Action) {
	kind, _, _ := strings.Cut(a.Key, "/")
	if kind != "cache" {
		// Once: how often a record was old is not what matters.
		if what := fmt.Sprintf("remember %s (%d bytes)", kind, len(w.join(a.Body))); !strings.Contains(w.facts.told, what) {
			w.facts.tell(what)
		}
		return
	}
	w.stored = w.join(a.Body)
	w.facts.tell("store")
	if !w.facts.clean {
		w.violate("an answer is cached that is not whole and clean")
	}
}

// checkFetch holds a fetch to an admitted request, an allowed target, and that target's credentials.
func (w *world) checkFetch(a *abi.Action) {
	body := w.join(a.Body)
	for _, s := range secrets {
		if (s.url == "" || !strings.HasPrefix(a.URL, s.url)) && contains(a, body, s.text) {
			w.violate("%s is sent the secret %s", a.URL, s.text)
		}
	}
	model := w.target(a)
	switch {
	case w.facts.admitted == 0:
		w.violate("%s is fetched before an admission", model)
	case w.facts.left:
		w.violate("%s is fetched after the caller left", model)
	case !slices.Contains(w.scenario.allowed, model):
		w.violate("%s is fetched, which the route or a policy does not allow", model)
	}
	for i := range w.open {
		if w.open[i].action.Kind == abi.ActionFetch {
			w.violate("%s is fetched while %s is outstanding", model, w.open[i].meaning)
		}
	}
	if w.scenario.clock {
		w.checkTime(a)
	}
	if w.facts.answer == whole || w.facts.answer == closed {
		w.violate("%s is fetched after the answer", model)
	}
}

// checkTime holds an attempt to what is left of the request's time: all of it, or a stream's beginning.
func (w *world) checkTime(a *abi.Action) {
	left := startMs + w.config.Routing.RequestMs - min(w.nowMs, startMs+w.config.Routing.RequestMs)
	limits := []uint64{a.HeadMs, a.FirstByteMs, a.TotalMs}
	if a.Stream != 0 {
		limits = limits[:2]
	}
	for _, ms := range limits {
		if ms == 0 || ms > left {
			w.violate("an attempt may take %d ms, and %d are left", ms, left)
		}
	}
}

func contains(a *abi.Action, body []byte, text string) bool {
	if strings.Contains(a.URL, text) || bytes.Contains(body, []byte(text)) {
		return true
	}
	return slices.ContainsFunc(a.Headers, func(h abi.Header) bool { return strings.Contains(h.Value, text) })
}

// target is the model that a fetch goes to. Each has its name at the provider in the request.
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
	f.fetches++
	f.clean = false
	if model := w.target(a); !strings.Contains(f.asked, model+" ") {
		f.asked += model + " "
	}
	f.dispatched = f.dispatched || f.admitted == keymeter.ModeReserve
}

// noteAnswer keeps what an answer says: what was admitted, and what may justify a refusal.
func (w *world) noteAnswer(p *pending, e *abi.Event) {
	seen := &w.facts.seen
	switch p.action.Kind {
	case abi.ActionFetch, abi.ActionForward:
		switch {
		case e.Kind == abi.EventFault:
			w.noteFault(e.Code)
		case e.Kind == abi.EventResponse && !w.facts.clean:
			*seen |= sawBadProvider
		}
	case abi.ActionUnseal:
		if e.Code != abi.OutcomeOK || len(e.Data) == 0 {
			*seen |= sawSealed
		}
	case abi.ActionRead:
		if string(e.Data) == "\x00" {
			*seen |= sawStranger
		}
		if e.Code == abi.OutcomeFailed {
			*seen |= sawOutage
		}
		if p.meaning == "cache" && e.Code == abi.OutcomeOK && string(e.Data) == string(w.scenario.entry) {
			*seen |= sawHit
		}
	case abi.ActionCall:
		w.noteReply(p, e)
	}
}

func (w *world) noteFault(code uint64) {
	w.facts.seen |= sawBadProvider
	if code >= abi.FaultHead && code <= abi.FaultTotal {
		w.facts.seen |= sawSlow
	}
}

func (w *world) noteReply(p *pending, e *abi.Event) {
	seen := &w.facts.seen
	if e.Code != abi.OutcomeOK {
		*seen |= sawOutage
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
			err = abi.ErrMalformed // older than what a record may name by now
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
		if command, ok := keymeter.Open(p.action.Data).(*keymeter.Admit); ok {
			f.admitted, f.idem = command.Mode, command.Idempotency != ""
			if command.Version == 0 {
				f.seen |= sawOutage // the meter must tell the record
			}
		}
	case keymeter.Unknown, keymeter.Inactive:
		f.seen |= sawStranger
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

// noteCall counts settlements, whoever waits for their reply.
func (w *world) noteCall(a *abi.Action) {
	settle, ok := keymeter.Open(a.Data).(*keymeter.Settle)
	if !ok || a.Class != abi.ClassKeyMeter {
		return
	}
	f := &w.facts
	if f.settled++; f.settled > 1 {
		w.violate("a reservation is settled %d times", f.settled)
	}
	if f.admitted == 0 {
		w.violate("what was never admitted is settled")
	}
	w.checkCharged(settle.Model)
	for i := range settle.Attempts {
		w.checkCharged(settle.Attempts[i].Model)
	}
	f.tell(settleText(settle))
}

// checkCharged holds a settlement to models that were asked.
func (w *world) checkCharged(model string) {
	if model != "" && !strings.Contains(w.facts.asked, model+" ") && !slices.Contains(w.scenario.mayName, model) {
		w.violate("%s is settled, which was not asked (asked: %s)", model, w.facts.asked)
	}
}

// settleText is a settlement in words.
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
	return fmt.Sprintf("%s (%d %s)", text, s.Trace.Status, strings.TrimSpace(s.Trace.Provider+" "+[...]string{"", "miss", "hit"}[s.Trace.Cache]))
}

// checkOver wants nothing to run on when the caller has the whole answer: no timer, and no provider that may
// still send something. (What is being read ends by itself.)
func (w *world) checkOver() {
	if w.facts.answer != whole && w.facts.answer != closed || len(w.ready) > 0 {
		return
	}
	for i := range w.open {
		switch p := &w.open[i]; p.action.Kind {
		case abi.ActionWait:
			w.violate("a timer runs on after the answer")
		case abi.ActionFetch:
			if !w.facts.clean {
				w.violate("%s runs on after the answer", p.meaning)
			}
		case abi.ActionUnseal, abi.ActionSupply, abi.ActionForward:
			w.violate("%s is outstanding after the answer", p.meaning)
		}
	}
}

// checkSent holds a stream to one beginning and one end, whichever targets it is from.
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

// checkEnd looks at an exchange that is over.
func (w *world) checkEnd() {
	f := &w.facts
	switch {
	case f.answer == nothing:
		w.violate("the exchange ends without an answer")
	case f.answer == opened && !f.left:
		w.violate("the exchange ends with an open answer")
	}
	reserved := f.admitted == keymeter.ModeReserve
	switch {
	case (f.dispatched || reserved || f.idem) && f.settled == 0:
		w.violate("a reservation is not settled")
	}
}
