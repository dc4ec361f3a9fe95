package exchange

type phase uint8

const (
	phaseHead        phase = iota // before the first event
	phaseIntake                   // reading the key record and the body, in either order
	phaseKey                      // getting the record from the key's meter, because neither memory nor KV has it
	phasePolicy                   // reading the project's policy
	phaseInspect                  // loading the body from its buffer to check its text
	phaseLookup                   // looking for a cached response in host memory
	phaseAdmit                    // waiting for the key's meter to admit the request
	phaseGrant                    // requesting a slice of the budget from the Ledger
	phaseRecall                   // recalling idle slices from the project's other keys
	phaseLent                     // waiting for the return of budget that meters have lent to isolates
	phaseCache                    // admitted; waiting for the KV cache lookup
	phaseOverBudget               // out of budget; waiting for the KV cache lookup: a hit is free
	phaseClassify                 // admitted; waiting for the project's classifier
	phaseUnseal                   // decrypting the project's provider key for the current target
	phaseBuild                    // loading the body from its buffer to translate it for the target
	phaseOpening                  // streaming request sent; waiting for the response head
	phaseWhole                    // non-streaming request sent; waiting for the complete response
	phaseBackoff                  // waiting before a retry of the same target
	phaseStream                   // receiving the provider's stream
	phaseClosing                  // loading the collected stream from its buffer to finish the response
	phaseMock                     // loading the body from its buffer for the built-in mock
	phasePacing                   // sending the mock's stream, piece by piece
	phaseFollow                   // admitted; following the flight of an identical request
	phaseFollowEnd                // loading the followed stream from its buffer to finish the response
	phaseRejoin                   // the flight has failed; joining the next one
	phaseKeepHit                  // loading a cached response from its buffer to store it under the Idempotency-Key
	phaseKeepError                // loading an error body from its buffer to store it under the Idempotency-Key
	phaseKeep                     // waiting until the response is stored under the Idempotency-Key
	phaseModels                   // loading the project's policy from its buffer to list the models
	phaseCountUnseal              // decrypting the project's provider key to count tokens
	phaseCount                    // waiting for the provider's token count
	phaseReport                   // querying the Ledger for usage
	phaseReportPause              // waiting for another report's flush or for pending settlements
	phaseReportFlush              // flushing unreported usage from the meters
	phaseForward                  // waiting for the control plane to respond
	phaseDone                     // responded, settled and logged
	phases
)

// departure is the effect of the caller's disconnect in a phase. No new attempt starts after a disconnect. A
// non-streaming response is still received: the provider charges for it anyway, and it can be cached.
type departure uint8

const (
	impossible   departure = iota
	noted                  // the phase continues; later steps check whether the caller is still connected
	abandons               // the request ends between two attempts
	leavesStream           // the provider's stream is cut, unless other exchanges follow it
	cutsMock               // the mock's stream is cut
	leavesFlight           // the leader continues without this follower
	stopsDrain             // the rest of the provider's stream is not read
	departures
)

// next returns the phases that a disconnect may lead to.
func (d departure) next() phaseSet {
	if d == noted || d == stopsDrain {
		return 0
	}
	return toDone
}

// phaseTable contains the name of each phase and the effect of a disconnect in that phase.
var phaseTable = [phases]struct {
	name         string
	onDisconnect departure
}{
	phaseHead:        {"head", impossible},
	phaseIntake:      {"intake", noted},
	phaseKey:         {"key", noted},
	phasePolicy:      {"policy", noted},
	phaseInspect:     {"inspect", noted},
	phaseLookup:      {"lookup", noted},
	phaseAdmit:       {"admit", noted},
	phaseGrant:       {"grant", noted},
	phaseRecall:      {"recall", noted},
	phaseLent:        {"lent", noted},
	phaseCache:       {"cache", noted},
	phaseOverBudget:  {"over-budget", noted},
	phaseClassify:    {"classify", noted},
	phaseUnseal:      {"unseal", abandons},
	phaseBuild:       {"build", abandons},
	phaseOpening:     {"opening", leavesStream},
	phaseWhole:       {"whole", noted},
	phaseBackoff:     {"backoff", abandons},
	phaseStream:      {"stream", leavesStream},
	phaseClosing:     {"closing", noted},
	phaseMock:        {"mock", noted},
	phasePacing:      {"pacing", cutsMock},
	phaseFollow:      {"follow", leavesFlight},
	phaseFollowEnd:   {"follow-end", noted},
	phaseRejoin:      {"rejoin", noted},
	phaseKeepHit:     {"keep-hit", noted},
	phaseKeepError:   {"keep-error", noted},
	phaseKeep:        {"keep", noted},
	phaseModels:      {"models", noted},
	phaseCountUnseal: {"count-unseal", noted},
	phaseCount:       {"count", noted},
	phaseReport:      {"report", noted},
	phaseReportPause: {"report-pause", noted},
	phaseReportFlush: {"report-flush", noted},
	phaseForward:     {"forward", noted},
	phaseDone:        {"done", stopsDrain},
}

type phaseSet uint64

// These sets contain one phase each. Rows combine them with |.
const (
	toHead phaseSet = 1 << iota
	toIntake
	toKey
	toPolicy
	toInspect
	toLookup
	toAdmit
	toGrant
	toRecall
	toLent
	toCache
	toOverBudget
	toClassify
	toUnseal
	toBuild
	toOpening
	toWhole
	toBackoff
	toStream
	toClosing
	toMock
	toPacing
	toFollow
	toFollowEnd
	toRejoin
	toKeepHit
	toKeepError
	toKeep
	toModels
	toCountUnseal
	toCount
	toReport
	toReportPause
	toReportFlush
	toForward
	toDone
)

func (set phaseSet) has(p phase) bool { return set&(1<<p) != 0 }

// Each of these sets contains the phases that a function may enter. Several rows call the function, which is in
// parentheses.
const (
	// toWholeAttempt and toStreamAttempt: an attempt starts, or no target is left (attempt, next).
	toWholeAttempt  = toUnseal | toBuild | toWhole | toMock | toDone
	toStreamAttempt = toUnseal | toBuild | toOpening | toMock | toDone
	toAttempt       = toWholeAttempt | toStreamAttempt
	// toDispatch: the request is sent to its first target, possibly after waiting for the classifier (dispatch).
	toDispatch = toAttempt | toClassify
	// toServe: the request is admitted (admitted).
	toServe = toDispatch | toFollow | toCache | toKeepHit | toKeepError | toModels | toCountUnseal | toCount | toReport
	// toChosen: the request's models are known. A lease may admit the request immediately (proceed, after the
	// policy).
	toChosen = toInspect | toLookup | toAdmit | toDispatch
)
