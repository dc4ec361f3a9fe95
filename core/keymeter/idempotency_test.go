package keymeter_test

import (
	"testing"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
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

// settleWithResponse settles a request with the idempotency key. An empty string means no response.
func (k *key) settleWithResponse(id, text string) {
	k.Helper()
	command := keymeter.Settle{RequestID: id, Outcome: keymeter.Served, Model: "m", Idempotency: "caller", Answer: []byte(text)}
	k.call(command.Encode())
}

// finish settles a request without a reservation.
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

// TestIdempotencyWithoutAReservation checks that Finish completes the record of a request without a reservation.
func TestIdempotencyWithoutAReservation(t *testing.T) {
	k := newKey(t, record("wide"))
	count := keymeter.Admit{RequestID: "req_1", Mode: keymeter.ModeCount, Idempotency: "caller", BodyHash: "body"}
	if reply := k.admit(count); reply.Verdict != keymeter.Admitted {
		t.Fatalf("%+v", reply)
	}
	k.expectIdempotent("before the finish", "req_2", "body", keymeter.Running)
	if k.AlarmMs != start+10_000+calendar.DayMs {
		t.Errorf("alarm at %d, want it at the record's deletion", k.AlarmMs)
	}
	k.finish("req_1", "answer")
	k.expectReplay("after the finish", "req_2", "answer")
}

// TestIdempotencyOfADeadExchangeWithoutAReservation checks that a request that calls no provider holds the
// idempotency key for only ten seconds.
func TestIdempotencyOfADeadExchangeWithoutAReservation(t *testing.T) {
	for _, mode := range []keymeter.Mode{keymeter.ModeCount, keymeter.ModeHit} {
		k := newKey(t, record("wide"))
		first := keymeter.Admit{RequestID: "req_1", Mode: mode, Idempotency: "caller", BodyHash: "body", Grant: keymeter.Grant{Period: november, Epoch: 1, TotalPico: 1000}}
		if reply := k.admit(first); reply.Verdict != keymeter.Admitted {
			t.Fatalf("%+v", reply)
		}
		k.now += 9_999
		k.expectIdempotent("after 9.999 s", "req_2", "body", keymeter.Running)
		k.now++
		k.expectIdempotent("after 10 s", "req_2", "body", keymeter.Admitted)
	}
}

// TestIdempotencyWithoutAResponse checks that a failed request can be retried at once. A request whose response was
// too large to store must not run again.
func TestIdempotencyWithoutAResponse(t *testing.T) {
	k := newKey(t, record("wide"))
	k.admitIdempotent("req_1", "body")
	k.settleWithResponse("req_1", "")
	k.expectIdempotent("retry", "req_2", "body", keymeter.Admitted)
	large := keymeter.Settle{RequestID: "req_2", Outcome: keymeter.Served, Model: "m", Idempotency: "caller", Oversized: true}
	k.call(large.Encode())
	k.expectIdempotent("after an oversized response", "req_3", "body", keymeter.Unreplayable)
}

// rerun admits a request that may run even if the outcome of the first one is unknown.
func (k *key) rerun(about, id, body string, want keymeter.Verdict) {
	k.Helper()
	a := keymeter.Admit{RequestID: id, Mode: keymeter.ModeReserve, AmountPico: 10, Idempotency: "caller", BodyHash: body, Rerun: true}
	reply := k.admit(a)
	if reply.Verdict == keymeter.Short {
		a.Grant = keymeter.Grant{Period: reply.Period, Epoch: reply.Epoch, TotalPico: reply.HeldPico + reply.NeedPico}
		reply = k.admit(a)
	}
	if reply.Verdict != want {
		k.Errorf("%s: verdict %d, want %d", about, reply.Verdict, want)
	}
}

// TestUnknownOutcome checks that the outcome of a dead exchange becomes unknown when its reservation expires, and
// stays so for a day. A late response is still stored.
func TestUnknownOutcome(t *testing.T) {
	k := newKey(t, record("wide"))
	k.admitIdempotent("req_1", "body")
	k.now += 59_999
	k.expectIdempotent("just before the expiry", "req_2", "body", keymeter.Running)
	k.now++
	k.expectIdempotent("at the expiry", "req_2", "body", keymeter.OutcomeUnknown)
	k.ringUntil(start + 60_000)
	k.expectIdempotent("after the alarm", "req_2", "body", keymeter.OutcomeUnknown)
	k.expectIdempotent("another body", "req_2", "other", keymeter.Mismatch)
	k.expectIdempotent("a repeat of the command itself", "req_1", "body", keymeter.Admitted)
	k.ringUntil(start + 60_000 + calendar.DayMs - 1)
	k.expectIdempotent("just before a day", "req_2", "body", keymeter.OutcomeUnknown)
	late := keymeter.Settle{RequestID: "req_1", Outcome: keymeter.Served, Model: "m", CostPico: 3, Idempotency: "caller", Answer: []byte("late")}
	k.call(late.Encode())
	k.expectReplay("after the late response", "req_2", "late")
	k.ringUntil(start + 60_000 + 2*calendar.DayMs - 2)
	k.expectReplay("just before a day after it", "req_2", "late")
	k.ringUntil(start + 60_000 + 2*calendar.DayMs - 1)
	k.expectRows("h", "o/")
}

// TestUnknownOutcomeEnds checks that a record with an unknown outcome expires after a day, with and without the
// alarm.
func TestUnknownOutcomeEnds(t *testing.T) {
	k := newKey(t, record("wide"))
	k.admitIdempotent("req_1", "body")
	k.ringUntil(start + 60_000 + calendar.DayMs)
	k.expectRows("h", "o/")
	k = newKey(t, record("wide"))
	k.admitIdempotent("req_1", "body")
	k.now += 60_000 + calendar.DayMs
	k.expectIdempotent("without the alarm", "req_2", "body", keymeter.Admitted)
}

// TestLateFailure checks an exchange that was presumed dead. If it settles without a response, it frees the
// idempotency key.
func TestLateFailure(t *testing.T) {
	k := newKey(t, record("wide"))
	k.admitIdempotent("req_1", "body")
	k.ringUntil(start + 60_000)
	k.settleWithResponse("req_1", "")
	k.expectIdempotent("after the late failure", "req_2", "body", keymeter.Admitted)
}

// TestRerun checks that a request with Rerun runs once if the outcome of the first request is unknown. Each of the
// two requests is charged its own cost, once.
func TestRerun(t *testing.T) {
	k := newKey(t, record("wide"))
	k.rerun("a new key", "req_1", "body", keymeter.Admitted) // nothing to rerun, so the field has no effect
	k.rerun("a concurrent request", "req_2", "body", keymeter.Running)
	if reply := k.admitIdempotent("req_1", "body"); reply.Verdict != keymeter.Admitted {
		t.Fatalf("%+v", reply)
	}
	k.ringUntil(start + 60_000)
	if u := k.reportedUsage(); u.CostPico != 10 || u.Expired != 1 || u.Requests != 1 {
		t.Errorf("the dead request: %+v", u)
	}
	k.rerun("another body", "req_2", "other", keymeter.Mismatch)
	k.rerun("the rerun", "req_2", "body", keymeter.Admitted)
	k.rerun("its repeated command", "req_2", "body", keymeter.Admitted)
	k.rerun("a second rerun", "req_3", "body", keymeter.Running)
	late := keymeter.Settle{RequestID: "req_1", Outcome: keymeter.Served, Model: "m", CostPico: 3, Idempotency: "caller", Answer: []byte("late")}
	for range 2 {
		k.call(late.Encode())
	}
	k.expectIdempotent("after the first request's late response", "req_3", "body", keymeter.Running)
	second := keymeter.Settle{RequestID: "req_2", Outcome: keymeter.Served, Model: "m", CostPico: 4, Idempotency: "caller", Answer: []byte("answer")}
	for range 2 {
		k.call(second.Encode())
	}
	k.rerun("after the response", "req_3", "body", keymeter.Replay)
	k.expectReplay("after the response", "req_3", "answer")
	if u := k.reportedUsage(); u.CostPico != 7 || u.Expired != 0 || u.Requests != 2 {
		t.Errorf("both requests: %+v", u)
	}
}

// TestRerunWithoutAResponse checks that the outcome of the first request is still unknown after a rerun that has called no
// provider, whether or not it has reserved.
func TestRerunWithoutAResponse(t *testing.T) {
	counted := keymeter.Admit{RequestID: "req_2", Mode: keymeter.ModeCount, Idempotency: "caller", BodyHash: "body", Rerun: true}
	for name, rerun := range map[string]func(k *key){
		"reserved": func(k *key) {
			k.rerun("the rerun", "req_2", "body", keymeter.Admitted)
			k.settleWithResponse("req_2", "")
		},
		"unreserved":           func(k *key) { k.admit(counted); k.finish("req_2", "") },
		"unreserved and ended": func(k *key) { k.admit(counted); k.now += 10_000 },
	} {
		k := newKey(t, record("wide"))
		k.admitIdempotent("req_1", "body")
		k.ringUntil(start + 60_000)
		rerun(k)
		for _, id := range []string{"req_3", "req_4"} {
			k.expectIdempotent(name, "req_5", "body", keymeter.OutcomeUnknown)
			k.rerun(name, id, "body", keymeter.Admitted)
			k.rerun(name, "req_5", "body", keymeter.Running)
			k.settleWithResponse(id, "")
		}
		k.rerun(name, "req_6", "body", keymeter.Admitted)
		k.settleWithResponse("req_6", "answer")
		k.expectReplay(name, "req_7", "answer")
		k.ringUntil(start + 3*calendar.DayMs)
		k.expectIdempotent(name, "req_8", "body", keymeter.Admitted)
	}
}

// TestRestart checks that a restart of the only process ends the requests in progress. They are charged at once,
// their outcome becomes unknown, and nothing else changes.
func TestRestart(t *testing.T) {
	k := newKey(t, record("few"))
	restart := keymeter.Restart{}
	k.call(restart.Encode())
	k.admitIdempotent("req_1", "body")
	k.mustAdmit("req_2", 5)
	if reply := k.admit(keymeter.Admit{RequestID: "req_9", Mode: keymeter.ModeReserve}); reply.Verdict != keymeter.ConcurrencyLimited {
		t.Fatalf("%+v", reply)
	}
	for range 2 {
		k.call(restart.Encode())
	}
	k.expectIdempotent("after the restart", "req_3", "body", keymeter.OutcomeUnknown)
	if u := k.reportedUsage(); u.CostPico != 15 || u.Expired != 2 {
		t.Errorf("%+v", u)
	}
	k.rerun("the rerun", "req_3", "body", keymeter.Admitted)
	k.settleWithResponse("req_3", "answer")
	k.call(restart.Encode())
	k.expectReplay("after the next restart", "req_4", "answer")
	unknown := newKey(t, doc.Record{})
	unknown.call(restart.Encode())
	unknown.expectRows()
}

// TestResponsesAreKeptForADay checks that a stored response expires after a day even if no alarm runs. If the alarm
// runs, it deletes the rows of the response.
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
	k.ringUntil(start + 60_000 + calendar.DayMs) // as if it had been stored just before the reservation expired
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
	k.rerun("the rerun", "req_3", "body", keymeter.Admitted)
	k.settleWithResponse("req_3", "answer")
	k.ringUntil(start + calendar.DayMs + 60_999)
	k.expectReplay("just before a day", "req_4", "answer")
	k.ringUntil(start + calendar.DayMs + 61_000)
	k.expectIdempotent("after a day", "req_4", "body", keymeter.Admitted)
}
