package conformance

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/keys"
)

// setEnv runs "env NAME=VALUE…": it sets variables of the deployment and restarts it.
func (x *run) setEnv(s Step) error {
	for name, value := range s.Options {
		x.env[name] = value
	}
	return x.reset()
}

// redeploy runs "redeploy NAME=VALUE…": it sets variables of the gateway and restarts it with its stored data. An
// empty value unsets a variable. The control plane keeps its own variables.
func (x *run) redeploy(s Step) error {
	for name, value := range s.Options {
		x.env[name] = x.expand(value)
	}
	return x.restart(map[string]any{"env": x.env, "nowMs": x.now.UnixMilli(), "keep": true})
}

// setRouting runs "routing NAME=NUMBER…": it sets numbers of the overlay's routing and restarts the deployment.
func (x *run) setRouting(s Step) error {
	var overlay map[string]any
	if err := json.Unmarshal([]byte(Overlay()), &overlay); err != nil {
		return err
	}
	routing := overlay["routing"].(map[string]any)
	for name, value := range s.Options {
		if _, known := routing[name]; !known {
			return fmt.Errorf("unknown routing field %q", name)
		}
		routing[name] = json.RawMessage(value)
	}
	encoded, err := json.Marshal(overlay)
	x.env["POSTERN_CATALOG"] = string(encoded)
	return errors.Join(err, x.reset())
}

func (x *run) reset() error {
	return x.restart(map[string]any{"env": x.env, "nowMs": x.now.UnixMilli()})
}

// rememberGroups notes the groups of a scenario that may stay in a Directory that the next scenario uses.
func (x *run) rememberGroups() {
	for _, id := range x.names {
		if x.Workerd && strings.HasPrefix(id, "grp_") {
			x.groups = append(x.groups, id)
		}
	}
}

// renameGroups gives the groups of earlier scenarios names that no scenario uses, because siblings have different names.
func (x *run) renameGroups() error {
	for _, id := range x.groups {
		got, err := x.adminCall("PATCH", "/api/admin/groups/"+id, `{"name":"`+id+`"}`)
		if err != nil || got.status != 200 && got.status != 404 {
			return fmt.Errorf("the group of an earlier scenario: %d %s %w", got.status, got.body, err)
		}
	}
	x.groups = nil
	return x.settled()
}

// restart replaces the server, which closes the client's idle connections.
func (x *run) restart(options map[string]any) error {
	defer x.Client.CloseIdleConnections()
	return x.control("reset", options)
}

// advance runs "advance DURATION [inflight]": it moves the clock and fires the alarms that become due.
func (x *run) advance(s Step) error {
	d, err := time.ParseDuration(s.Args[0])
	if err != nil {
		return err
	}
	return x.moveClock(x.now.Add(d), s)
}

// setClock runs "clock TIME [inflight]": it sets the clock, forward or back. "TIME-" is one millisecond earlier.
func (x *run) setClock(s Step) error {
	text, before := strings.CutSuffix(x.expand(s.Args[0]), "-")
	at, err := time.Parse(time.RFC3339, text)
	if before {
		at = at.Add(-time.Millisecond)
	}
	if err != nil {
		return err
	}
	return x.moveClock(at, s)
}

func (x *run) moveClock(to time.Time, s Step) error {
	x.now = to
	inFlight := len(s.Args) > 1 && s.Args[1] == "inflight"
	return x.control("clock", map[string]any{"nowMs": to.UnixMilli(), "inFlight": inFlight})
}

// fault runs "fault [kv=down|frozen] [colo=on|down] [deliveries=down] [CLASS=down|overloaded|slow|lost]…". Every part
// that is not named works again.
func (x *run) fault(s Step) error {
	objects := map[string]string{"KeyMeter": "ok", "Ledger": "ok", "Directory": "ok"}
	body := map[string]any{"kv": "ok", "colo": "off", "deliveries": "ok", "objects": objects}
	for name, value := range s.Options {
		if name == "kv" || name == "colo" || name == "deliveries" {
			body[name] = value
			continue
		}
		objects[name] = value
	}
	return x.control("fault", body)
}

// adminCall calls the admin API as the owner.
func (x *run) adminCall(method, path, body string) (reply, error) {
	headers := map[string]string{"authorization": "Bearer " + AdminToken, "content-type": "application/json"}
	return x.do(request{method: method, path: path, headers: headers, body: body})
}

// project runs "project NAME [option=value…]": it creates a project and stores its ID as $NAME.
func (x *run) project(s Step) error {
	encoded, _ := json.Marshal(fieldsOf(s))
	got, err := x.adminCall("POST", "/api/admin/projects", x.expand(string(encoded)))
	if err != nil || got.status != 201 {
		return fmt.Errorf("%d %s %w", got.status, got.body, err)
	}
	x.names[s.Args[0]] = gjson.GetBytes(got.body, "id").String()
	return x.control("settle", nil)
}

// listFields have comma-separated lists as options. limitFields are fields of "limits".
var (
	listFields  = []string{"models", "permissions"}
	limitFields = []string{"requestsPerSecond", "requestsPerDay", "tokensPerMinute"}
)

