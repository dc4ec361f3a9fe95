package abi

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/abi/vectors.json")

const vectorsFile = "../../testdata/abi/vectors.json"

// vector is one value with its encoding. worker/gateway/test/abi.test.mjs also reads the vectors.
type vector struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Hex   string `json:"hex"`
	Value any    `json:"value"`
}

type encoder interface{ Encode(*Writer) }

var decoders = map[string]func([]byte) (any, error){
	"StepInput":    func(b []byte) (any, error) { v, err := DecodeStepInput(b); return v, err },
	"StepOutput":   func(b []byte) (any, error) { v, err := DecodeStepOutput(b); return v, err },
	"ObjectInput":  func(b []byte) (any, error) { v, err := DecodeObjectInput(b); return v, err },
	"ObjectOutput": func(b []byte) (any, error) { v, err := DecodeObjectOutput(b); return v, err },
	"Config":       func(b []byte) (any, error) { v, err := DecodeConfig(b); return v, err },
	"Configured":   func(b []byte) (any, error) { v, err := DecodeConfigured(b); return v, err },
	"Delivery":     func(b []byte) (any, error) { v, err := DecodeDelivery(b); return v, err },
	"Posted":       func(b []byte) (any, error) { v, err := DecodePosted(b); return v, err },
}

func encode(v any) []byte {
	switch v := v.(type) {
	case Delivery:
		return v.Encode()
	case Posted:
		return v.Encode()
	}
	p := reflect.New(reflect.TypeOf(v))
	p.Elem().Set(reflect.ValueOf(v))
	var w Writer
	p.Interface().(encoder).Encode(&w)
	return w.Buf
}

// plain returns a value in the format of the vectors file. It has Go's field names, inlined embedded fields, byte
// strings in hexadecimal, and empty lists instead of null.
func plain(v reflect.Value) any {
	switch {
	case v.Kind() == reflect.Struct:
		return plainFields(map[string]any{}, v)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		return hex.EncodeToString(v.Bytes())
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Array:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = plain(v.Index(i))
		}
		return list
	}
	return v.Interface()
}

func plainFields(fields map[string]any, v reflect.Value) map[string]any {
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.Anonymous {
			plainFields(fields, v.Field(i))
		} else {
			fields[f.Name] = plain(v.Field(i))
		}
	}
	return fields
}

type value struct {
	name string
	v    any
}

const maxNumber = 1<<53 - 1

// trickyText has characters that UTF-8 encoders often get wrong.
const trickyText = "é € 😀 \ufeff\u2028\x00\"\\ \U0010ffff مرحبا"

// edges are the numbers at the edges of each varint length.
var edges = []uint64{0, 1, 127, 128, 16383, 16384, 1<<21 - 1, 1 << 21, 1<<28 - 1, 1 << 28, 1<<35 - 1, 1 << 35, 1<<42 - 1, 1 << 42, 1<<49 - 1, 1 << 49, maxNumber}

func values() []value {
	all := stepInputs()
	all = append(all, stepOutputs()...)
	all = append(all, objects()...)
	return append(all, configurations()...)
}

