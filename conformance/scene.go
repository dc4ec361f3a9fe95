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

// env NAME=VALUE…: sets variables of the deployment, which starts anew.
func (x *run) setEnv(s Step) error {
	for name, value := range s.Options {
		x.env[name] = value
	}
	return x.reset()
}

// redeploy NAME=VALUE…: sets variables of the gateway, which starts anew over what is stored. An empty value is
// that of a variable that is not set. The control plane keeps its own.
func (x *run) redeploy(s Step) error {
	for name, value := range s.Options {
		x.env[name] = x.expand(value)
	}
	return x.control("reset", map[string]any{"env": x.env, "nowMs": x.now.UnixMilli(), "keep": true})
}

// routing NAME=NUMBER…: sets numbers of the overlay's routing. The deployment starts anew.
func (x *run) setRouting(s Step) error {
	var overlay map[string]any
	if err := json.Unmarshal([]byte(Overlay()), &overlay); err != nil {
		return err
	}
	routing := overlay["routing"].(map[string]any)
	for name, value := range s.Options {
		if _, known := routing[name]; !known {
			return fmt.Errorf("routing has no %s", name)
		}
		routing[name] = json.RawMessage(value)
	}
	encoded, err := json.Marshal(overlay)
	x.env["POSTERN_CATALOG"] = string(encoded)
	return errors.Join(err, x.reset())
}

func (x *run) reset() error {
	return x.control("reset", map[string]any{"env": x.env, "nowMs": x.now.UnixMilli()})
}

// advance DURATION [inflight]: moves the clock; alarms ring on the way.
func (x *run) advance(s Step) error {
	d, err := time.ParseDuration(s.Args[0])
	if err != nil {
		return err
	}
	return x.moveClock(x.now.Add(d), s)
}

// clock TIME [inflight]: sets the clock, also back. TIME- is a millisecond before.
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

// fault [kv=down|frozen] [deliveries=down] [CLASS=down|overloaded|lost]…: what is not named works again.
func (x *run) fault(s Step) error {
	objects := map[string]string{"KeyMeter": "ok", "Ledger": "ok", "Directory": "ok"}
	body := map[string]any{"kv": "ok", "deliveries": "ok", "objects": objects}
	for name, value := range s.Options {
		if name == "kv" || name == "deliveries" {
			body[name] = value
			continue
		}
		objects[name] = value
	}
	return x.control("fault", body)
}

// adminCall calls the admin API; names like $demo.id keep what it answers.
func (x *run) adminCall(method, path, body string) (reply, error) {
	headers := map[string]string{"authorization": "Bearer " + AdminToken, "content-type": "application/json"}
	return x.do(request{method: method, path: path, headers: headers, body: body})
}

// project NAME [option=value…]: creates a project; $NAME is its id.
func (x *run) project(s Step) error {
	encoded, _ := json.Marshal(fieldsOf(s))
	got, err := x.adminCall("POST", "/api/admin/projects", string(encoded))
	if err != nil || got.status != 201 {
		return fmt.Errorf("%d %s %w", got.status, got.body, err)
	}
	x.names[s.Args[0]] = gjson.GetBytes(got.body, "id").String()
	return x.control("settle", nil)
}

// listFields are those that are lists: their options are separated by commas. limitFields are parts of "limits".
var (
	listFields  = []string{"models", "permissions"}
	limitFields = []string{"requestsPerSecond", "requestsPerDay", "tokensPerMinute"}
)

// fieldsOf is what the options of project and key say, as the body of a request.
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
		case name == "unbounded":
			body[name] = value == "true"
		default:
			body[name] = value
		}
	}
	return body
}

// key NAME PROJECT [option=value…]: creates a key; $NAME is its value, $NAME.id its id.
func (x *run) key(s Step) error {
	encoded, _ := json.Marshal(fieldsOf(s))
	got, err := x.adminCall("POST", "/api/admin/projects/"+x.names[s.Args[1]]+"/keys", string(encoded))
	if err != nil || got.status != 201 {
		return fmt.Errorf("%d %s %w", got.status, got.body, err)
	}
	x.names[s.Args[0]] = gjson.GetBytes(got.body, "value").String()
	x.names[s.Args[0]+".id"] = gjson.GetBytes(got.body, "id").String()
	return x.control("settle", nil)
}

// forge NAME [kind=project] [environment=development]: $NAME is a well-formed key that nobody made.
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

// admin METHOD PATH: a call of the admin API that must succeed; the block is its body.
func (x *run) admin(s Step) error {
	got, err := x.adminCall(s.Args[0], x.expand(s.Args[1]), x.expand(strings.Join(s.Lines, "\n")))
	if err != nil || got.status >= 300 {
		return fmt.Errorf("%d %s %w", got.status, got.body, err)
	}
	x.last = got
	return x.settled()
}

// upstream KIND [status=N] [family=NAME] [delay=MS] [chunks=N] [finish=WHY] [header.NAME=VALUE]… [times=N]
// [pad=N]: what the provider does with the next requests; the block is the body.
func (x *run) queueUpstream(s Step) error {
	b := Behavior{Kind: s.Args[0], Headers: map[string]string{}, Body: padded(s, strings.Join(s.Lines, "\n"))}
	times := 1
	numbers := map[string]*int{"status": &b.Status, "times": &times, "delay": &b.DelayMs, "chunks": &b.Chunks, "pad": new(int)}
	texts := map[string]*string{"family": &b.Family, "finish": &b.Finish}
	for name, value := range s.Options {
		header, isHeader := strings.CutPrefix(name, "header.")
		var err error
		switch {
		case isHeader:
			b.Headers[header] = strings.ReplaceAll(value, "_", " ")
		case numbers[name] != nil:
			*numbers[name], err = strconv.Atoi(value)
		case texts[name] != nil:
			*texts[name] = value
		default:
			err = fmt.Errorf("upstream has no option %s", name)
		}
		if err != nil {
			return err
		}
	}
	for range times {
		x.Upstream.Next(b)
	}
	return nil
}

// held N: waits until the upstream holds so many requests.
func (x *run) held(s Step) error {
	return x.await(s, func() (have int, what string) { return x.Upstream.Held(), "it holds %d" })
}

// asked N: waits until the upstream got so many requests.
func (x *run) asked(s Step) error {
	return x.await(s, func() (have int, what string) { return len(x.Upstream.Seen()), "it got %d" })
}

func (x *run) await(s Step, look func() (have int, what string)) error {
	want, err := strconv.Atoi(s.Args[0])
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

// release: the upstream answers what it holds.
func (x *run) release(Step) error {
	x.Upstream.Release()
	return nil
}

// Overlay is the routing of all conformance runs: real timers, but short.
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
