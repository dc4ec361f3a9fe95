package compliance_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/compliance/verify"
	"github.com/postern-ai/postern/control/compliance"
	"github.com/postern-ai/postern/test/controltest"
)

// Any change to an export or a checkpoint is detected and named.
func TestOfflineVerifierFindsChanges(t *testing.T) {
	controltest.Quiet(t)
	e := newEvidence(t)
	e.events(9)
	e.daily()
	key, pages := e.publicKey(), e.export("type=audit&limit=3")
	whole := strings.Join(e.export("type=audit"), "")
	lines := strings.SplitAfter(strings.TrimSuffix(whole, "\n"), "\n")
	checkpoints := e.file(e.Must(200, "GET", e.path+"/compliance/checkpoints", "").Body.String())
	other := e.otherKey()
	without := func(i int) string { return strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "") }
	swapped := slices.Clone(lines)
	swapped[4], swapped[5] = swapped[5], swapped[4]
	headless := e.withoutCheckpoints(whole)
	for name, c := range map[string]struct {
		pages []string
		flags []string
		want  string
	}{
		"payload":           {[]string{strings.Replace(whole, "Name <3>", "Name <4>", 1)}, nil, "the payload of entry 5 (project.update) was changed"},
		"kind":              {[]string{strings.Replace(whole, `"project.create"`, `"project.crepte"`, 1)}, nil, "entry 1 (project.crepte) was changed"},
		"time":              {[]string{strings.Replace(whole, `"time":"2026-11-21T08:08:09`, `"time":"2026-11-21T08:08:08`, 1)}, nil, "entry 3 (project.update) was changed"},
		"spaces":            {[]string{strings.Replace(whole, `"seq":4,`, `"seq": 4,`, 1)}, nil, "entry 4 was changed"},
		"dropped":           {[]string{without(4)}, nil, "entries 4 to 4 are missing"},
		"repeated":          {[]string{strings.Replace(whole, lines[4], lines[4]+lines[4], 1)}, nil, "entry 4 is repeated"},
		"reordered":         {[]string{strings.Join(swapped, "")}, nil, "entry 5 is out of order: entry 4 comes after it"},
		"cut at the end":    {[]string{strings.Join(lines[:len(lines)-1], "")}, nil, "entries 10 to 10 are missing at the end"},
		"cut at the start":  {[]string{without(1)}, nil, "entries 1 to 1 are missing"},
		"half a line":       {[]string{whole[:len(whole)-20]}, nil, "is not a line of JSON"},
		"no header":         {[]string{without(0)}, nil, "the export's header is missing"},
		"page dropped":      {slices.Delete(slices.Clone(pages), 1, 2), nil, "a page is missing, repeated or out of order"},
		"last page dropped": {pages[:len(pages)-1], nil, "missing at the end"},
		"first page":        {pages[1:], nil, "first page is missing"},
		"renamed member":    {[]string{strings.Replace(whole, `"checkpoints":[{`, `"was":[{`, 1)}, nil, "line 1: the header was changed"},
		"added member":      {[]string{strings.Replace(whole, `,"linesHash"`, `,"more":1,"linesHash"`, 1)}, nil, "line 1: the header was changed"},
		"other public key":  {[]string{strings.Replace(whole, `"publicKeys":["`+key, `"publicKeys":["`+other, 1)}, nil, "line 1: the page does not list a key of -key"},
		"generated at":      {[]string{strings.Replace(whole, `"generatedAt":"2026`, `"generatedAt":"2025`, 1)}, nil, "line 1: the page has an invalid signature"},
		"re-signed":         {[]string{whole}, []string{"-key", other}, "is signed with another key"},
		"no checkpoint":     {[]string{headless}, nil, "no checkpoint covers any of these entries"},
		"payload removed":   {[]string{removePayload(whole, 5)}, nil, "the payload of entry 5 (project.update) was removed"},
		"other checkpoint":  {[]string{whole}, []string{"-checkpoint", e.file(strings.Replace(e.checkpointLine(), `"seq":10`, `"seq":9`, 1))}, "invalid signature"},
	} {
		flags := append([]string{"-checkpoint", checkpoints}, c.flags...)
		if name == "no checkpoint" {
			flags = nil
		}
		if len(c.flags) == 0 || c.flags[0] != "-key" {
			flags = append(flags, "-key", key)
		}
		if code, output := e.verified(c.pages, flags...); code != verify.Broken || !strings.Contains(output, c.want) {
			t.Errorf("%s: %d %s, want %q", name, code, output, c.want)
		}
	}
	if code, output := e.verified([]string{whole}, "-key", key, "-checkpoint", checkpoints); code != verify.Valid || !strings.Contains(output, "covers them all") {
		t.Errorf("unchanged: %d %s", code, output)
	}
	if code, _ := e.verified([]string{headless}, "-unsigned"); code != verify.Valid {
		t.Error("an unsigned export is refused although it is allowed")
	}
}