func stepInputs() []value {
	request := []Header{{":id", "req_1"}, {":method", "POST"}, {":path", "/api/ai/complete"}, {":query", ""}, {"x-api-key", "sk_live_0"}}
	event := func(name string, e Event) value {
		return value{name, StepInput{NowMs: 1_790_000_000_000, Shared: []byte{1}, State: []byte{2, 3}, Event: e}}
	}
	all := []value{
		{"empty", StepInput{}},
		event("request", Event{Kind: EventRequest, Headers: request, Data: []byte("0123456789abcdef")}),
		event("body", Event{Kind: EventBody, ID: 1, Data: []byte(`{"messages":[]}`)}),
		event("body too large", Event{Kind: EventBody, ID: 1, Code: OutcomeTooLarge}),
		event("supplied", Event{Kind: EventSupplied, ID: 10, Data: []byte{0, 255}}),
		event("stored", Event{Kind: EventStored, ID: 2, Data: []byte("value")}),
		event("unsealing failed", Event{Kind: EventSupplied, ID: 12, Code: OutcomeFailed}),
		event("absent", Event{Kind: EventStored, ID: 4, Code: OutcomeAbsent}),
		event("unsupported tier", Event{Kind: EventStored, ID: 4, Code: OutcomeUnsupported}),
		event("reply", Event{Kind: EventReply, ID: 3, Data: []byte{1}}),
		event("overloaded", Event{Kind: EventReply, ID: 3, Code: OutcomeOverloaded}),
		event("failed", Event{Kind: EventReply, ID: 3, Code: OutcomeFailed}),
		event("response", Event{Kind: EventResponse, ID: 5, Code: 200, Headers: []Header{{"content-type", "application/json"}, {"retry-after", ""}}, Data: []byte("{}")}),
		event("timer", Event{Kind: EventTimer, ID: 6}),
		event("client disconnected", Event{Kind: EventDisconnect}),
		event("head", Event{Kind: EventHead, ID: 5, Code: 200, Headers: []Header{{"content-type", "text/event-stream"}}}),
		event("chunk", Event{Kind: EventChunk, ID: 5, Data: []byte("data: {}\n\n")}),
		event("end", Event{Kind: EventEnd, ID: 5}),
		event("joined", Event{Kind: EventStored, ID: 4, Code: OutcomeJoined}),
		event("flight", Event{Kind: EventFlight, ID: 21, Data: []byte("piece")}),
		event("flight failed", Event{Kind: EventFlight, ID: 21, Code: FlightFailed}),
		{"waiting", StepInput{Waiting: 300, Event: Event{Kind: EventTimer, ID: 12}}},
		event("tricky texts", Event{Kind: EventRequest, Headers: []Header{{":path", trickyText}, {trickyText, trickyText}}}),
		{"large", StepInput{NowMs: maxNumber, Shared: bytes.Repeat([]byte{7}, 200), State: bytes.Repeat([]byte{8}, 4096), Attached: bytes.Repeat([]byte{9}, 300), Pinned: bytes.Repeat([]byte{6}, 400), Event: Event{Kind: EventBody, ID: 1, Data: bytes.Repeat([]byte("x"), 16_400)}}},
	}
	for fault := uint64(FaultConnect); fault <= FaultUndelivered; fault++ {
		all = append(all, event("fault "+string(rune('0'+fault)), Event{Kind: EventFault, ID: 5, Code: fault}))
	}
	for _, n := range edges {
		all = append(all, value{"number " + number(n), StepInput{NowMs: n, Event: Event{Kind: EventTimer, ID: n, Code: n}}})
	}
	return all
}

func number(n uint64) string { return string(json.RawMessage(mustMarshal(n))) }

