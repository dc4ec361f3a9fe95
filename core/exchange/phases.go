package exchange

// phase is the current step of an exchange.
type phase uint8

const (
	phaseHead        phase = iota // before the first event
	phaseIntake                   // reading the key record and the body, in either order
	phaseKey                      // getting a record that memory and KV do not have from the key's meter
	phasePolicy                   // reading the project's policy
	phaseInspect                  // getting the body back to check its texts
	phaseLookup                   // looking for a cached response in host memory
	phaseAdmit                    // waiting for the key's meter to admit the request
	phaseGrant                    // requesting a slice of the budget from the Ledger
	phaseRecall                   // recalling idle slices from the project's other keys
	phaseLent                     // waiting until budget that meters have lent to isolates returns
	phaseCache                    // admitted; waiting for the KV cache lookup
	phaseOverBudget               // out of budget; waiting for the KV cache lookup, because a hit is free
	phaseClassify                 // admitted; waiting for the project's classifier
	phaseUnseal                   // decrypting the project's provider key for the current target
	phaseBuild                    // getting the body back from the host to translate it for the target
	phaseOpening                  // streaming request sent; waiting for the response head
	phaseWhole                    // non-streaming request sent; waiting for the complete response
	phaseBackoff                  // waiting before a retry of the same target
	phaseStream                   // receiving the provider's stream
	phaseClosing                  // getting the collected stream back from the host to finish the response
	phaseMock                     // getting the body back for the built-in mock
	phasePacing                   // sending the mock's stream, piece by piece
	phaseFollow                   // admitted; following the flight of an identical request
	phaseFollowEnd                // getting the followed stream back from the host to finish the response
	phaseRejoin                   // the flight has failed; joining the next one
	phaseKeepHit                  // getting a cached response back to store it under the Idempotency-Key
	phaseKeepError                // getting an error body back to store it under the Idempotency-Key
	phaseKeep                     // waiting until the response is stored under the Idempotency-Key
	phaseModels                   // getting the project's policy back to list its models
	phaseCountUnseal              // decrypting the project's provider key to count tokens
	phaseCount                    // waiting for the provider's token count
	phaseReport                   // querying the Ledger for usage
	phaseReportPause              // waiting for another report's flush, or for pending settles
	phaseReportFlush              // flushing unreported usage from the meters
	phaseForward                  // waiting for the control plane to respond
	phaseDone                     // responded, settled and logged
	phases
)

// departure is the effect of the caller's disconnect in a phase. No new attempt starts after it. A non-streaming
// response is still received, because the provider bills it anyway and it can be cached.
type departure uint8

const (
	impossible   departure = iota
	noted                  // the phase continues; later steps check whether the caller is still connected
	abandons               // the request ends between two attempts
	leavesStream           // the provider's stream is cut, unless others follow it
	cutsMock               // the mock's stream is cut
	leavesFlight           // the leader continues without this follower
	stopsDrain             // the rest of the provider's stream is not read
	departures
)

// next returns the set of phases that a disconnect may lead to.
func (d departure) next() phaseSet {
	if d == noted || d == stopsDrain {
		return 0
	}
	return toDone
}

// phaseTable contains the name of each phase, and the effect of a disconnect in it.
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

// phaseSet is a set of phases.
type phaseSet uint64

// The sets with a single phase. Rows combine them with |.
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

// Sets of phases that a function may enter, for functions that several rows call.
const (
	// toWholeAttempt and toStreamAttempt: an attempt starts at a target, or no target is left (attempt, next).
	toWholeAttempt  = toUnseal | toBuild | toWhole | toMock | toDone
	toStreamAttempt = toUnseal | toBuild | toOpening | toMock | toDone
	toAttempt       = toWholeAttempt | toStreamAttempt
	// toDispatch: the request goes to its first target, perhaps after the classifier (dispatch).
	toDispatch = toAttempt | toClassify
	// toServe: the request is admitted (admitted).
	toServe = toDispatch | toFollow | toCache | toKeepHit | toKeepError | toModels | toCountUnseal | toCount | toReport
	// toChosen: the request's models are known. A lease admits at once (proceed, after the policy).
	toChosen = toInspect | toLookup | toAdmit | toDispatch
)
