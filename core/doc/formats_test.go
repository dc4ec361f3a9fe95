package doc_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keys"
)

var (
	wholePolicy = doc.Policy{
		Version: 3, Models: []string{"a", "b"},
		Routes:       []doc.Route{{Tier: "fast", Strategy: 2, Targets: []doc.RouteTarget{{Model: "a", Weight: 5}, {Model: "b"}}}, {Tier: "best"}},
		ProviderKeys: []doc.ProviderKey{{Provider: "openai", KeyID: "k1", Sealed: []byte{1, 2, 3}, Last4: "1234", SetMs: 9}},
		Governor:     []byte{7}, Enforcement: doc.Enforce,
		Registry: []doc.RegistryModel{{Model: "a", State: doc.RegistryDeprecated, Keys: []string{"key_1"}, DeprecatedMs: 1, SunsetMs: 2, Successor: "b"}},
	}
	wholeProject = doc.Project{
		ID: "proj_1", Name: "ü", Plan: "free", Region: "weur", BudgetPico: 5, CacheTTLSeconds: 6, CreatedMs: 7, KeyCount: 8, Revision: 9,
		Archived: true, Cycle: calendar.Daily, Epoch: 10, Alerts: doc.Alerts{URL: "https://a.example", Secret: []byte{4}}, Policy: wholePolicy,
		Cache: doc.CacheGlobal, Unbounded: true, Contact: "c", RecordProviderErrors: true,
		Chain: []doc.Node{{ID: "root", Name: "all", Cycle: calendar.Weekly, Epoch: 2, Lowered: 5}, {ID: "grp_1", Unit: doc.Tokens}}, Group: "grp_1",
		Limits: doc.PeriodLimits{Requests: 3, Tokens: 4}, Restrictions: []doc.Restriction{{ID: "grp_1", Name: "n", Models: []string{"a"}}}, GroupArchived: true,
		Soft: true, Path: 3, Paths: []doc.Path{{Number: 2}, {Number: 3, Nodes: []doc.Ancestor{{ID: "root", Epoch: 2, Counted: true}, {ID: "grp_1"}}}},
	}
	wholeKey = doc.Key{
		ID: "key_1", ProjectID: "proj_1", Name: "k", Kind: keys.Project, Environment: keys.Development, Hash: "h", Last4: "abcd", Status: doc.Inactive,
		CreatedMs: 1, Models: []string{"m"}, Limits: doc.Limits{PerSecond: 1, PerDay: 2, TokensPerMinute: 3}, Permissions: doc.MaySeeUsage, ExpiresMs: 4,
		ReplacedBy: "key_2",
		Budget:     doc.KeyBudget{Budgeted: true, BudgetPico: 5, Limits: doc.PeriodLimits{Requests: 6, Tokens: 7}, Cycle: calendar.Total, Epoch: 8, Soft: true},
	}
	wholeGroup = doc.Group{
		ID: "grp_1", Name: "g", Parent: "root", Budgeted: true, BudgetPico: 1, Cycle: calendar.Weekly, Epoch: 2, Soft: true,
		Limits: doc.PeriodLimits{Requests: 6, Tokens: 7}, Models: []string{"m"}, Archived: true, HideNames: true,
		Alerts: doc.Alerts{URL: "u", Secret: []byte{1}}, CreatedMs: 3, Revision: 4, Lowered: 6, Applied: 5, Delivered: 99,
	}
	wholeRecord = doc.NewRecord(&wholeKey, 3, &wholeProject, 4)
)

// decoders contains the encoded and the decoded form of each kind of document.
var decoders = map[string]struct {
	whole  []byte
	want   any
	decode func([]byte) (any, error)
}{
	"policy":  {wholePolicy.Encode(), wholePolicy, func(b []byte) (any, error) { return doc.DecodePolicy(b) }},
	"project": {wholeProject.Encode(), wholeProject, func(b []byte) (any, error) { return doc.DecodeProject(b) }},
	"key":     {wholeKey.Encode(), wholeKey, func(b []byte) (any, error) { return doc.DecodeKey(b) }},
	"group":   {wholeGroup.Encode(), wholeGroup, func(b []byte) (any, error) { return doc.DecodeGroup(b) }},
	"record":  {wholeRecord.Encode(), wholeRecord, func(b []byte) (any, error) { return doc.DecodeRecord(b) }},
}

