package conformance

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/host"
)

const (
	providerSecret = "sk-upstream-SWORDFISH-7f3a9c2e51"
	adminSecret    = "admin-token-MARLINSPIKE-55d0b8e6a4"
	promptSecret   = "PROMPT-quarterly-numbers"
	answerSecret   = "ANSWER-merger-next-week"
	viewerSecret   = "viewer-token-BELAYINGPIN-90c2f1aa37"
	masterSecret   = "dmF1bHQgbWFzdGVyIGtleTogU0VYVEFOVCAzMiBieXQ=" // 32 bytes
	ownSecret      = "sk-own-HALYARD-4e6b1d07c3"                    // a project's key for the provider
)

// operatorAddress is where the operator's calls come from. Strangers' wrong tokens lock out others.
const operatorAddress = "192.0.2.1"

var (
	asOwner  = []string{"Authorization", "Bearer " + adminSecret, "Content-Type", "application/json", "X-Forwarded-For", operatorAddress}
	asViewer = []string{"Authorization", "Bearer " + viewerSecret, "Content-Type", "application/json", "X-Forwarded-For", operatorAddress}
)

// forms are the ways in which a secret could be written: whole, any longer part of it, or encoded.
func forms(secret string) []string {
	random := secret
	if i := strings.LastIndex(secret[:min(len(secret), 9)], "_"); i > 0 {
		random = secret[i+1:] // what stands before is the same for all keys
	}
	all := []string{secret, hex.EncodeToString([]byte(random)), url.QueryEscape(secret)}
	for i := 0; i+12 <= len(random); i++ {
		all = append(all, random[i:i+12])
	}
	for shift := range 3 {
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			coded := encoding.EncodeToString([]byte(strings.Repeat("\x00", shift) + random))
			all = append(all, coded[4:min(len(coded)-2, 20)])
		}
	}
	return all
}

// watch looks at everything that leaves the core, and notes what must not be there.
type watch struct {
	host.Engine
	mu       sync.Mutex
	secrets  []string          // nowhere
	private  []string          // not in logs, headers, addresses and names
	caller   []string          // not to the provider
	provider []string          // only to the provider, in one header
	master   []string          // only to what unseals
	found    map[string]string // by where, one each
}

func (w *watch) add(list *[]string, secret string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*list = append(*list, forms(secret)...)
}

func (w *watch) look(where string, data []byte, lists ...[]string) {
	for _, list := range lists {
		for _, form := range list {
			if bytes.Contains(data, []byte(form)) {
				w.found[where] = fmt.Sprintf("%q in %.300q", form, data)
			}
		}
	}
}

