package governor

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func find(t testing.TB, name string) ID {
	t.Helper()
	id, ok := Lookup(name)
	if !ok {
		t.Fatalf("no rule %s", name)
	}
	return id
}

// TestRiskByHand compares the risk with sums that were computed by hand from the documentation of Tally.
func TestRiskByHand(t *testing.T) {
	email, card, ssn, aws := find(t, "personal.email"), find(t, "personal.payment-card"), find(t, "personal.us-ssn"), find(t, "secret.aws-access-key-id")
	for name, c := range map[string]struct {
		rules    []ID
		strict   bool
		risk     int
		decision Decision
	}{
		"nothing":              {nil, true, 0, Approve},
		"an e-mail":            {[]ID{email}, false, 5, Approve},
		"five e-mails":         {[]ID{email, email, email, email, email}, false, 15, Approve},
		"an id and two mails":  {[]ID{ssn, email, email}, true, 30, Approve},
		"two ids":              {[]ID{ssn, ssn}, false, 40, Review},
		"a card":               {[]ID{card}, false, 40, Review},
		"a card, strict":       {[]ID{card}, true, 40, Rejected},
		"cards and ids":        {[]ID{card, card, card, ssn}, false, 100, Review},
		"a secret is redacted": {[]ID{aws}, true, 0, Approve},
	} {
		p, tally := NewPolicy(), Tally{}
		p.Strict = c.strict
		for i, rule := range c.rules {
			tally.Add(p, Input, []Finding{{rule, i, i + 1}})
		}
		if tally.Risk != c.risk || tally.Decide(p) != c.decision {
			t.Errorf("%s: risk %d, %s; want %d, %s", name, tally.Risk, tally.Decide(p), c.risk, c.decision)
		}
	}
}

func TestBlockDecidesInEitherMode(t *testing.T) {
	p, tally := NewPolicy(), Tally{}
	p.Set(Input, find(t, "personal.email"), Block)
	tally.Add(p, Input, []Finding{{find(t, "personal.email"), 0, 1}})
	if tally.Decide(p) != Rejected {
		t.Error("a rule's block does not block")
	}
	output := Tally{}
	output.Add(p, Output, []Finding{{find(t, "personal.email"), 0, 1}})
	if output.Decide(p) != Approve {
		t.Error("an input action applies to output")
	}
}

func TestTightenNeverLoosens(t *testing.T) {
	p := NewPolicy()
	p.Tighten(false, 90)
	if p.Strict || p.AutoApprove != DefaultAutoApprove {
		t.Errorf("loosened: %t, %d", p.Strict, p.AutoApprove)
	}
	p.Tighten(true, -5)
	p.Tighten(false, 50)
	if !p.Strict || p.AutoApprove != 0 {
		t.Errorf("not tightened: %t, %d", p.Strict, p.AutoApprove)
	}
}

func TestListIsBounded(t *testing.T) {
	p, tally := NewPolicy(), Tally{}
	tally.Add(p, Input, make([]Finding, 250))
	if len(tally.Listed) != MaxListed || tally.Total != 250 {
		t.Errorf("%d listed of %d", len(tally.Listed), tally.Total)
	}
}

// TestRiskIsMonotone: if there is one more finding, the risk is not lower and the decision is not milder.
func TestRiskIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, tally := NewPolicy(), Tally{}
		p.Strict = rapid.Bool().Draw(t, "strict")
		p.AutoApprove = rapid.IntRange(0, 100).Draw(t, "threshold")
		risk, decision := 0, Approve
		for range 20 {
			rule := ID(rapid.IntRange(0, len(table)-1).Draw(t, "rule"))
			p.Set(Input, rule, Action(rapid.IntRange(0, 3).Draw(t, "action")))
			tally.Add(p, Input, []Finding{{rule, 0, 1}})
			if tally.Risk < risk || tally.Risk > MaxRisk || tally.Decide(p) < decision {
				t.Fatalf("risk %d after %d, decision %s after %s", tally.Risk, risk, tally.Decide(p), decision)
			}
			risk, decision = tally.Risk, tally.Decide(p)
		}
	})
}

