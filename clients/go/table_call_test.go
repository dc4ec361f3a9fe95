package postern

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
)

// result is the outcome of a call: a value, events or items, and an error.
type result struct {
	kind  string // the field of the expectation: value, events or items
	value any
	err   error
}

// call makes a call from the table.
func (r *run) call(c *Client, call tableCall) result {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	switch call.Abort {
	case "before":
		cancel()
	case "request":
		go func() {
			r.server.await(r.T, r.id, func(requests []map[string]any) bool { return len(requests) > 0 })
			cancel()
		}()
	case "pause":
		r.onPause = cancel
		defer func() { r.onPause = nil }()
	}
	reader := reader{limit: call.Read, cancel: cancel}
	if n, ok := call.Abort.(float64); ok {
		reader.abortAfter = int(n)
	}
	var response Response
	opts := append(r.callOptions(call.Options), WithResponse(&response))
	got := r.invoke(ctx, c, call, reader, opts)
	r.seen(got.err)
	if call.Collect == "response" && got.err == nil {
		data := got.value
		got.value = map[string]any{
			"data":     data,
			"response": map[string]any{"status": response.StatusCode, "headers": wire(response.Header), "body": string(response.Body)},
			"meta":     wire(response.Meta),
		}
	}
	return got
}

func (r *run) invoke(ctx context.Context, c *Client, call tableCall, read reader, opts []CallOption) result {
	switch call.Method {
	case "get":
		var out any
		err := c.Get(ctx, arg[string](r, call, 0), &out, opts...)
		return one(out, err)
	case "post":
		var out, body any
		if len(call.Args) > 1 {
			body = call.Args[1]
		}
		err := c.Post(ctx, arg[string](r, call, 0), body, &out, opts...)
		return one(out, err)
	case "ai.countTokens":
		return one(c.AI.CountTokens(ctx, r.completionParams(call), opts...))
	case "ai.complete":
		return r.complete(ctx, c, call, opts)
	case "ai.chat":
		return r.chat(ctx, c, call, read, opts)
	case "ai.embed":
		params := arg[EmbedParams](r, call, 0)
		params.CacheControl, params.Strict = r.headersOf(call)
		return one(c.AI.Embed(ctx, params, opts...))
	case "usage.get":
		return one(c.Usage.Get(ctx, arg[UsageParams](r, call, 0), opts...))
	case "health.get":
		return one(c.Health.Get(ctx, opts...))
	case "governor.validate":
		return one(c.Governor.Validate(ctx, arg[ValidationParams](r, call, 0), opts...))
	case "violations.list":
		filter := arg[ViolationFilter](r, call, 0)
		if call.Collect == "page" {
			return one(c.Violations.ListPage(ctx, filter, opts...))
		}
		return items(read, c.Violations.List(ctx, filter, opts...), wire)
	case "violations.get":
		return one(c.Violations.Get(ctx, arg[string](r, call, 0), opts...))
	case "violations.update":
		return one(c.Violations.Update(ctx, arg[string](r, call, 0), arg[ViolationChange](r, call, 1), opts...))
	case "compliance.export":
		return items(read, c.Compliance.Export(ctx, arg[ExportParams](r, call, 0), opts...), recordAs(call.Collect))
	case "compliance.bom":
		return one(c.Compliance.BOM(ctx, opts...))
	case "compliance.summary":
		return one(c.Compliance.Summary(ctx, opts...))
	}
	return r.invokeModels(ctx, c, call, read, opts)
}

func (r *run) invokeModels(ctx context.Context, c *Client, call tableCall, read reader, opts []CallOption) result {
	switch call.Method {
	case "models.list":
		filter := arg[ModelFilter](r, call, 0)
		if call.Collect == "page" {
			return one(c.Models.ListPage(ctx, filter, opts...))
		}
		return items(read, c.Models.List(ctx, filter, opts...), wire)
	case "models.available":
		return one(c.Models.Available(ctx, opts...))
	case "models.get":
		return one(c.Models.Get(ctx, arg[string](r, call, 0), opts...))
	case "models.create":
		return one(c.Models.Create(ctx, arg[ModelCreate](r, call, 0), opts...))
	case "models.update":
		return one(c.Models.Update(ctx, arg[string](r, call, 0), arg[ModelUpdate](r, call, 1), opts...))
	case "models.transition":
		return one(c.Models.Transition(ctx, arg[string](r, call, 0), arg[ModelTransitionParams](r, call, 1), opts...))
	}
	r.Fatalf("unknown method %s", call.Method)
	return result{}
}

func one[T any](value T, err error) result { return result{"value", wire(value), err} }

func (r *run) complete(ctx context.Context, c *Client, call tableCall, opts []CallOption) result {
	params := r.completionParams(call)
	if !call.hasSchema() {
		return one(c.AI.Complete(ctx, params, opts...))
	}
	return whole(CompleteJSON[city](ctx, c, params, opts...))
}

// data returns a result with the data of a completion. If there is no data, Go has the zero value.
func data(value city, err error) result {
	if value == (city{}) {
		return result{"value", nil, err}
	}
	return one(value, err)
}