// Step looks at the actions.
func (w *watch) Step(message []byte) ([]byte, error) {
	data, err := w.Engine.Step(message)
	if err != nil {
		return data, err
	}
	out, err := abi.DecodeStepOutput(data)
	if err != nil {
		return data, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.look("the isolate's blob", out.Shared, w.secrets, w.caller, w.provider, w.private, w.master)
	for i := range out.Actions {
		w.action(&out.Actions[i])
	}
	return data, err
}

func (w *watch) action(a *abi.Action) {
	where := fmt.Sprintf("action %d", a.Kind)
	if a.Kind != abi.ActionUnseal {
		w.look(where+"'s key", []byte(a.Key), w.master)
		w.look(where+"'s data", a.Data, w.master)
	}
	w.look(where+"'s key, name or address", []byte(a.Key+" "+a.Name+" "+a.URL), w.secrets, w.caller, w.provider, w.private)
	w.look(where+"'s name or address", []byte(a.Name+" "+a.URL), w.master)
	for _, h := range a.Headers {
		lists := [][]string{w.secrets, w.caller, w.private, w.master, w.provider}
		if a.Kind == abi.ActionFetch && h.Name == "authorization" {
			lists = lists[:4]
		}
		w.look(where+"'s header "+h.Name, []byte(h.Value), lists...)
	}
	for _, p := range a.Body {
		w.look(where+"'s body", p.Data, w.secrets, w.caller, w.provider, w.master)
	}
	w.look(where+"'s data", a.Data, w.secrets, w.caller, w.provider)
	if a.Kind == abi.ActionLog {
		w.look("the log", a.Data, w.private)
	}
}

// Apply looks at what objects store and reply.
func (w *watch) Apply(message []byte) ([]byte, error) {
	data, err := w.Engine.Apply(message)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.look("an object's rows or reply", data, w.secrets, w.caller, w.provider, w.master)
	return data, err
}

// vault is a deployment with secrets, under watch.
type vault struct {
	*site
	watch   *watch
	answer  func(http.ResponseWriter)
	sends   string   // the key that the provider has to be sent
	toThere []string // what the provider got, in one piece each
	told    []string // what the receiver of alerts got
	hook    *httptest.Server
}

func newVault(t *testing.T, makeEngine func(abi.Config) (host.Engine, error)) *vault {
	v := &vault{site: &site{t: t}, watch: &watch{found: map[string]string{}}, sends: providerSecret}
	v.provider = httptest.NewServer(http.HandlerFunc(v.serve))
	t.Cleanup(v.provider.Close)
	v.hook = httptest.NewServer(http.HandlerFunc(v.hear))
	t.Cleanup(v.hook.Close)
	var err error
	v.local, err = NewLocal(map[string]string{
		"OPENAI_BASE_URL": v.provider.URL + "/v1", "OPENAI_API_KEY": providerSecret, "POSTERN_ADMIN_TOKEN": adminSecret,
		"POSTERN_VIEWER_TOKEN": viewerSecret, "POSTERN_MASTER_KEYS": "first:" + masterSecret, "POSTERN_CATALOG": Overlay(),
		"POSTERN_PRIVATE_WEBHOOKS": "on",
	}, func(c abi.Config) (host.Engine, error) {
		engine, err := makeEngine(c)
		v.watch.Engine = engine
		return v.watch, err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.local.Server.Close)
	v.watch.add(&v.watch.provider, providerSecret)
	v.watch.add(&v.watch.provider, ownSecret)
	v.watch.add(&v.watch.secrets, adminSecret)
	v.watch.add(&v.watch.secrets, viewerSecret)
	v.watch.add(&v.watch.master, masterSecret)
	v.watch.private = append(v.watch.private, promptSecret, answerSecret)
	return v
}

func (v *vault) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if got := r.Header.Get("Authorization"); got != "Bearer "+v.sends {
		v.t.Errorf("the provider was sent the authorization %q", got)
	}
	r.Header.Del("Authorization")
	v.toThere = append(v.toThere, fmt.Sprint(r.URL, r.Header, string(body)))
	w.Header().Set("Content-Type", "application/json")
	v.answer(w)
}

// hear is the receiver of alerts.
func (v *vault) hear(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	v.watch.mu.Lock()
	defer v.watch.mu.Unlock()
	v.told = append(v.told, fmt.Sprint(r.URL, r.Header, string(body)))
}

// says makes the provider answer so from now on.
func (v *vault) says(status int, body string) {
	v.answer = func(w http.ResponseWriter) {
		w.Header().Set("X-Debug", providerSecret)
		w.Header().Set("Www-Authenticate", "Bearer "+providerSecret)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// call sends a request and looks at the answer.
func (v *vault) call(method, path, body string, headers ...string) string {
	v.t.Helper()
	_, answer := v.ask(method, path, body, headers...)
	return answer
}

func (v *vault) ask(method, path, body string, headers ...string) (http.Header, string) {
	v.t.Helper()
	request, err := http.NewRequest(method, v.local.Server.URL+path, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		v.t.Fatal(err)
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(response.Body)
	w := v.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	w.look("the headers of "+method+" "+path, []byte(fmt.Sprint(response.Header)), w.secrets, w.caller, w.provider, w.private, w.master)
	w.look("the answer to "+method+" "+path, answer, w.secrets, w.caller, w.provider, w.master)
	return response.Header, string(answer)
}

// newKey makes a key. Only this answer may hold it.
func (v *vault) newKey(project, body string) (id, value string) {
	answer := v.call("POST", "/api/admin/projects/"+project+"/keys", body, asOwner...)
	id, value = gjson.Get(answer, "id").String(), gjson.Get(answer, "value").String()
	if value == "" {
		v.t.Fatal(answer)
	}
	v.watch.add(&v.watch.caller, value)
	return id, value
}

// TestSecretsStayIn: I7. Keys, whole or in part or encoded, are in no log, error, header, stored value, name
// or address; prompts and answers in no log, header, name or address.
func TestSecretsStayIn(t *testing.T) {
	for name, makeEngine := range map[string]func(abi.Config) (host.Engine, error){"native": host.NewNative, "wasm": WasmEngine(panicModule)} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(panicModule); name == "wasm" && err != nil {
				t.Fatal("the module is not built: run ./build.sh panic")
			}
			var standard bytes.Buffer
			log.SetOutput(&standard)
			defer log.SetOutput(os.Stderr)
			v := newVault(t, makeEngine)
			v.story()
			v.local.host.Wait()
			v.local.objects.Wait()
			lines := v.local.Log.Take()
			if bytes.Count(lines, []byte("\n")) < 40 {
				t.Errorf("the log has only %d lines", bytes.Count(lines, []byte("\n")))
			}
			if len(v.toThere) < 20 {
				t.Errorf("the provider was asked only %d times", len(v.toThere))
			}
			if len(v.told) == 0 {
				t.Error("nobody was told of the budget")
			}
			w := v.watch
			w.look("the log", append(lines, standard.Bytes()...), w.secrets, w.caller, w.provider, w.private, w.master)
			w.look("what the provider got", []byte(strings.Join(v.toThere, "\n")), w.secrets, w.caller, w.provider, w.master)
			w.look("an alert", []byte(strings.Join(v.told, "\n")), w.secrets, w.caller, w.provider, w.private, w.master)
			for where, found := range v.watch.found {
				t.Errorf("%s: %s", where, found)
			}
		})
	}
}

// story is a day in the life of the secrets.
func (v *vault) story() {
	admin := asOwner
	project := gjson.Get(v.call("POST", "/api/admin/projects", `{"name":"vault","plan":"unlimited"}`, admin...), "id").String()
	id, live := v.newKey(project, `{"name":"live"}`)
	_, test := v.newKey(project, `{"name":"test","environment":"development"}`)
	_, other := v.newKey(project, `{"name":"project","kind":"project"}`)
	v.requests(project, live, test, other)
	v.providers(live)
	v.signedIn(project, live)
	v.ownKey(project, live)
	v.alerts(project, live)
	v.faults(live, test)
	for _, path := range []string{"", "/" + id + "/deactivate", "/" + id + "/reactivate", "/" + id + "/nothing"} {
		v.call("POST", "/api/admin/projects/"+project+"/keys"+path, `{"name":3}`, admin...)
	}
	v.call("GET", "/api/admin/projects/"+project+"/keys", "", admin...)
	v.call("GET", "/api/admin/projects", "", admin...)
	for _, path := range []string{"/audit", "/catalog", "/providers", "/projects/" + project + "/requests", "/projects/" + project + "/usage?by=all&format=csv"} {
		if answer := v.call("GET", "/api/admin"+path, "", asViewer...); strings.Contains(answer, `"error"`) {
			v.t.Errorf("%s: %s", path, answer)
		}
	}
	v.call("GET", "/api/admin/projects", "", "Authorization", "Bearer "+adminSecret[:len(adminSecret)-1])
	v.call("GET", "/api/admin/projects?token="+adminSecret, "", "Authorization", "Basic "+adminSecret)
	v.call("DELETE", "/api/admin/projects/"+project+"/keys/"+id, "", admin...)
	v.complete(live, promptBody(""))
}

func promptBody(more string) string {
	return `{"messages":[{"role":"user","content":"` + promptSecret + `"}],"quality":"cheap"` + more + `}`
}

func (v *vault) complete(key, body string, headers ...string) string {
	return v.call("POST", "/api/ai/complete", body, append([]string{"X-Api-Key", key, "Content-Type", "application/json"}, headers...)...)
}

// good is an answer that holds what must not be logged.
func good(text string) string {
	return `{"id":"` + answerSecret + `","choices":[{"message":{"content":"` + text + `"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`
}

// requests are right ones, and those that carry a key where it does not belong.
func (v *vault) requests(project, live, test, other string) {
	v.says(200, good(answerSecret))
	for _, key := range []string{live, test, other, live[:len(live)-1], live + "x", strings.ToUpper(live)} {
		v.complete(key, promptBody(""))
		v.complete(key, promptBody(`,"maxTokens":0`))
		v.complete(key, `{"messages":"`+promptSecret+`"`)
		v.call("GET", "/api/usage?projectId="+project, "", "Authorization", "Bearer "+key)
		v.call("GET", "/api/health", "", "X-Api-Key", key)
		v.call("GET", "/api/health?key="+key, "")
		v.call("GET", "/api/usage?projectId="+key, "", "X-Api-Key", key)
		v.call("GET", "/"+key, "")
		v.call("GET", "/api/admin/projects/"+key, "", "Authorization", "Bearer "+key)
		v.call("POST", "/api/ai/complete", promptBody(""), "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("user:"+key)))
	}
	for _, header := range []string{"Idempotency-Key", "Cache-Control", "X-Request-Id", "X-Forwarded-For", "X-Postern-Address", "User-Agent", "Cookie", "Content-Type"} {
		v.complete(live, promptBody(""), header, live)
		v.complete(test, promptBody(""), header, test)
	}
	v.complete(live, promptBody(`,"`+live+`":1,"quality":"`+live+`"`))
	v.complete(live, promptBody(`,"mode":"`+live+`","temperature":"`+live+`"`))
	v.complete(live, `{"messages":[{"role":"`+live+`","content":"x"}]}`)
	v.complete(live, promptBody(""), "Idempotency-Key", "once")
	v.complete(live, promptBody(""), "Idempotency-Key", "once")
}

// providers tell the provider's key in every way that providers do.
func (v *vault) providers(live string) {
	leak := `{"error":{"message":"Incorrect API key provided: ` + providerSecret + `.","code":"` + answerSecret + `"}}`
	for _, status := range []int{301, 400, 401, 403, 404, 413, 422, 429, 500, 503} {
		v.says(status, leak)
		v.complete(live, promptBody(`,"temperature":1`))
		v.local.host.Evict()
	}
	for _, body := range []string{leak, `{"choices":[{"message":{"content":["` + providerSecret + `"]}}]}`, providerSecret, good(answerSecret)[:50]} {
		v.says(200, body)
		v.complete(live, promptBody(`,"temperature":1`))
		v.local.host.Evict()
	}
	v.says(200, good("not JSON, but "+answerSecret))
	v.complete(live, promptBody(`,"mode":"json"`))
	v.answer = func(w http.ResponseWriter) { panic(http.ErrAbortHandler) }
	v.complete(live, promptBody(`,"temperature":1`))
	v.local.host.Evict()
	v.says(200, good(answerSecret))
}

// signedIn are sessions: right ones, and cookies and tokens where they do not belong.
func (v *vault) signedIn(project, live string) {
	for _, token := range []string{adminSecret, viewerSecret} {
		header, _ := v.ask("POST", "/api/admin/session", `{"token":"`+token+`"}`, "Content-Type", "application/json", "X-Forwarded-For", operatorAddress)
		cookie, _, _ := strings.Cut(strings.TrimPrefix(header.Get("Set-Cookie"), "postern_session="), ";")
		if len(cookie) < 40 {
			v.t.Fatalf("signing in gave the cookie %q", cookie)
		}
		_, signature, _ := strings.Cut(cookie, ".") // what is before is no secret
		v.watch.add(&v.watch.secrets, signature)
		for _, sent := range []string{"postern_session=" + cookie, "postern_session=" + cookie[1:], "postern_session=" + cookie + cookie} {
			v.call("GET", "/api/admin/session", "", "Cookie", sent)
			v.call("PATCH", "/api/admin/projects/"+project, `{"name":"`+cookie+`"}`, "Cookie", sent, "Origin", "https://elsewhere.example")
			v.call("DELETE", "/api/admin/session", "", "Cookie", sent, "Sec-Fetch-Site", "same-origin")
			v.call("GET", "/api/health", "", "Cookie", sent, "X-Api-Key", live)
		}
		v.call("GET", "/api/admin/projects?cookie="+cookie+"&token="+token, "", asViewer...)
		v.call("GET", "/api/admin/session/"+cookie, "", "X-Forwarded-For", "192.0.2.2")
		v.call("POST", "/api/admin/session", `{"token":"`+token+`x","role":"`+token+`"}`, "Content-Type", "application/json", "X-Forwarded-For", "192.0.2.2")
		v.call("POST", "/api/admin/session", `{"token":"`+token+`x"}`, "Content-Type", "application/json", "X-Forwarded-For", "192.0.2.2")
		v.call("GET", "/api/health", "", "X-Api-Key", token)
	}
}

// ownKey is the project's own key for the provider, used and misused.
func (v *vault) ownKey(project, live string) {
	path := "/api/admin/projects/" + project + "/provider-keys/"
	if answer := v.call("PUT", path+"openai", `{"key":"`+ownSecret+`"}`, asOwner...); !strings.Contains(answer, ownSecret[len(ownSecret)-4:]) {
		v.t.Fatal(answer)
	}
	v.sends = ownSecret
	v.says(200, good(answerSecret))
	v.complete(live, promptBody(`,"temperature":0.1`))
	leak := `{"error":{"message":"Incorrect API key provided: ` + ownSecret + `."}}`
	for _, status := range []int{200, 400, 401, 403, 429, 500} {
		v.says(status, leak)
		v.complete(live, promptBody(`,"temperature":0.2`))
		v.call("POST", "/v1/chat/completions", `{"model":"only","messages":[{"role":"user","content":"`+promptSecret+`"}]}`, "X-Api-Key", live, "Content-Type", "application/json")
		v.local.host.Evict()
	}
	v.says(200, good(answerSecret))
	for _, body := range []string{`{"key":"` + ownSecret + ` "}`, `{"provider":"` + ownSecret + `"}`, `{"key":["` + ownSecret + `"]}`, `"` + ownSecret + `"`} {
		v.call("PUT", path+"openai", body, asOwner...)
		v.call("PUT", path+"nobody", body, asOwner...)
	}
	v.call("GET", path[:len(path)-1], "", asViewer...)
	v.call("PUT", path+"openai", `{"key":"`+ownSecret+`"}`, asViewer...)
	v.call("DELETE", path+"openai", "", asOwner...)
	v.sends = providerSecret
}

// alerts are told to a receiver, under a secret that one answer shows.
func (v *vault) alerts(project, live string) {
	path := "/api/admin/projects/" + project
	answer := v.call("PATCH", path, `{"alerts":{"url":"`+v.hook.URL+`/hook"}}`, asOwner...)
	secret := gjson.Get(answer, "alerts.secret").String()
	if !strings.HasPrefix(secret, "whsec_") {
		v.t.Fatal(answer)
	}
	v.watch.add(&v.watch.secrets, secret)
	v.call("PATCH", path, `{"budget":0.000001}`, asOwner...)
	v.call("GET", "/api/usage?projectId="+project, "", "X-Api-Key", live)
	v.local.objects.Wait()
	v.call("GET", path, "", asViewer...)
	v.call("PATCH", path, `{"budget":1000}`, asOwner...)
}

// faults are those of our own parts.
func (v *vault) faults(live, test string) {
	for _, f := range []faults{
		{KV: "down"}, {Deliveries: "down"}, {Objects: map[string]string{"KeyMeter": "down"}}, {Objects: map[string]string{"Ledger": "overloaded"}},
		{Objects: map[string]string{"Directory": "down", "Ledger": "down"}},
	} {
		v.local.host.Wait()
		v.local.setFaults(f)
		v.local.host.Evict()
		v.complete(live, promptBody(`,"temperature":2`))
		v.complete(test, promptBody(`,"temperature":2`))
		v.call("GET", "/api/admin/projects", "", asOwner...)
	}
	v.local.host.Wait()
	v.local.setFaults(faults{})
	if w, ok := v.watch.Engine.(*host.Wasm); ok {
		if err := w.ArmPanic(); err != nil {
			v.t.Error(err)
		}
		v.complete(live, promptBody(""))
	}
}

// TestFormsAreFound keeps the watch itself honest.
func TestFormsAreFound(t *testing.T) {
	key := "sk_live_0123456789abcdefghijklmnopqrs"
	for _, leak := range []string{
		key, key[:22], key[15:], "user=" + base64.StdEncoding.EncodeToString([]byte(key[8:])), base64.URLEncoding.EncodeToString([]byte(key)),
		base64.StdEncoding.EncodeToString([]byte("x:" + key)), hex.EncodeToString([]byte(key)),
	} {
		w := &watch{found: map[string]string{}}
		w.look("here", []byte("before "+leak+" after"), forms(key))
		if len(w.found) == 0 {
			t.Errorf("%q was not found", leak)
		}
	}
	w := &watch{found: map[string]string{}}
	if w.look("here", []byte(`"prefix":"sk_live_","last4":"pqrs"`), forms(key)); len(w.found) > 0 {
		t.Errorf("%v", w.found)
	}
}
