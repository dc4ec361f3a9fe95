package keymeter_test

import (
	"testing"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/keymeter"
)

// admitIdempotent admits a request with the idempotency key "caller".
func (k *key) admitIdempotent(id, body string) keymeter.AdmitReply {
	k.Helper()
	return k.admit(keymeter.Admit{
		RequestID: id, Mode: keymeter.ModeReserve, AmountPico: 10, Idempotency: "caller", BodyHash: body,
		Grant: keymeter.Grant{Period: november, Epoch: 1, TotalPico: 1000},
	})
}

func (k *key) expectIdempotent(about, id, body string, want keymeter.Verdict) {
	k.Helper()
	if reply := k.admitIdempotent(id, body); reply.Verdict != want {
		k.Errorf("%s: verdict %d, want %d", about, reply.Verdict, want)
	}
}

// expectReplay checks that the request is not admitted but replays a stored response.
func (k *key) expectReplay(about, id, want string) {
	k.Helper()
	if reply := k.admitIdempotent(id, "body"); reply.Verdict != keymeter.Replay || string(reply.Answer) != want {
		k.Errorf("%s: %+v, want a replay of %q", about, reply, want)
	}
}

// settleWithResponse settles a request with the idempotency key. An empty text means no response.
func (k *key) settleWithResponse(id, text string) {
	k.Helper()
	command := keymeter.Settle{RequestID: id, Outcome: keymeter.Served, Model: "m", Idempotency: "caller", Answer: []byte(text)}
	k.call(command.Encode())
}

// finish settles a request that reserved nothing.
func (k *key) finish(id, text string) {
	k.Helper()
	command := keymeter.Settle{RequestID: id, Outcome: keymeter.Finish, Idempotency: "caller", Answer: []byte(text)}
	k.call(command.Encode())
}

func TestIdempotency(t *testing.T) {
	k := newKey(t, record("wide"))
	k.expectIdempotent("first request", "req_1", "body", keymeter.Admitted)
	k.expectIdempotent("repeated Admit", "req_1", "body", keymeter.Admitted)
	k.expectIdempotent("concurrent request", "req_2", "body", keymeter.Running)
	k.expectIdempotent("another body", "req_2", "other", keymeter.Mismatch)
	k.mustAdmit("req_plain", 1) // without an idempotency key
	other := keymeter.Admit{RequestID: "req_3", Mode: keymeter.ModeReserve, Idempotency: "another", BodyHash: "body"}
	if reply := k.admit(other); reply.Verdict != keymeter.Admitted {
		t.Errorf("another idempotency key: %+v", reply)
	}
	k.finish("req_2", "response of a request that was not admitted")
	k.expectIdempotent("after a finish by a request that was not admitted", "req_2", "body", keymeter.Running)
	k.settleWithResponse("req_1", "answer")
	for _, id := range []string{"req_1", "req_2"} {
		k.expectReplay("after the settle", id, "answer")
	}
	k.expectIdempotent("another body after the settle", "req_2", "other", keymeter.Mismatch)
	k.finish("req_1", "second response")
	k.expectReplay("after a second response", "req_2", "answer")
}

// TestIdempotencyWithoutAReservation checks that Finish completes the record of a request that reserved nothing.
func TestIdempotencyWithoutAReservation(t *testing.T) {
	k := newKey(t, record("wide"))
	count := keymeter.Admit{RequestID: "req_1", Mode: keymeter.ModeCount, Idempotency: "caller", BodyHash: "body"}
	if reply := k.admit(count); reply.Verdict != keymeter.Admitted {
		t.Fatalf("%+v", reply)
	}
	k.expectIdempotent("before the finish", "req_2", "body", keymeter.Running)
	if k.AlarmMs != start+calendar.DayMs {
		t.Errorf("alarm at %d, want it at the record's deletion", k.AlarmMs)
	}
	k.finish("req_1", "answer")
	k.expectReplay("after the finish", "req_2", "answer")
}

// TestIdempotencyWithoutAResponse checks that a failed request can be retried at once, and that a response that is too
// large to store is not produced again.
func TestIdempotencyWithoutAResponse(t *testing.T) {
	k := newKey(t, record("wide"))
	k.admitIdempotent("req_1", "body")
	k.settleWithResponse("req_1", "")
	k.expectIdempotent("retry", "req_2", "body", keymeter.Admitted)
	large := keymeter.Settle{RequestID: "req_2", Outcome: keymeter.Served, Model: "m", Idempotency: "caller", Oversized: true}
	k.call(large.Encode())
	k.expectIdempotent("after an oversized response", "req_3", "body", keymeter.Unreplayable)
}

// TestIdempotencyOfADeadExchange checks that a dead exchange keeps the idempotency key until its reservation expires, and
// that its late response does not replace that of the next request.
func TestIdempotencyOfADeadExchange(t *testing.T) {
	k := newKey(t, record("wide"))
	k.admitIdempotent("req_1", "body")
	k.now += 59_999
	k.expectIdempotent("just before the expiry", "req_2", "body", keymeter.Running)
	k.now++
	k.expectIdempotent("at the expiry", "req_2", "body", keymeter.Admitted)
	k.settleWithResponse("req_1", "late")
	k.expectIdempotent("after the late response", "req_3", "body", keymeter.Running)
	k.settleWithResponse("req_2", "answer")
	k.expectReplay("after the second response", "req_3", "answer")
}

// TestResponsesAreKeptForADay checks that a stored response expires after a day even if no alarm runs, and that the alarm
// deletes its rows.
func TestResponsesAreKeptForADay(t *testing.T) {
	k := newKey(t, record("wide"))
	k.admitIdempotent("req_1", "body")
	k.settleWithResponse("req_1", "answer")
	k.now += calendar.DayMs - 1
	k.expectReplay("just before a day", "req_2", "answer")
	k.now++
	k.expectIdempotent("after a day", "req_3", "body", keymeter.Admitted)

	k = newKey(t, record("wide"))
	k.admitIdempotent("req_1", "body")
	k.settleWithResponse("req_1", "answer")
	k.ringUntil(start + calendar.DayMs - 1)
	k.expectRows("h", "a/caller", "i/caller", "o/", "t/")
	k.ringUntil(start + calendar.DayMs)
	k.expectRows("h", "o/")
}

// TestSecondRecordIsKeptForADay checks that the deletion scheduled for a first record does not delete a second record
// with the same idempotency key.
func TestSecondRecordIsKeptForADay(t *testing.T) {
	k := newKey(t, record("wide"))
	k.admitIdempotent("req_1", "body")
	k.now += 1000
	k.settleWithResponse("req_1", "")
	k.expectRows("h")
	k.admitIdempotent("req_2", "body")
	k.now += 60_000 // its exchange died
	k.admitIdempotent("req_3", "body")
	k.settleWithResponse("req_3", "answer")
	k.ringUntil(start + calendar.DayMs + 60_999)
	k.expectReplay("just before a day", "req_4", "answer")
	k.ringUntil(start + calendar.DayMs + 61_000)
	k.expectIdempotent("after a day", "req_4", "body", keymeter.Admitted)
}