// fieldsOf converts the options of project and key to a request body.
func fieldsOf(s Step) map[string]any {
	body, limits := map[string]any{"name": s.Args[0]}, map[string]any{}
	for name, value := range s.Options {
		n, err := strconv.ParseFloat(value, 64)
		switch {
		case slices.Contains(limitFields, name):
			limits[name], body["limits"] = n, limits
		case slices.Contains(listFields, name):
			body[name] = strings.Split(value, ",")
		case err == nil:
			body[name] = n
		case name == "unbounded" || name == "recordProviderErrors":
			body[name] = value == "true"
		default:
			body[name] = value
		}
	}
	return body
}

// key runs "key NAME PROJECT [option=value…]": it creates a key and stores its value as $NAME and its ID as $NAME.id.
func (x *run) key(s Step) error {
	encoded, _ := json.Marshal(fieldsOf(s))
	got, err := x.adminCall("POST", "/api/admin/projects/"+x.names[s.Args[1]]+"/keys", string(encoded))
	if err != nil || got.status != 201 {
		return fmt.Errorf("%d %s %w", got.status, got.body, err)
	}
	x.names[s.Args[0]] = gjson.GetBytes(got.body, "value").String()
	x.names[s.Args[0]+".id"] = gjson.GetBytes(got.body, "id").String()
	x.names[s.Args[0]+".hash"] = keys.Hash(x.names[s.Args[0]])
	return x.control("settle", nil)
}

// forge runs "forge NAME [kind=project] [environment=development]": it stores a well-formed key that does not exist as
// $NAME.
func (x *run) forge(s Step) error {
	kind, environment := keys.Gateway, keys.Production
	if s.Options["kind"] == "project" {
		kind = keys.Project
	}
	if s.Options["environment"] == "development" {
		environment = keys.Development
	}
	x.names[s.Args[0]] = forgedKey(kind, environment)
	return nil
}

func forgedKey(kind keys.Kind, environment keys.Environment) string {
	var random [keys.RandomBytes]byte
	_, _ = rand.Read(random[:])
	return keys.New(kind, environment, random)
}

// admin runs "admin METHOD PATH": it calls the admin API, and the call must succeed. The block is the request's body.
func (x *run) admin(s Step) error {
	got, err := x.adminCall(s.Args[0], x.expand(s.Args[1]), x.expand(strings.Join(s.Lines, "\n")))
	if err != nil || got.status >= 300 {
		return fmt.Errorf("%d %s %w", got.status, got.body, err)
	}
	x.last = got
	return x.settled()
}

// queueUpstream runs "upstream KIND [status=N] [family=NAME] [delay=MS] [chunks=N] [pause=yes]
// [finish=REASON] [header.NAME=VALUE]… [times=N] [pad=N]": it sets the behavior for the next requests. The block is the body.
func (x *run) queueUpstream(s Step) error {
	b := Behavior{Kind: s.Args[0], Headers: map[string]string{}, Body: padded(s, strings.Join(s.Lines, "\n"))}
	times, kind := 1, ""
	numbers := map[string]*int{"status": &b.Status, "times": &times, "delay": &b.DelayMs, "chunks": &b.Chunks, "pad": new(int)}
	texts := map[string]*string{"family": &b.Family, "finish": &b.Finish, "kind": &kind}
	for name, value := range s.Options {
		header, isHeader := strings.CutPrefix(name, "header.")
		var err error
		switch {
		case isHeader:
			b.Headers[header] = strings.ReplaceAll(value, "_", " ")
		case name == "pause":
			b.Pause = true
		case numbers[name] != nil:
			*numbers[name], err = strconv.Atoi(value)
		case texts[name] != nil:
			*texts[name] = value
		default:
			err = fmt.Errorf("unknown upstream option %q", name)
		}
		if err != nil {
			return err
		}
	}
	if b.Kind == "says" {
		b.Text, b.Body = b.Body, ""
		if b.Kind = kind; kind == "" {
			b.Kind = "answer"
		}
	}
	for range times {
		x.Upstream.Next(b)
	}
	return nil
}

// held runs "held N": it waits until the upstream holds N requests.
func (x *run) held(s Step) error {
	return x.await(s.Args[0], func() (have int, what string) { return x.Upstream.Held(), "the upstream holds %d requests" })
}

// asked runs "asked N": it waits until the upstream has received N requests.
func (x *run) asked(s Step) error {
	return x.await(s.Args[0], func() (have int, what string) { return len(x.Upstream.Seen()), "the upstream received %d requests" })
}

func (x *run) await(count string, look func() (have int, what string)) error {
	want, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	end := time.Now().Add(20 * time.Second)
	for have, what := look(); have != want; have, what = look() {
		if time.Now().After(end) {
			return fmt.Errorf(what, have)
		}
		time.Sleep(2 * time.Millisecond)
	}
	return nil
}

// release runs "release": the upstream responds to the requests that it holds.
func (x *run) release(Step) error {
	x.Upstream.Release()
	return nil
}

// Overlay returns the catalog overlay of all conformance runs, with real but short timeouts.
func Overlay() string {
	text, err := os.ReadFile("testdata/conformance/overlay.json")
	if err != nil {
		text, err = os.ReadFile("../testdata/conformance/overlay.json")
	}
	if err != nil {
		panic(err)
	}
	return string(text)
}