func whole(completion *JSONCompletion[city], err error) result {
	all := one(completion, err)
	if err == nil {
		all.value.(map[string]any)["data"] = data(completion.Data, nil).value
	}
	return all
}

// hasSchema reports whether the output must be a city.
func (c tableCall) hasSchema() bool { return strings.Contains(string(c.Args[0]), `"schema":"city"`) }

// city is the table's validator: {"city": string} and nothing else.
type city struct{ City string }

func (c *city) UnmarshalJSON(text []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	if len(members) != 1 || members["city"] == nil {
		return fmt.Errorf("city is required")
	}
	return json.Unmarshal(members["city"], &c.City)
}

// completionParams adds the parameters that the API takes as headers.
func (r *run) completionParams(call tableCall) CompletionParams {
	params := arg[CompletionParams](r, call, 0)
	params.CacheControl, params.Strict = r.headersOf(call)
	if call.hasSchema() && params.ResponseSchema == nil { // city parses itself
		params.ResponseSchema = SchemaOf[struct {
			City string `json:"city"`
		}]()
	}
	return params
}

// headersOf returns the parameters that the API takes as headers.
func (r *run) headersOf(call tableCall) (cacheControl string, strict bool) {
	headers := arg[struct {
		CacheControl string
		Strict       bool
	}](r, call, 0)
	return headers.CacheControl, headers.Strict
}

func (r *run) chat(ctx context.Context, c *Client, call tableCall, read reader, opts []CallOption) result {
	params := r.completionParams(call)
	if call.hasSchema() {
		return chatJSON(ctx, c, params, call.Collect, read, opts)
	}
	stream := c.AI.Chat(ctx, params, opts...)
	defer stream.Close()
	switch call.Collect {
	case "text":
		return one(stream.Text())
	case "usage":
		return one(stream.Usage())
	case "final":
		return one(stream.Final())
	}
	got := items(read, stream.Events(), wireEvent)
	got.kind = "events"
	return got
}

func chatJSON(ctx context.Context, c *Client, params CompletionParams, collect string, read reader, opts []CallOption) result {
	stream := ChatJSON[city](ctx, c, params, opts...)
	defer stream.Close()
	switch collect {
	case "data":
		return data(stream.Data())
	case "final":
		return whole(stream.Final())
	}
	got := items(read, stream.Events(), wireEvent)
	if collect == "eventsThenData" {
		return data(stream.Data())
	}
	got.kind = "events"
	return got
}

func wireEvent(e Event) any {
	members := wire(e).(map[string]any)
	switch e.(type) {
	case DeltaEvent:
		members["type"] = "delta"
	case ToolCallEvent:
		members["type"] = "toolCall"
	case ToolCallDeltaEvent:
		members["type"] = "toolCallDelta"
	case DoneEvent:
		members["type"] = "done"
	}
	return members
}

func recordAs(collect string) func(Record) any {
	return func(record Record) any {
		if collect == "lines" {
			return string(record.Line)
		}
		var members map[string]any
		if err := record.Decode(&members); err != nil {
			return err.Error()
		}
		return members
	}
}

// reader says when to stop reading.
type reader struct {
	limit      *int // nil: none
	abortAfter int  // 0: none
	cancel     context.CancelFunc
}

func items[T any](read reader, all iter.Seq2[T, error], as func(T) any) result {
	got := result{kind: "items"}
	values := []any{}
	got.value = values
	if read.limit != nil && *read.limit == 0 {
		return got
	}
	for item, err := range all {
		if err != nil {
			got.err = err
			break
		}
		values = append(values, as(item))
		if read.limit != nil && len(values) == *read.limit {
			break
		}
		if len(values) == read.abortAfter {
			read.cancel()
		}
	}
	got.value = values
	return got
}

// arg returns an argument. A null in the table clears a field, and in Go a pointer to a zero value clears it.
func arg[T any](r *run, call tableCall, i int) T {
	var value T
	if i >= len(call.Args) {
		return value
	}
	if err := json.Unmarshal(goNames(call.Args[i]), &value); err != nil {
		r.Fatalf("argument %d of %s: %v", i, call.Method, err)
	}
	return value
}

// goNames replaces names that are different in Go. It also replaces null with the zero value, because arg passes a
// pointer to it.
func goNames(text []byte) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		return text
	}
	for name, value := range members {
		switch {
		case name == "q":
			members["query"] = value
		case string(value) != "null":
		case name == "reviewDate" || name == "sunsetAt":
			members[name] = json.RawMessage(`"0001-01-01T00:00:00Z"`)
		default:
			members[name] = json.RawMessage(`""`)
		}
		if date := string(value); len(date) == len(`"2026-11-01"`) && strings.Count(date, "-") == 2 {
			members[name] = json.RawMessage(strings.TrimSuffix(date, `"`) + `T00:00:00Z"`)
		}
	}
	renamed, err := json.Marshal(members)
	if err != nil {
		return text
	}
	return renamed
}
