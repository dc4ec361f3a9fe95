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
	providerSecret   = "sk-upstream-SWORDFISH-7f3a9c2e51"
	adminSecret      = "admin-token-MARLINSPIKE-55d0b8e6a4"
	promptSecret     = "PROMPT-quarterly-numbers"
	answerSecret     = "ANSWER-merger-next-week"
	viewerSecret     = "viewer-token-BELAYINGPIN-90c2f1aa37"
	masterSecret     = "dmF1bHQgbWFzdGVyIGtleTogU0VYVEFOVCAzMiBieXQ=" // 32 bytes
	projectKeySecret = "sk-own-HALYARD-4e6b1d07c3"                    // a project's provider key
)

// operatorAddress is the operator's client address. Invalid tokens come from other addresses, which get locked out.
const operatorAddress = "192.0.2.1"

var (
	asOwner  = []string{"Authorization", "Bearer " + adminSecret, "Content-Type", "application/json", "X-Forwarded-For", operatorAddress}
	asViewer = []string{"Authorization", "Bearer " + viewerSecret, "Content-Type", "application/json", "X-Forwarded-For", operatorAddress}
)

// forms returns the ways a secret can be written: in full, any 12 characters of it, or encoded.
func forms(secret string) []string {
	random := secret
	if i := strings.LastIndex(secret[:min(len(secret), 9)], "_"); i > 0 {
		random = secret[i+1:] // the prefix is not secret
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

// leakDetector searches all output of the core for secrets.
type leakDetector struct {
	host.Engine
	mu       sync.Mutex
	secrets  []string          // allowed nowhere
	private  []string          // not allowed in logs, headers, URLs and names
	caller   []string          // not sent to the provider
	provider []string          // sent only to the provider, in one header
	master   []string          // allowed only in unseal actions
	found    map[string]string // one finding for each place
}

func (w *leakDetector) add(list *[]string, secret string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*list = append(*list, forms(secret)...)
}

func (w *leakDetector) search(where string, data []byte, lists ...[]string) {
	for _, list := range lists {
		for _, form := range list {
			if bytes.Contains(data, []byte(form)) {
				w.found[where] = fmt.Sprintf("%q in %.300q", form, data)
			}
		}
	}
}

// Step searches the actions of a step.
func (w *leakDetector) Step(message []byte) ([]byte, error) {
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
	w.search("the shared state", out.Shared, w.secrets, w.caller, w.provider, w.private, w.master)
	for i := range out.Actions {
		w.action(&out.Actions[i])
	}
	return data, err
}

func (w *leakDetector) action(a *abi.Action) {
	where := fmt.Sprintf("action %d", a.Kind)
	if a.Kind != abi.ActionUnseal {
		w.search(where+"'s key", []byte(a.Key), w.master)
		w.search(where+"'s data", a.Data, w.master)
	}
	w.search(where+"'s key, name or URL", []byte(a.Key+" "+a.Name+" "+a.URL), w.secrets, w.caller, w.provider, w.private)
	w.search(where+"'s name or URL", []byte(a.Name+" "+a.URL), w.master)
	for _, h := range a.Headers {
		lists := [][]string{w.secrets, w.caller, w.private, w.master, w.provider}
		if a.Kind == abi.ActionFetch && h.Name == "authorization" {
			lists = lists[:4]
		}
		w.search(where+"'s header "+h.Name, []byte(h.Value), lists...)
	}
	for _, p := range a.Body {
		w.search(where+"'s body", p.Data, w.secrets, w.caller, w.provider, w.master)
	}
	w.search(where+"'s data", a.Data, w.secrets, w.caller, w.provider)
	if a.Kind == abi.ActionLog {
		w.search("the log", a.Data, w.private)
	}
}

// Apply searches the rows and replies of objects.
func (w *leakDetector) Apply(message []byte) ([]byte, error) {
	data, err := w.Engine.Apply(message)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.search("an object's rows or reply", data, w.secrets, w.caller, w.provider, w.master)
	return data, err
}

// secretSite is a deployment for which a leakDetector watches all secrets.
type secretSite struct {
	*site
	detector     *leakDetector
	answer       func(http.ResponseWriter)
	wantKey      string   // the key that the provider expects
	requestsSeen []string // requests to the provider, without the key
	alertsSeen   []string // alerts sent to the webhook
	hook         *httptest.Server
}

func newSecretSite(t *testing.T, makeEngine func(abi.Config) (host.Engine, error)) *secretSite {
	v := &secretSite{site: &site{t: t}, detector: &leakDetector{found: map[string]string{}}, wantKey: providerSecret}
	v.provider = httptest.NewServer(http.HandlerFunc(v.serve))
	t.Cleanup(v.provider.Close)
	v.hook = httptest.NewServer(http.HandlerFunc(v.receiveAlert))
	t.Cleanup(v.hook.Close)
	var err error
	v.local, err = NewLocal(map[string]string{
		"OPENAI_BASE_URL": v.provider.URL + "/v1", "OPENAI_API_KEY": providerSecret, "POSTERN_ADMIN_TOKEN": adminSecret,
		"POSTERN_VIEWER_TOKEN": viewerSecret, "POSTERN_MASTER_KEYS": "first:" + masterSecret, "POSTERN_CATALOG": Overlay(),
		"POSTERN_PRIVATE_WEBHOOKS": "on",
	}, func(c abi.Config) (host.Engine, error) {
		engine, err := makeEngine(c)
		v.detector.Engine = engine
		return v.detector, err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.local.Close)
	v.detector.add(&v.detector.provider, providerSecret)
	v.detector.add(&v.detector.provider, projectKeySecret)
	v.detector.add(&v.detector.secrets, adminSecret)
	v.detector.add(&v.detector.secrets, viewerSecret)
	v.detector.add(&v.detector.master, masterSecret)
	v.detector.private = append(v.detector.private, promptSecret, answerSecret)
	return v
}

func (v *secretSite) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if got := r.Header.Get("Authorization"); got != "Bearer "+v.wantKey {
		v.t.Errorf("the provider got the authorization %q", got)
	}
	r.Header.Del("Authorization")
	v.requestsSeen = append(v.requestsSeen, fmt.Sprint(r.URL, r.Header, string(body)))
	w.Header().Set("Content-Type", "application/json")
	v.answer(w)
}

// receiveAlert handles the webhook that receives alerts.
func (v *secretSite) receiveAlert(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	v.detector.mu.Lock()
	defer v.detector.mu.Unlock()
	v.alertsSeen = append(v.alertsSeen, fmt.Sprint(r.URL, r.Header, string(body)))
}

// respondWith sets the provider's response from now on.
func (v *secretSite) respondWith(status int, body string) {
	v.answer = func(w http.ResponseWriter) {
		w.Header().Set("X-Debug", providerSecret)
		w.Header().Set("Www-Authenticate", "Bearer "+providerSecret)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// call sends a request and searches the response.
func (v *secretSite) call(method, path, body string, headers ...string) string {
	v.t.Helper()
	_, answer := v.ask(method, path, body, headers...)
	return answer
}

func (v *secretSite) ask(method, path, body string, headers ...string) (http.Header, string) {
	v.t.Helper()
	request, err := http.NewRequest(method, v.local.URL+path, strings.NewReader(body))
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
	w := v.detector
	w.mu.Lock()
	defer w.mu.Unlock()
	w.search("the headers of "+method+" "+path, []byte(fmt.Sprint(response.Header)), w.secrets, w.caller, w.provider, w.private, w.master)
	w.search("the response to "+method+" "+path, answer, w.secrets, w.caller, w.provider, w.master)
	return response.Header, string(answer)
}

// newKey creates a key. Only this response may contain its value.
func (v *secretSite) newKey(project, body string) (id, value string) {
	answer := v.call("POST", "/api/admin/projects/"+project+"/keys", body, asOwner...)
	id, value = gjson.Get(answer, "id").String(), gjson.Get(answer, "value").String()
	if value == "" {
		v.t.Fatal(answer)
	}
	v.detector.add(&v.detector.caller, value)
	return id, value
}

// TestSecretsDoNotLeak checks I7. Keys, in full, in part or encoded, do not appear in any log, error, header, stored
// value, name or URL. Prompts and completions do not appear in any log, header, name or URL.
func TestSecretsDoNotLeak(t *testing.T) {
	t.Parallel()
	for name, makeEngine := range map[string]func(abi.Config) (host.Engine, error){"native": host.NewNative, "wasm": WasmEngine(panicModule)} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(panicModule); name == "wasm" && err != nil {
				t.Fatal("the module is not built: run ./build.sh panic")
			}
			var standard bytes.Buffer
			log.SetOutput(&standard)
			defer log.SetOutput(os.Stderr)
			v := newSecretSite(t, makeEngine)
			v.useSecrets()
			v.local.host.Wait()
			v.local.objects.Wait()
			lines := v.local.Log.Take()
			if bytes.Count(lines, []byte("\n")) < 40 {
				t.Errorf("the log has only %d lines", bytes.Count(lines, []byte("\n")))
			}
			if len(v.requestsSeen) < 20 {
				t.Errorf("the provider got only %d requests", len(v.requestsSeen))
			}
			if len(v.alertsSeen) == 0 {
				t.Error("no budget alert was sent")
			}
			w := v.detector
			w.search("the log", append(lines, standard.Bytes()...), w.secrets, w.caller, w.provider, w.private, w.master)
			w.search("a request to the provider", []byte(strings.Join(v.requestsSeen, "\n")), w.secrets, w.caller, w.provider, w.master)
			w.search("an alert", []byte(strings.Join(v.alertsSeen, "\n")), w.secrets, w.caller, w.provider, w.private, w.master)
			for where, found := range v.detector.found {
				t.Errorf("%s: %s", where, found)
			}
		})
	}
}

func (v *secretSite) useSecrets() {
	admin := asOwner
	project := gjson.Get(v.call("POST", "/api/admin/projects", `{"name":"secrets","plan":"unlimited"}`, admin...), "id").String()
	id, live := v.newKey(project, `{"name":"live"}`)
	_, test := v.newKey(project, `{"name":"test","environment":"development"}`)
	_, other := v.newKey(project, `{"name":"project","kind":"project"}`)
	v.requests(project, live, test, other)
	v.providers(live)
	v.sessions(project, live)
	v.projectKey(project, live)
	v.alerts(project, live)
	v.faults(live, test)
	for _, path := range []string{"", "/" + id + "/deactivate", "/" + id + "/reactivate", "/" + id + "/nothing"} {
		v.call("POST", "/api/admin/projects/"+project+"/keys"+path, `{"name":3}`, admin...)
	}
	v.call("GET", "/api/admin/projects/"+project+"/keys", "", admin...)
	v.call("GET", "/api/admin/projects", "", admin...)
	for _, path := range []string{"/audit", "/catalog", "/providers", "/projects/" + project + "/requests", "/projects/" + project + "/usage?by=all&format=csv", "/projects/" + project + "/costs"} {
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

func (v *secretSite) complete(key, body string, headers ...string) string {
	return v.call("POST", "/api/ai/complete", body, append([]string{"X-Api-Key", key, "Content-Type", "application/json"}, headers...)...)
}

// good returns a completion whose text must not be logged.
func good(text string) string {
	return `{"id":"` + answerSecret + `","choices":[{"message":{"content":"` + text + `"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`
}

// requests sends valid requests, and requests with keys in the wrong places.
func (v *secretSite) requests(project, live, test, other string) {
	v.respondWith(200, good(answerSecret))
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

// providers makes the provider return its own key in many places.
func (v *secretSite) providers(live string) {
	leak := `{"error":{"message":"Incorrect API key provided: ` + providerSecret + `.","code":"` + answerSecret + `"}}`
	for _, status := range []int{301, 400, 401, 403, 404, 413, 422, 429, 500, 503} {
		v.respondWith(status, leak)
		v.complete(live, promptBody(`,"temperature":1`))
		v.local.host.Evict()
	}
	for _, body := range []string{leak, `{"choices":[{"message":{"content":["` + providerSecret + `"]}}]}`, providerSecret, good(answerSecret)[:50]} {
		v.respondWith(200, body)
		v.complete(live, promptBody(`,"temperature":1`))
		v.local.host.Evict()
	}
	v.respondWith(200, good("not JSON, but "+answerSecret))
	v.complete(live, promptBody(`,"mode":"json"`))
	v.answer = func(w http.ResponseWriter) { panic(http.ErrAbortHandler) }
	v.complete(live, promptBody(`,"temperature":1`))
	v.local.host.Evict()
	v.respondWith(200, good(answerSecret))
}

// sessions uses sessions, and sends cookies and tokens in the wrong places.
func (v *secretSite) sessions(project, live string) {
	for _, token := range []string{adminSecret, viewerSecret} {
		header, _ := v.ask("POST", "/api/admin/session", `{"token":"`+token+`"}`, "Content-Type", "application/json", "X-Forwarded-For", operatorAddress)
		cookie, _, _ := strings.Cut(strings.TrimPrefix(header.Get("Set-Cookie"), "postern_session="), ";")
		if len(cookie) < 40 {
			v.t.Fatalf("sign-in returned the cookie %q", cookie)
		}
		_, signature, _ := strings.Cut(cookie, ".") // only the signature is secret
		v.detector.add(&v.detector.secrets, signature)
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

// projectKey uses and misuses a project's provider key.
func (v *secretSite) projectKey(project, live string) {
	path := "/api/admin/projects/" + project + "/provider-keys/"
	if answer := v.call("PUT", path+"openai", `{"key":"`+projectKeySecret+`"}`, asOwner...); !strings.Contains(answer, projectKeySecret[len(projectKeySecret)-4:]) {
		v.t.Fatal(answer)
	}
	v.wantKey = projectKeySecret
	v.respondWith(200, good(answerSecret))
	v.complete(live, promptBody(`,"temperature":0.1`))
	leak := `{"error":{"message":"Incorrect API key provided: ` + projectKeySecret + `."}}`
	for _, status := range []int{200, 400, 401, 403, 429, 500} {
		v.respondWith(status, leak)
		v.complete(live, promptBody(`,"temperature":0.2`))
		v.call("POST", "/v1/chat/completions", `{"model":"only","messages":[{"role":"user","content":"`+promptSecret+`"}]}`, "X-Api-Key", live, "Content-Type", "application/json")
		v.local.host.Evict()
	}
	v.respondWith(200, good(answerSecret))
	for _, body := range []string{`{"key":"` + projectKeySecret + ` "}`, `{"provider":"` + projectKeySecret + `"}`, `{"key":["` + projectKeySecret + `"]}`, `"` + projectKeySecret + `"`} {
		v.call("PUT", path+"openai", body, asOwner...)
		v.call("PUT", path+"nobody", body, asOwner...)
	}
	v.call("GET", path[:len(path)-1], "", asViewer...)
	v.call("PUT", path+"openai", `{"key":"`+projectKeySecret+`"}`, asViewer...)
	v.call("DELETE", path+"openai", "", asOwner...)
	v.wantKey = providerSecret
}

// alerts triggers an alert. Its signing secret is shown in only one response.
func (v *secretSite) alerts(project, live string) {
	path := "/api/admin/projects/" + project
	answer := v.call("PATCH", path, `{"alerts":{"url":"`+v.hook.URL+`/hook"}}`, asOwner...)
	secret := gjson.Get(answer, "alerts.secret").String()
	if !strings.HasPrefix(secret, "whsec_") {
		v.t.Fatal(answer)
	}
	v.detector.add(&v.detector.secrets, secret)
	v.call("PATCH", path, `{"budget":0.000001}`, asOwner...)
	v.call("GET", "/api/usage?projectId="+project, "", "X-Api-Key", live)
	v.local.objects.Wait()
	v.call("GET", path, "", asViewer...)
	v.call("PATCH", path, `{"budget":1000}`, asOwner...)
}

// faults makes dependencies of the gateway fail.
func (v *secretSite) faults(live, test string) {
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
	if w, ok := v.detector.Engine.(*host.Wasm); ok {
		if err := w.ArmPanic(); err != nil {
			v.t.Error(err)
		}
		v.complete(live, promptBody(""))
	}
}

// TestLeakDetector checks that every form of a secret is detected.
func TestLeakDetector(t *testing.T) {
	t.Parallel()
	key := "sk_live_0123456789abcdefghijklmnopqrs"
	for _, leak := range []string{
		key, key[:22], key[15:], "user=" + base64.StdEncoding.EncodeToString([]byte(key[8:])), base64.URLEncoding.EncodeToString([]byte(key)),
		base64.StdEncoding.EncodeToString([]byte("x:" + key)), hex.EncodeToString([]byte(key)),
	} {
		w := &leakDetector{found: map[string]string{}}
		w.search("here", []byte("before "+leak+" after"), forms(key))
		if len(w.found) == 0 {
			t.Errorf("%q was not found", leak)
		}
	}
	w := &leakDetector{found: map[string]string{}}
	if w.search("here", []byte(`"prefix":"sk_live_","last4":"pqrs"`), forms(key)); len(w.found) > 0 {
		t.Errorf("%v", w.found)
	}
}