const letter = "Mail a@example.com and b@example.com, then a@example.com. [EMAIL_2] is taken. Card 4111 1111 1111 1111."

func redactAll() *Policy {
	p := NewPolicy()
	for i := range table {
		p.Set(Input, ID(i), Redact)
	}
	return p
}

func TestRedactAndRestore(t *testing.T) {
	p, r := redactAll(), &Redactor{Reversible: true}
	r.Reserve([]byte(letter))
	redacted := r.Apply(nil, []byte(letter), p, Input, Scan([]byte(letter), AllRules(), nil))
	const want = "Mail [EMAIL_1] and [EMAIL_3], then [EMAIL_1]. [EMAIL_2] is taken. Card [PAYMENT_CARD_1]."
	if string(redacted) != want {
		t.Errorf("redacted:\n%s\nwant\n%s", redacted, want)
	}
	if got := r.Restore(nil, redacted); string(got) != letter {
		t.Errorf("restored:\n%s", got)
	}
	if got := Scan(redacted, AllRules(), nil); len(got) != 0 {
		t.Errorf("a redacted text has findings: %s", describeAll(redacted, got))
	}
}

// TestRestoreInPieces restores a stream in pieces of every size up to 29 bytes.
func TestRestoreInPieces(t *testing.T) {
	p, r := redactAll(), &Redactor{Reversible: true}
	r.Reserve([]byte(letter))
	redacted := r.Apply(nil, []byte(letter), p, Input, Scan([]byte(letter), AllRules(), nil))
	for size := 1; size < 30; size++ {
		var out, held []byte
		for i := 0; i < len(redacted); i += size {
			held = append(held, redacted[i:min(i+size, len(redacted))]...)
			n := len(held) - r.Unfinished(held)
			out = r.Restore(out, held[:n])
			held = append([]byte(nil), held[n:]...)
			if len(held) >= MaxPlaceholder {
				t.Fatalf("%d bytes held", len(held))
			}
		}
		if out = r.Restore(out, held); string(out) != letter {
			t.Fatalf("in pieces of %d: %s", size, out)
		}
	}
}

func TestPlaceholdersAreBounded(t *testing.T) {
	var text strings.Builder
	for i := range MaxReversible + 50 {
		text.WriteString("u" + strings.Repeat("x", i/26) + string(rune('a'+i%26)) + "@example.com ")
	}
	p, r := redactAll(), &Redactor{Reversible: true}
	in := []byte(text.String())
	out := string(r.Apply(nil, in, p, Input, Scan(in, AllRules(), nil)))
	if strings.Contains(out, "@") || strings.Count(out, "[EMAIL]") != 50 || !strings.Contains(out, "[EMAIL_256]") {
		t.Errorf("%d irreversible placeholders in %q", strings.Count(out, "[EMAIL]"), out)
	}
	for i := range table {
		if label := p.label(ID(i)); len(label) > maxLabel-8 {
			t.Errorf("label %s is too long", label)
		}
	}
}

// TestFourMegabytesOfCards: scanning and redacting a body full of card numbers takes at most a few times the body's
// size in memory.
func TestFourMegabytesOfCards(t *testing.T) {
	text := []byte(strings.Repeat("4111 1111 1111 1111, ", 4_000_000/21))
	p, rules := redactAll(), AllRules()
	r := &Redactor{Reversible: true}
	r.Reserve(text)
	found := Scan(text, rules, nil)
	redacted := r.Apply(nil, text, p, Input, found)
	if len(found) != 4_000_000/21 || len(redacted) >= len(text) || len(r.known) != 1 {
		t.Errorf("%d findings, %d bytes, %d values", len(found), len(redacted), len(r.known))
	}
	if n := testing.AllocsPerRun(1, func() { r.Apply(redacted[:0], text, p, Input, found) }); n > 1 {
		t.Errorf("Apply allocates %.0f times", n)
	}
}
