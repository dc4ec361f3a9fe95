package postern

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Tool is a function that the model may call.
type Tool struct {
	Name        string          `json:"name"`                  // 1 to 64 letters, digits, _ and -
	Description string          `json:"description,omitempty"` // tells the model what the function does
	Parameters  json.RawMessage `json:"parameters,omitempty"`  // the JSON Schema of its arguments; see SchemaOf
}

// ToolChoice says whether the model calls a tool. If Name is set, the model calls that tool.
type ToolChoice struct {
	Mode ToolMode
	Name string // instead of Mode
}

// ToolMode says whether the model calls a tool.
type ToolMode string

// The modes: the model may, must not or must call a tool.
const (
	ToolAuto     ToolMode = "auto"
	ToolNone     ToolMode = "none"
	ToolRequired ToolMode = "required"
)

type toolName struct {
	Name string `json:"name"`
}

// MarshalJSON returns the choice as the gateway reads it: a string, or an object with the name.
func (c ToolChoice) MarshalJSON() ([]byte, error) {
	if c.Name != "" {
		return json.Marshal(toolName{c.Name})
	}
	return json.Marshal(c.Mode)
}

// UnmarshalJSON reads a choice in the gateway's format.
func (c *ToolChoice) UnmarshalJSON(text []byte) error {
	var named toolName
	if len(text) > 0 && text[0] == '{' {
		err := json.Unmarshal(text, &named)
		*c = ToolChoice{Name: named.Name}
		return err
	}
	*c = ToolChoice{}
	return json.Unmarshal(text, &c.Mode)
}

// ToolCall is the model's call to a tool.
type ToolCall struct {
	ID        string          `json:"id"` // for ToolResult
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // a JSON object; if the model's arguments are not an object, they become {"_invalid": "…"}
}

// ToolCallEvent is the beginning of a tool call.
type ToolCallEvent struct {
	Index int    `json:"index"` // position of the call within the stream, starting at 0
	ID    string `json:"id"`
	Name  string `json:"name"`
}

// ToolCallDeltaEvent is a piece of a tool call's JSON arguments.
type ToolCallDeltaEvent struct {
	Index     int    `json:"index"` // the same as in the beginning of the call
	Arguments string `json:"arguments"`
}

func (ToolCallEvent) event()      {}
func (ToolCallDeltaEvent) event() {}

func newToolEvent(data []byte) (Event, error) {
	var e struct {
		Type      string
		Index     *int
		ID, Name  *string
		Arguments *string
	}
	if json.Unmarshal(data, &e) != nil || e.Index == nil {
		return nil, invalidEvent()
	}
	switch {
	case e.Type == "toolCall" && e.ID != nil && e.Name != nil:
		return ToolCallEvent{*e.Index, *e.ID, *e.Name}, nil
	case e.Type == "toolCallDelta" && e.Arguments != nil:
		return ToolCallDeltaEvent{*e.Index, *e.Arguments}, nil
	}
	return nil, invalidEvent()
}

// toolCalls collects the tool calls of a stream by their index.
type toolCalls map[int]*startedCall

type startedCall struct {
	ToolCallEvent
	arguments strings.Builder
}

func (c toolCalls) add(event Event) {
	switch e := event.(type) {
	case ToolCallEvent:
		c[e.Index] = &startedCall{ToolCallEvent: e}
	case ToolCallDeltaEvent:
		if call := c[e.Index]; call != nil {
			call.arguments.WriteString(e.Arguments)
		}
	}
}

func (c toolCalls) all() []ToolCall {
	calls := make([]ToolCall, 0, len(c))
	for _, index := range slices.Sorted(maps.Keys(c)) {
		call := c[index]
		calls = append(calls, ToolCall{call.ID, call.Name, argumentsOf(call.arguments.String())})
	}
	return calls
}

// argumentsOf returns arguments in the form that a non-streaming response has.
func argumentsOf(text string) json.RawMessage {
	trimmed := strings.TrimLeft(text, " \t\r\n")
	switch {
	case text == "":
		return json.RawMessage("{}")
	case strings.HasPrefix(trimmed, "{") && json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	kept, _ := json.Marshal(map[string]string{"_invalid": text}) // cannot fail for a string
	return kept
}
