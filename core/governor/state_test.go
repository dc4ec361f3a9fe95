package governor

import "testing"

func TestMalformedStates(t *testing.T) {
	rules := AllRules()
	s := NewScanner(rules)
	s.Next([]byte("my phone number and password are "), false, nil)
	state := s.AppendState(nil)
	if _, err := Resume(state, rules); err != nil {
		t.Fatal(err)
	}
	for i := range 9 {
		if _, err := Resume(state[:i], rules); err == nil {
			t.Errorf("a state cut to %d bytes is accepted", i)
		}
	}
	state[0]++
	if _, err := Resume(state, rules); err == nil {
		t.Error("an unknown format is accepted")
	}
}

// FuzzResume: whatever the state is, the scanner does not crash.
func FuzzResume(f *testing.F) {
	rules := AllRules()
	s := NewScanner(rules)
	s.Next([]byte("my phone number and password are "), false, nil)
	f.Add(s.AppendState(nil), []byte("415-555-0132"))
	f.Fuzz(func(t *testing.T, state, text []byte) {
		s, err := Resume(state, rules)
		if err != nil || s.wordAt-s.base > len(text) {
			return
		}
		s.Next(text, true, nil)
	})
}
