package controltest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
)

// Master returns a master key in the variable's format, and its bytes.
func Master(id string, fill byte) (text string, key []byte) {
	key = bytes.Repeat([]byte{fill}, 32)
	return id + ":" + base64.StdEncoding.EncodeToString(key), key
}

// November is the current month of the bench. It begins on day 20,758 since the Unix epoch.
var November = calendar.NewPeriod(calendar.Monthly, 0, 20_758)

// SomeID is the part of an ID after its prefix.
const SomeID = "0123456789abcdef0123456789abcdef"

// RoutedCatalog returns a bench. The tiers and models of its catalog make the strategies' choices differ.
func RoutedCatalog(t *testing.T) *Bench {
	b := New(t)
	b.Configure(func(c *kernel.Config) {
		c.Catalog = ParseCatalog(`{"tiers":[
			{"name":"fast","strategy":"weighted","targets":[{"model":"a-costly","weight":1},{"model":"a-cheap","weight":3}]},
			{"name":"best","strategy":"ordered","targets":[{"model":"b-free","weight":0},{"model":"a-costly","weight":0}]}],
		"providers":[{"name":"alpha","wire":"openai","baseUrl":"https://alpha.example/v1","keyEnv":"ALPHA_KEY"},
			{"name":"beta","wire":"openai","baseUrl":"https://beta.example/v1","keyEnv":"BETA_KEY"}],
		"models":[
			{"name":"a-costly","provider":"alpha","upstream":"costly","input":"3","output":"15","source":"x","date":"2026-01-01"},
			{"name":"a-cheap","provider":"alpha","upstream":"cheap","aliases":["cheapo"],"input":"0.1","output":"0.4","source":"x","date":"2026-01-01"},
			{"name":"b-free","provider":"beta","upstream":"free","input":"0","output":"0","source":"x","date":"2026-01-01"},
			{"name":"b-embed","provider":"beta","kind":"embedding","upstream":"embed","input":"0.02","source":"x","date":"2026-01-01"}]}`)
	})
	return b
}

// Field returns one field of a response as raw JSON.
func Field(r Reply, name string) string {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(r.Body.Bytes(), &values); err != nil {
		return err.Error()
	}
	return string(values[name])
}

// CheckPolicies checks that KV has exactly the given versions of the policy. It also checks the record of the meter
// that was called last, which must name the newest version.
func (b *Bench) CheckPolicies(id, value string, versions []uint64) {
	b.Helper()
	var want, have []string
	for _, v := range versions {
		want = append(want, doc.PolicyKey(id, v))
	}
	for name, data := range b.Memory.Kv {
		if !strings.HasPrefix(name, "policy/") {
			continue
		}
		have = append(have, name)
		if p, err := doc.DecodePolicy(data); err != nil || doc.PolicyKey(id, p.Version) != name {
			b.Errorf("%s: %v %+v", name, err, p)
		}
	}
	if !reflect.DeepEqual(have, want) {
		b.Errorf("KV has %q, want %q", have, want)
	}
	var last uint64
	if len(versions) > 0 {
		last = versions[len(versions)-1]
	}
	for i := len(b.Memory.Sent) - 1; i >= 0; i-- {
		if s := b.Memory.Sent[i]; s.Class == abi.ClassKeyMeter {
			if _, record := b.MeterView(s.Name); record.Policy != last {
				b.Errorf("the key's record names policy %d, want %d", record.Policy, last)
			}
			break
		}
	}
}