func mustMarshal(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// actions returns one action of each kind, with all of the kind's fields set.
func actions() []Action {
	headers := []Header{{"content-type", "application/json"}, {"x-empty", ""}}
	parts := []Part{{Data: []byte("before ")}, {Buffer: 2}, {Data: []byte(trickyText)}, {}}
	return []Action{
		{Kind: ActionReadBody, ID: 1, Buffer: 1, Limit: 4_000_000},
		{Kind: ActionSupply, ID: 10, Buffer: 2},
		{Kind: ActionKeep, Buffer: 3, Data: []byte("kept")},
		{Kind: ActionRead, ID: 2, Key: "key/00", Where: WhereMemory | WhereKV | WhereColo, KeepMs: 30_000, Limit: 100},
		{Kind: ActionWrite, Key: "cache/" + trickyText, Where: WhereMemory, KeepMs: 3_600_000, TTL: 3600, Body: parts},
		{Kind: ActionCall, ID: 3, Class: ClassKeyMeter, Name: "00ff", Region: "weur", Data: []byte{1, 2}},
		{
			Kind: ActionFetch, ID: 5, Buffer: 5, Limit: 8 << 20, Method: "POST", URL: "https://up.example/v1/chat/completions",
			Headers: headers, Body: parts, Timeouts: Timeouts{1, 128, 16384, 180_000},
		},
		{Kind: ActionFetch, ID: 5, Buffer: 5, Limit: 64 << 10, Method: "POST", URL: "https://up.example/v1/messages", Stream: 200},
		{Kind: ActionRespond, Code: 200, Headers: headers, Body: parts},
		{Kind: ActionWait, ID: 6, KeepMs: 250},
		{Kind: ActionWait, ID: 6, KeepMs: 250, Code: WaitFirst},
		{Kind: ActionCancel, ID: 5},
		{Kind: ActionLog, Code: 1, Data: []byte(`{"level":"error"}`)},
		{Kind: ActionForward, ID: 11, Headers: []Header{{"x-request-id", "req_1"}}},
		{Kind: ActionOpen, Code: 200, Headers: headers, Data: []byte("event: error\n\n")},
		{Kind: ActionSend, Body: parts},
		{Kind: ActionClose},
		{Kind: ActionAppend, Buffer: 6, Data: []byte("more")},
		{Kind: ActionPin, Key: "lease/00ff"},
		{Kind: ActionUnseal, ID: 12, Buffer: 7, Key: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", Name: "prj_1/" + trickyText},
		{Kind: ActionJoin, ID: 4, Key: "cache/prj_1/00", Name: "cache/prj_1/00 stream", Where: WhereKV | WhereColo},
		{Kind: ActionFollow, ID: 21},
		{Kind: ActionPublish, Buffer: 6, Limit: 1 << 20, Body: parts},
		{Kind: ActionLand, Code: FlightLanded, Data: []byte("entry")},
		{Kind: ActionPause, ID: 5},
		{Kind: ActionResume, ID: 5},
	}
}

func stepOutputs() []value {
	all := []value{
		{"empty", StepOutput{}},
		{"shared emptied", StepOutput{SharedChanged: true}},
		{"shared", StepOutput{SharedChanged: true, Shared: []byte{1, 2}, State: []byte("state")}},
		{"pinned emptied", StepOutput{PinnedChanged: true}},
		{"pinned", StepOutput{SharedChanged: true, Shared: []byte{1}, PinnedChanged: true, Pinned: bytes.Repeat([]byte{2}, 200), PinnedKeepMs: maxNumber, Wake: 130}},
		{"all actions", StepOutput{State: []byte{0}, Actions: actions()}},
		{"bare kinds", StepOutput{Actions: bareActions()}},
		{"large", StepOutput{State: bytes.Repeat([]byte{9}, 4095), Actions: []Action{{Kind: ActionRespond, Code: 200, Body: []Part{{Data: bytes.Repeat([]byte("y"), 16_400)}}}}}},
	}
	for _, a := range actions() {
		all = append(all, value{"action " + number(uint64(a.Kind)), StepOutput{Actions: []Action{a}}})
	}
	for _, n := range edges {
		wait := Action{Kind: ActionWait, ID: n, KeepMs: n}
		fetch := Action{Kind: ActionFetch, ID: n, Buffer: n, Limit: n, Timeouts: Timeouts{n, n, n, n}, Stream: n}
		all = append(all, value{"number " + number(n), StepOutput{Actions: []Action{wait, fetch}}})
	}
	return all
}

func bareActions() []Action {
	var all []Action
	for kind := ActionReadBody; kind <= ActionLand; kind++ {
		all = append(all, Action{Kind: kind})
	}
	return all
}

func objects() []value {
	rows := []Row{{"h", []byte{1, 2, 3}}, {"o/000000000001", nil}, {"x/" + trickyText, []byte(trickyText)}}
	ranges := []Range{{Start: "h"}, {Start: "t/", End: "t0", Limit: 100}, {Start: "a", End: "b", Limit: maxNumber}}
	all := []value{
		{"alarm", ObjectInput{NowMs: 1, Class: ClassKeyMeter, Name: "00"}},
		{"command", ObjectInput{NowMs: 1_790_000_000_000, Class: ClassLedger, Name: "prj_1", Command: []byte{2}, Rows: rows}},
		{"second round", ObjectInput{NowMs: maxNumber, Class: ClassDirectory, Name: trickyText, Command: []byte{2}, Round: 1, Rows: rows}},
		{"large", ObjectInput{Class: ClassKeyMeter, Rows: []Row{{strings.Repeat("k", 1024), bytes.Repeat([]byte{6}, 300)}}}},
		{"empty", ObjectOutput{}},
		{"ranges", ObjectOutput{Ranges: ranges}},
		{"transaction", ObjectOutput{Puts: rows, Deletes: []string{"x/1", trickyText, ""}, Reply: []byte("reply"), AlarmMs: maxNumber, Deliver: true}},
		{"large reply", ObjectOutput{Reply: bytes.Repeat([]byte{5}, 300)}},
		{"posts", ObjectOutput{Reply: []byte("reply"), AlarmMs: 1, Posts: posts()}},
		{"posted", Posted{ID: "1", Status: 204}},
		{"post without response", Posted{ID: trickyText}},
		{"to KV", Delivery{Class: ClassKV, Name: "key/00", Data: []byte("record")}},
		{"removal", Delivery{Class: ClassKV, Name: "key/00"}},
		{"to an object", Delivery{Class: ClassLedger, Name: "prj_" + trickyText, Region: "apac", Data: bytes.Repeat([]byte{3}, 200)}},
		{"to the Directory", Delivery{Class: ClassDirectory, Name: "directory"}},
	}
	for _, n := range edges {
		all = append(all, value{"number " + number(n), Posted{Status: n}})
		all = append(all, value{"number " + number(n), ObjectOutput{Ranges: []Range{{Start: "s", Limit: n}}, AlarmMs: n}})
	}
	return all
}

func posts() []Post {
	return []Post{
		{ID: "1", URL: "https://hooks.example/a?b=c", Headers: []Header{{"content-type", "application/json"}, {"x-empty", ""}}, Body: []byte(`{"a":1}`)},
		{},
		{ID: trickyText, URL: trickyText, Headers: []Header{{trickyText, trickyText}}, Body: bytes.Repeat([]byte{4}, 300)},
	}
}

func configurations() []value {
	return []value{
		{"empty", Config{}},
		{"catalog and variables", Config{Catalog: []byte(`{"version":"1"}`), Env: []Header{{"OPENAI_API_KEY", "sk-up"}, {"EMPTY", ""}, {"STRANGE", trickyText}}}},
		{"large", Config{Catalog: bytes.Repeat([]byte(" "), 300)}},
		{"zero", Configured{}},
		{"configuration error", Configured{Version: 1, Error: "catalog must be valid JSON", LastResortStatus: 500}},
		{"configured", Configured{
			Version: maxNumber, RequestHeaders: []string{"authorization", "x-api-key"}, ResponseHeaders: []string{"content-type", ""},
			MemoryBytes: 16 << 20, MemoryEntryBytes: 1 << 20, MemoryOverheadBytes: 128, PinnedEntries: 256, KVCacheSeconds: 60,
			LastResortStatus: 500, LastResortHeaders: []Header{{"content-type", "application/json"}},
			LastResortBody: [2][]byte{[]byte(`{"error":"` + trickyText), []byte(`"}`)},
		}},
	}
}

func vectors() []vector {
	var all []vector
	for _, v := range values() {
		t := reflect.TypeOf(v.v)
		all = append(all, vector{v.name, t.Name(), hex.EncodeToString(encode(v.v)), plain(reflect.ValueOf(v.v))})
	}
	return all
}

func marshalVectors() []byte {
	lines := [][]byte{}
	for _, v := range vectors() {
		lines = append(lines, append([]byte("  "), mustMarshal(v)...))
	}
	return append(append([]byte("[\n"), bytes.Join(lines, []byte(",\n"))...), "\n]\n"...)
}

func TestVectorsFile(t *testing.T) {
	want := marshalVectors()
	if *rewrite {
		if err := os.WriteFile(vectorsFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("testdata/abi/vectors.json is not what the codec writes; if the change is meant, raise Version and run make generate")
	}
}

func TestVectorsCoverAllKinds(t *testing.T) {
	events, kinds, types := map[EventKind]bool{}, map[ActionKind]bool{}, map[string]bool{}
	for _, v := range values() {
		types[reflect.TypeOf(v.v).Name()] = true
		switch v := v.v.(type) {
		case StepInput:
			events[v.Event.Kind] = true
		case StepOutput:
			for _, a := range v.Actions {
				kinds[a.Kind] = true
			}
		}
	}
	for kind := EventRequest; kind <= EventFlight; kind++ {
		if !events[kind] {
			t.Errorf("no vector of event kind %d", kind)
		}
	}
	for kind := ActionReadBody; kind <= ActionResume; kind++ {
		if !kinds[kind] {
			t.Errorf("no vector of action kind %d", kind)
		}
	}
	if len(types) != len(decoders) {
		t.Errorf("vectors have the types %v, but there are %d decoders", types, len(decoders))
	}
}

func TestVectorsRoundTrip(t *testing.T) {
	for _, v := range vectors() {
		data, _ := hex.DecodeString(v.Hex)
		decoded, err := decoders[v.Type](data)
		if err != nil {
			t.Errorf("%s %s: %v", v.Type, v.Name, err)
			continue
		}
		if got, want := mustMarshal(plain(reflect.ValueOf(decoded))), mustMarshal(v.Value); !bytes.Equal(got, want) {
			t.Errorf("%s %s: decoded as\n%s, want\n%s", v.Type, v.Name, got, want)
		}
		if again := encode(decoded); !bytes.Equal(again, data) {
			t.Errorf("%s %s: encoded again as %x, want %x", v.Type, v.Name, again, data)
		}
	}
}