func TestRoundTrips(t *testing.T) {
	for name, d := range decoders {
		if got, err := d.decode(d.whole); err != nil || !reflect.DeepEqual(got, d.want) {
			t.Errorf("%s: %v\ngot  %+v\nwant %+v", name, err, got, d.want)
		}
	}
}

// The complete documents have a nonzero value in every field. A field with a zero value would seem to survive a round
// trip even if it were not encoded.
func TestWholeDocuments(t *testing.T) {
	for name, d := range decoders {
		whole := reflect.ValueOf(d.want)
		for i := range whole.NumField() {
			if whole.Field(i).IsZero() {
				t.Errorf("%s: give the field %s a value", name, whole.Type().Field(i).Name)
			}
		}
	}
}

// Truncated documents, trailing bytes and other formats are malformed and do not cause a panic.
func TestMalformedDocuments(t *testing.T) {
	for name, d := range decoders {
		for n := range len(d.whole) {
			if got, err := d.decode(d.whole[:n]); err == nil {
				t.Errorf("%s: the first %d bytes were decoded as %+v", name, n, got)
			}
		}
		longer := append(d.whole[:len(d.whole):len(d.whole)], 0)
		other := append([]byte{9}, d.whole[1:]...)
		zero := append([]byte{0}, d.whole[1:]...)
		for _, data := range [][]byte{longer, other, zero} {
			if _, err := d.decode(data); err == nil {
				t.Errorf("%s: %x was decoded", name, data)
			}
		}
	}
}

// These documents in older formats are written by hand. The fields that they lack are zero.
func TestOldFormats(t *testing.T) {
	var p, k1, k2, r1, r2 abi.Writer
	p.Uint(1)
	for _, text := range []string{"proj_1", "ü", "free", "weur"} {
		p.String(text)
	}
	p.Int(5)
	for n := uint64(6); n <= 8; n++ {
		p.Uint(n)
	}
	oldKey := func(w *abi.Writer, format uint64) {
		w.Uint(format)
		for _, text := range []string{"key_1", "proj_1", "k"} {
			w.String(text)
		}
		w.Uint(2)
		w.Uint(2)
		w.String("h")
		w.String("abcd")
		w.Uint(2)
		w.Uint(1)
	}
	oldRecord := func(w *abi.Writer, format uint64) {
		w.Uint(format)
		w.Uint(7)
		w.String("key_1")
		w.String("proj_1")
		w.Uint(2)
		w.Uint(2)
		w.String("free")
		w.String("weur")
		w.Uint(6)
	}
	oldKey(&k1, 1)
	oldKey(&k2, 2)
	oldRecord(&r1, 1)
	oldRecord(&r2, 2)
	for _, w := range []*abi.Writer{&k2, &r2} {
		w.Uint(1)
		w.String("m")
	}
	project := doc.Project{ID: "proj_1", Name: "ü", Plan: "free", Region: "weur", BudgetPico: 5, CacheTTLSeconds: 6, CreatedMs: 7, KeyCount: 8}
	key := doc.Key{ID: "key_1", ProjectID: "proj_1", Name: "k", Kind: keys.Project, Environment: keys.Development, Hash: "h", Last4: "abcd", Status: doc.Inactive, CreatedMs: 1}
	record := doc.Record{Version: 7, KeyID: "key_1", ProjectID: "proj_1", Kind: keys.Project, Environment: keys.Development, Plan: "free", Region: "weur", CacheTTLSeconds: 6}
	keyWithModels, recordWithModels := key, record
	keyWithModels.Models, recordWithModels.Models = []string{"m"}, []string{"m"}
	for _, c := range []struct {
		kind string
		data []byte
		want any
	}{{"project", p.Buf, project}, {"key", k1.Buf, key}, {"key", k2.Buf, keyWithModels}, {"record", r1.Buf, record}, {"record", r2.Buf, recordWithModels}} {
		if got, err := decoders[c.kind].decode(c.data); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %x: %v\ngot  %+v\nwant %+v", c.kind, c.data[:1], err, got, c.want)
		}
	}
}

