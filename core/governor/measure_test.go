package governor

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// surroundings are texts with a place for a token: %s. They do not occur in testdata/governor.
var surroundings = []string{
	"%s", "my token: %s", "KEY=%s\nNEXT=1", `{"credentials":{"value":"%s"},"n":3}`, "Authorization: token %s\r\nAccept: */*",
	"<value>%s</value>", "use `%s` for the test system", "please rotate %s, it leaked", "a,b,%s,d", "- %s\n- other", "url?t=%s", "(%s)",
	"auth = \"%s\";", "$ tool login --with %s", "日本語%s日本語",
}

// randomText returns text that is as long as a token but is not one: a hash, an identifier or a file name.
func randomText(random *rand.Rand) string {
	kinds := []string{"{x32}", "{x40}", "{x64}", "{x8}-{x4}-4{x3}-a{x3}-{x12}", "{b20-99}", "{w10-60}", "{a5}_{w20-50}", "v{d1}.{d2}-{l12}", "{d6-19}"}
	return generate("", kinds[random.IntN(len(kinds))], "", random)
}

// score counts three things: the expected findings, how many of them were found, and the wrong findings.
type score struct{ expected, found, wrong int }

func (s score) recall() float64 { return float64(s.found) / float64(s.expected) }
func (s score) precision() float64 {
	return float64(s.found) / float64(s.found+s.wrong)
}

func (s *score) add(text []byte, want []Finding, category Category) {
	s.expected += len(want)
	for _, f := range Scan(text, AllRules(), nil) {
		if table[f.Rule].Category != category {
			continue
		}
		if i := slices.IndexFunc(want, func(w Finding) bool { return w.Start == f.Start && w.End == f.End }); i >= 0 {
			s.found++
			want = slices.Delete(slices.Clone(want), i, i+1)
		} else {
			s.wrong++
		}
	}
}

func (s score) report(t *testing.T, name string, recall, precision float64) {
	t.Helper()
	fmt.Printf("governor: %s: recall %.4f, precision %.4f over %d\n", name, s.recall(), s.precision(), s.expected)
	if s.recall() < recall || s.precision() < precision {
		t.Errorf("%s: recall %.4f, precision %.4f; want %.2f and %.2f", name, s.recall(), s.precision(), recall, precision)
	}
}

// TestSecretsMeasured generates tokens from the issuers' formats. The seed and the text around the tokens are not the
// ones that were used to write the rules. For each token, the test also generates a text of the same size that is not
// a token.
func TestSecretsMeasured(t *testing.T) {
	random := rand.New(rand.NewPCG(20261122, 12))
	var total score
	for _, r := range readData(t) {
		one := measureRule(&r, random)
		if len(r.formats) > 0 && (one.recall() < 0.9 || one.precision() < 0.9) {
			t.Errorf("%s: recall %.2f, precision %.2f", r.name, one.recall(), one.precision())
		}
		total.expected, total.found, total.wrong = total.expected+one.expected, total.found+one.found, total.wrong+one.wrong
	}
	total.report(t, "secrets", 0.98, 0.99)
}

// measureRule generates twelve tokens of each format of a rule, and as many other texts.
func measureRule(r *ruleData, random *rand.Rand) (one score) {
	for i, format := range r.formats {
		for n := range 12 {
			token := generate(r.name, format, "", random)
			around := surroundings[(i+n)%len(surroundings)]
			if near := r.near[i]; near != "" {
				around = near + "_secret = %s"
			}
			start := strings.Index(around, "%s")
			end := start + len(token)
			if r.name == "secret.azure-sas" {
				start += len("sig=")
			}
			one.add([]byte(strings.Replace(around, "%s", token, 1)), []Finding{{0, start, end}}, Secret)
			noise := strings.Replace(surroundings[random.IntN(len(surroundings)-3)], "%s", randomText(random), 1)
			if !strings.Contains(noise, "oken") && !strings.Contains(noise, "KEY") {
				one.add([]byte(noise), nil, Secret)
			}
		}
	}
	return one
}

// TestPersonalMeasured reads testdata/governor/heldout/personal.txt. Other programs generated the data: see the
// README beside it.
func TestPersonalMeasured(t *testing.T) {
	content, err := os.ReadFile(dataFolder + "/heldout/personal.txt")
	if err != nil {
		t.Fatal(err)
	}
	byRule := map[string]*score{}
	var total score
	for line := range strings.SplitSeq(strings.TrimSuffix(string(content), "\n"), "\n") {
		rule, text, _ := strings.Cut(line, "\t")
		one := byRule[rule]
		if one == nil {
			one = &score{}
			byRule[rule] = one
		}
		start, end := strings.Index(text, "«"), strings.Index(text, "»")-len("«")
		var want []Finding
		if start >= 0 {
			want = []Finding{{0, start, end}}
		}
		text = strings.NewReplacer("«", "", "»", "").Replace(text)
		one.add([]byte(text), want, Personal)
		total.add([]byte(text), want, Personal)
	}
	for rule, one := range byRule {
		if one.expected > 0 && one.recall() < 0.9 {
			t.Errorf("%s: recall %.4f over %d", rule, one.recall(), one.expected)
		}
	}
	total.report(t, "personal data", 0.95, 0.95)
}
