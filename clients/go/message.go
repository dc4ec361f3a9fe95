package postern

import "encoding/json"

// Role is the author of a message.
type Role string

// The roles.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one message of a conversation. It has Content or Parts.
type Message struct {
	Role       Role
	Content    string
	Parts      []ContentPart // instead of Content
	ToolCalls  []ToolCall    // for RoleAssistant: the calls as the model returned them
	ToolCallID string        // for RoleTool: the ID of the call whose result is Content
}

// System returns a message that instructs the model.
func System(content string) Message { return Message{Role: RoleSystem, Content: content} }

// User returns a message from the user.
func User(content string) Message { return Message{Role: RoleUser, Content: content} }

// Assistant returns an earlier message from the model.
func Assistant(content string) Message { return Message{Role: RoleAssistant, Content: content} }

// ToolResult returns the result of a tool call. In the conversation, it comes after the model's message with that
// call.
func ToolResult(callID, content string) Message {
	return Message{Role: RoleTool, ToolCallID: callID, Content: content}
}

// messageBody is a message as the gateway reads it. Its content is a string or an array of parts.
type messageBody struct {
	Role       Role            `json:"role"`
	Content    json.RawMessage `json:"content,omitempty"`
	ToolCalls  []ToolCall      `json:"toolCalls,omitempty"`
	ToolCallID string          `json:"toolCallId,omitempty"`
}

// MarshalJSON returns the message as the gateway reads it.
func (m Message) MarshalJSON() ([]byte, error) {
	body := messageBody{Role: m.Role, ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID}
	var err error
	switch {
	case len(m.Parts) > 0:
		body.Content, err = json.Marshal(m.Parts)
	case m.Content != "" || len(m.ToolCalls) == 0:
		body.Content, err = json.Marshal(m.Content)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(body)
}

// UnmarshalJSON reads a message in the gateway's format.
func (m *Message) UnmarshalJSON(text []byte) error {
	var body messageBody
	if err := json.Unmarshal(text, &body); err != nil {
		return err
	}
	*m = Message{Role: body.Role, ToolCalls: body.ToolCalls, ToolCallID: body.ToolCallID}
	switch {
	case len(body.Content) == 0:
		return nil
	case body.Content[0] == '[':
		return json.Unmarshal(body.Content, &m.Parts)
	}
	return json.Unmarshal(body.Content, &m.Content)
}

// ContentPart is a part of a message. Any message can have text. Only messages from the user can have images and
// files. TextPart, ImagePart and FilePart create parts.
type ContentPart struct {
	Type     string `json:"type"` // text, image or file
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"imageUrl,omitempty"`
	Name     string `json:"name,omitempty"`
	FileData string `json:"fileData,omitempty"`
}

// TextPart returns text as a part of a message.
func TextPart(text string) ContentPart { return ContentPart{Type: "text", Text: text} }

// ImagePart returns an image. Its URL begins with https:// or data:image/.
func ImagePart(url string) ContentPart { return ContentPart{Type: "image", ImageURL: url} }

// FilePart returns a file such as a PDF, as a data URL: data:application/pdf;base64,…. The name may be empty.
func FilePart(name, dataURL string) ContentPart {
	return ContentPart{Type: "file", Name: name, FileData: dataURL}
}