// TestNewestFormatsAreOptional: documents without the newest settings have older formats, which older instances read.
func TestNewestFormatsAreOptional(t *testing.T) {
	p, r := wholeProject, wholeRecord
	for n, drop := range []func(){
		func() {
			p.Chain, p.Group, p.Limits, p.Restrictions, p.GroupArchived = nil, "", doc.PeriodLimits{}, nil, false
			p.Path, p.Paths, p.Soft = 0, nil, false
			r.Chain, r.Restrictions, r.Own, r.Path = nil, nil, doc.KeyBudget{}, 0
			r.Soft, r.KeyName = false, ""
		},
		func() { p.RecordProviderErrors, r.RecordProviderErrors = false, false },
	} {
		withProject, withRecord := p.Encode(), r.Encode()
		drop()
		for kind, c := range map[string]struct {
			with, without []byte
			format        byte
			want          any
		}{"project": {withProject, p.Encode(), byte(6 - n), p}, "record": {withRecord, r.Encode(), byte(7 - n), r}} {
			if c.with[0] != c.format+1 || c.without[0] != c.format || !strings.HasPrefix(string(c.with[1:]), string(c.without[1:])) {
				t.Errorf("%s:\n%x, and without the setting\n%x", kind, c.with, c.without)
			}
			if got, err := decoders[kind].decode(c.without); err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s: %v, %+v", kind, err, got)
			}
		}
	}
}

// A key without a budget has the previous format.
func TestBudgetOfAKeyIsOptional(t *testing.T) {
	with := wholeKey.Encode()
	k := wholeKey
	k.Budget = doc.KeyBudget{}
	without := k.Encode()
	if with[0] != 4 || without[0] != 3 || !strings.HasPrefix(string(with[1:]), string(without[1:])) {
		t.Errorf("%x\n%x", with, without)
	}
}

func TestPermissions(t *testing.T) {
	for _, c := range []struct {
		kind keys.Kind
		p    doc.Permission
		want doc.Permission // all permissions
	}{
		{keys.Gateway, 0, doc.MayAll}, {keys.Project, 0, doc.MayManage}, {keys.Gateway, doc.MayEmbed, doc.MayEmbed},
		{keys.Project, doc.MaySeeUsage, doc.MaySeeUsage}, {keys.Gateway, doc.MaySeeUsage, doc.MaySeeUsage},
	} {
		for bit := doc.MayComplete; bit <= doc.MaySeeCompliance; bit <<= 1 {
			if got := c.p.May(c.kind, bit); got != (c.want&bit != 0) {
				t.Errorf("kind %d with %b may %b: %v", c.kind, c.p, bit, got)
			}
		}
	}
}

// Changes that affect a project's keys make their records differ. Changes to its name, budget and alerts do not.
func TestChangesThatAffectKeys(t *testing.T) {
	before := doc.NewRecord(&wholeKey, 1, &wholeProject, 1)
	for name, c := range map[string]struct {
		edit func(*doc.Project)
		want bool
	}{
		"plan": {func(p *doc.Project) { p.Plan = "x" }, true}, "cache": {func(p *doc.Project) { p.CacheTTLSeconds++ }, true},
		"cache scope": {func(p *doc.Project) { p.Cache = doc.CacheOff }, true},
		"cycle":       {func(p *doc.Project) { p.Cycle = calendar.Weekly }, true}, "epoch": {func(p *doc.Project) { p.Epoch++ }, true},
		"policy": {func(p *doc.Project) { p.Policy.Version++ }, true}, "name": {func(p *doc.Project) { p.Name = "x" }, false},
		"soft":   {func(p *doc.Project) { p.Soft = false }, true},
		"errors": {func(p *doc.Project) { p.RecordProviderErrors = false }, true},
		"budget": {func(p *doc.Project) { p.BudgetPico++ }, false}, "alerts": {func(p *doc.Project) { p.Alerts.URL = "" }, false},
	} {
		p := wholeProject
		c.edit(&p)
		if got := before.Differs(doc.NewRecord(&wholeKey, 5, &p, 5)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
