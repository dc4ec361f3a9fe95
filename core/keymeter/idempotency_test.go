package keymeter_test

import (
	"testing"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/keymeter"
)

// once asks for a request with an idempotency key.
func (k *key) once(id, body string) keymeter.AdmitReply {
	k.Helper()
	return k.admit(keymeter.Admit{
		RequestID: id, Mode: keymeter.ModeReserve, AmountPico: 10, Idempotency: "caller", BodyHash: body,
		Grant: keymeter.Grant{Period: november, Epoch: 1, TotalPico: 1000},
	})
}

func (k *key) onceIs(what, id, body string, want keymeter.Verdict) {
	k.Helper()
	if reply := k.once(id, body); reply.Verdict != want {
		k.Errorf("%s: verdict %d, want %d", what, reply.Verdict, want)
	}
}

// replayIs wants an answer instead of an admission.
func (k *key) replayIs(what, id, want string) {
	k.Helper()
	if reply := k.once(id, "body"); reply.Verdict != keymeter.Replay || string(reply.Answer) != want {
		k.Errorf("%s: %+v, want the answer %q", what, reply, want)
	}
}

// answer ends a request with an idempotency key; an empty text is no answer.
func (k *key) answer(id, text string) {
	k.Helper()
	command := keymeter.Settle{RequestID: id, Outcome: keymeter.Served, Model: "m", Idempotency: "caller", Answer: []byte(text)}
	k.do(command.Encode())
}

// finish ends a request that reserved nothing.
func (k *key) finish(id, text string) {
	k.Helper()
	command := keymeter.Settle{RequestID: id, Outcome: keymeter.Finish, Idempotency: "caller", Answer: []byte(text)}
	k.do(command.Encode())
}

func TestIdempotency(t *testing.T) {
	k := newKey(t, record("wide"))
	k.onceIs("the first", "req_1", "body", keymeter.Admitted)
	k.onceIs("its repeat", "req_1", "body", keymeter.Admitted)
	k.onceIs("another one meanwhile", "req_2", "body", keymeter.Running)
	k.onceIs("with another body", "req_2", "other", keymeter.Mismatch)
	k.enter("req_plain", 1) // without an idempotency key
	other := keymeter.Admit{RequestID: "req_3", Mode: keymeter.ModeReserve, Idempotency: "another", BodyHash: "body"}
	if reply := k.admit(other); reply.Verdict != keymeter.Admitted {
		t.Errorf("another idempotency key: %+v", reply)
	}
	k.finish("req_2", "of a request that was not let in")
	k.onceIs("after that", "req_2", "body", keymeter.Running)
	k.answer("req_1", "answer")
	for _, id := range []string{"req_1", "req_2"} {
		k.replayIs("answered", id, "answer")
	}
	k.onceIs("another body", "req_2", "other", keymeter.Mismatch)
	k.finish("req_1", "a second one")
	k.replayIs("the first answer stays", "req_2", "answer")
}

// A request that reserves nothing has its record ended by Finish.
func TestIdempotencyWithoutAReservation(t *testing.T) {
	k := newKey(t, record("wide"))
	count := keymeter.Admit{RequestID: "req_1", Mode: keymeter.ModeCount, Idempotency: "caller", BodyHash: "body"}
	if reply := k.admit(count); reply.Verdict != keymeter.Admitted {
		t.Fatalf("%+v", reply)
	}
	k.onceIs("meanwhile", "req_2", "body", keymeter.Running)
	if k.AlarmMs != start+calendar.DayMs {
		t.Errorf("nothing but the record's end is due, and the alarm is set to %d", k.AlarmMs)
	}
	k.finish("req_1", "answer")
	k.replayIs("finished", "req_2", "answer")
}

// Without an answer the caller may try again at once; an answer that is too large to keep is not got twice.
func TestIdempotencyWithoutAnAnswer(t *testing.T) {
	k := newKey(t, record("wide"))
	k.once("req_1", "body")
	k.answer("req_1", "")
	k.onceIs("again", "req_2", "body", keymeter.Admitted)
	large := keymeter.Settle{RequestID: "req_2", Outcome: keymeter.Served, Model: "m", Idempotency: "caller", Oversized: true}
	k.do(large.Encode())
	k.onceIs("too large", "req_3", "body", keymeter.Unreplayable)
}

// An exchange that died keeps its idempotency key until its reservation's end, and what it says later is not taken
// for the answer to the next request.
func TestIdempotencyOfADeadExchange(t *testing.T) {
	k := newKey(t, record("wide"))
	k.once("req_1", "body")
	k.now += 59_999
	k.onceIs("until then", "req_2", "body", keymeter.Running)
	k.now++
	k.onceIs("from then on", "req_2", "body", keymeter.Admitted)
	k.answer("req_1", "late")
	k.onceIs("the second runs", "req_3", "body", keymeter.Running)
	k.answer("req_2", "answer")
	k.replayIs("the second's answer", "req_3", "answer")
}

// An answer is kept for a day, even if no alarm comes to delete it; with the alarm nothing is left.
func TestAnswersAreKeptForADay(t *testing.T) {
	k := newKey(t, record("wide"))
	k.once("req_1", "body")
	k.answer("req_1", "answer")
	k.now += calendar.DayMs - 1
	k.replayIs("just before", "req_2", "answer")
	k.now++
	k.onceIs("after a day", "req_3", "body", keymeter.Admitted)

	k = newKey(t, record("wide"))
	k.once("req_1", "body")
	k.answer("req_1", "answer")
	k.ringUntil(start + calendar.DayMs - 1)
	k.rowsAre("h", "a/caller", "i/caller", "o/", "t/")
	k.ringUntil(start + calendar.DayMs)
	k.rowsAre("h", "o/")
}

// The record of a second request lives a day of its own: the alarm of the first does not delete it.
func TestSecondRecordHasItsOwnDay(t *testing.T) {
	k := newKey(t, record("wide"))
	k.once("req_1", "body")
	k.now += 1000
	k.answer("req_1", "")
	k.rowsAre("h")
	k.once("req_2", "body")
	k.now += 60_000 // its exchange died
	k.once("req_3", "body")
	k.answer("req_3", "answer")
	k.ringUntil(start + calendar.DayMs + 60_999)
	k.replayIs("its last moment", "req_4", "answer")
	k.ringUntil(start + calendar.DayMs + 61_000)
	k.onceIs("its day is over", "req_4", "body", keymeter.Admitted)
}