func removePayload(export string, seq int) string {
	lines := strings.Split(export, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, fmt.Sprintf(`{"record":"event","seq":%d,`, seq)) {
			lines[i] = line[:strings.Index(line, `"payload":`)] + `"payload":null}`
		}
	}
	return strings.Join(lines, "\n")
}

// An attacker who controls the storage can rewrite the chain and all its hashes, but cannot change what an earlier
// checkpoint says.
func TestRewrittenChainContradictsCheckpoint(t *testing.T) {
	controltest.Quiet(t)
	e := newEvidence(t)
	e.events(3)
	e.daily()
	checkpoint := e.file(e.checkpointLine())
	genuine := strings.Join(e.export("type=audit"), "")
	forged := e.forge(genuine)
	if code, output := e.verified([]string{forged}, "-unsigned"); code != verify.Valid {
		t.Fatalf("the forged chain should be consistent: %s", output)
	}
	if code, output := e.verified([]string{forged}, "-key", e.publicKey(), "-checkpoint", checkpoint); code != verify.Broken || !strings.Contains(output, "entry 4 is not the one that was signed") {
		t.Errorf("%d %s", code, output)
	}
}

// A later checkpoint reveals that the end was truncated, even though the header and the entries agree.
func TestTruncationContradictsCheckpoint(t *testing.T) {
	controltest.Quiet(t)
	e := newEvidence(t)
	e.events(3)
	early := strings.Join(e.export("type=audit"), "")
	e.events(3)
	e.daily()
	code, output := e.verified([]string{early}, "-key", e.publicKey(), "-checkpoint", e.file(e.checkpointLine()))
	if code != verify.Broken || !strings.Contains(output, "entries 5 to 7 are missing at the end") {
		t.Errorf("%d %s", code, output)
	}
}

// The server's own verification names the first broken entry, even if verifying takes several requests.
func TestVerifyEndpoint(t *testing.T) {
	controltest.Quiet(t)
	for name, c := range map[string]struct {
		damage func(rows map[string][]byte, keys []string)
		seq    string
	}{
		"changed": {func(rows map[string][]byte, keys []string) {
			rows[keys[2]] = []byte(strings.Replace(string(rows[keys[2]]), "Name <1>", "Name <2>", 1))
		}, "3"},
		"dropped": {func(rows map[string][]byte, keys []string) { delete(rows, keys[3]) }, "4"},
		"swapped": {func(rows map[string][]byte, keys []string) {
			rows[keys[1]], rows[keys[2]] = rows[keys[2]], rows[keys[1]]
		}, "2"},
		"cut off": {func(rows map[string][]byte, keys []string) { delete(rows, keys[6]); delete(rows, keys[5]) }, "6"},
		"the head": {func(rows map[string][]byte, keys []string) {
			rows[keys[6]] = []byte(strings.Replace(string(rows[keys[6]]), "Name <5>", "Name <6>", 1))
		}, "7"},
	} {
		e := newEvidence(t)
		e.events(6)
		e.daily()
		if got := e.Must(200, "GET", e.path+"/compliance/verify", ""); got.Fields["ok"] != true || got.Fields["complete"] != true || got.Fields["entries"] != json.Number("7") || got.Fields["checkpoints"] != json.Number("1") {
			t.Fatal(got.Body)
		}
		directory := e.Memory.Directory()
		keys := slices.Clone(directory.Keys("ch/"+e.id+"/", "ch/"+e.id+"0"))
		slices.Reverse(keys) // oldest first
		c.damage(directory.Rows, keys)
		got := e.Must(200, "GET", e.path+"/compliance/verify", "")
		broken, _ := got.Fields["broken"].(map[string]any)
		if got.Fields["ok"] != false || got.Fields["complete"] != false || broken == nil || fmt.Sprint(broken["seq"]) != c.seq || broken["object"] != "directory" {
			t.Errorf("%s: %s", name, got.Body)
		}
	}
}

// Verifying a long chain takes several requests. An export of a long chain has several pages and can be verified
// offline.
func TestLongChain(t *testing.T) {
	controltest.Quiet(t)
	e := newEvidence(t)
	const n = compliance.VerifyEntries + 150
	for range n {
		e.Audit(controltest.Boss, "key.update", e.id, "key_1", nil, nil)
	}
	e.daily()
	first := e.Must(200, "GET", e.path+"/compliance/verify", "")
	if first.Fields["ok"] != true || first.Fields["complete"] != false || first.Text("next") == "" {
		t.Fatal(first.Body)
	}
	rest := e.Must(200, "GET", e.path+"/compliance/verify?after="+first.Text("next"), "")
	if rest.Fields["ok"] != true || rest.Fields["complete"] != true || rest.Fields["entries"] != json.Number("151") {
		t.Error(rest.Body)
	}
	pages := e.export("type=audit&limit=500")
	if code, output := e.verified(pages, "-key", e.publicKey()); code != 0 || len(pages) != 5 {
		t.Errorf("%d pages: %s", len(pages), output)
	}
}
