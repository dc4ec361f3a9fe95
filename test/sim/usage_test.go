package sim_test

import (
	"fmt"

	"github.com/postern-ai/postern/core/config"
)

// usage returns the provider's usage object with the field names of its family.
func (f *fetch) usage(in, out string) string {
	d := &f.behavior
	switch d.Lie {
	case "negative":
		return fmt.Sprintf(`{"%s":%d,"%s":-%d}`, in, f.in, out, f.out)
	case "absurd":
		return fmt.Sprintf(`{"%s":%d,"%s":4000000000000}`, in, f.in, out)
	case "fraction":
		return fmt.Sprintf(`{"%s":%d.5,"%s":%d.25}`, in, f.in, out, f.out)
	case "text":
		return fmt.Sprintf(`{"%s":"%d","%s":"%d"}`, in, f.in, out, f.out)
	}
	switch f.wire {
	case "anthropic":
		return fmt.Sprintf(`{%s,"%s":%d}`, f.anthropicInput(), out, f.out)
	case "responses":
		return fmt.Sprintf(`{"%s":%d,"input_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d},"%s":%d}`, in, f.in, f.cached, f.written, out, f.out)
	}
	return fmt.Sprintf(`{"%s":%d,"prompt_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d},"%s":%d}`, in, f.in, f.cached, f.written, out, f.out)
}

// anthropicInput returns the prompt's tokens in parts that do not overlap.
func (f *fetch) anthropicInput() string {
	return fmt.Sprintf(`"input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d`, f.in-f.cached-f.written, f.cached, f.written)
}

// usageMember returns the field "usage" after a comma. If the provider omits the field, it returns "".
func (f *fetch) usageMember(in, out string) string {
	if f.behavior.Lie == "none" {
		return ""
	}
	return `,"usage":` + f.usage(in, out)
}

func (f *fetch) finish(stop, length string) string {
	if f.behavior.Length {
		return length
	}
	return stop
}

// body returns a complete response in the provider's format.
func (f *fetch) body() []byte {
	switch {
	case f.model.APIs == config.APIEmbeddings:
		return fmt.Appendf(nil, `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[%d,%d,0.5]}],"model":"vector"%s}`,
			f.number, f.x.projectNumber(), f.embedUsage())
	case f.wire == "anthropic":
		return fmt.Appendf(nil, `{"id":"msg_%d","type":"message","role":"assistant","model":%q,"content":[{"type":"text","text":%q}],"stop_reason":%q%s}`,
			f.number, f.model.Name, f.text, f.finish("end_turn", "max_tokens"), f.usageMember("input_tokens", "output_tokens"))
	case f.x.item.Path == "compact":
		return fmt.Appendf(nil, `{"id":"resp_%d","object":"response.compaction","created_at":1,"output":[{"type":"message","id":"m","role":"user","content":[{"type":"output_text","text":%q}]},{"type":"compaction","id":"cmp","encrypted_content":"AAAA"}]%s}`,
			f.number, f.text, f.usageMember("input_tokens", "output_tokens"))
	case f.wire == "responses":
		status := f.finish(`"completed"`, `"incomplete","incomplete_details":{"reason":"max_output_tokens"}`)
		return fmt.Appendf(nil, `{"id":"resp_%d","object":"response","created_at":1,"model":%q,"status":%s,"output":[{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":%q}]}]%s}`,
			f.number, f.model.Name, status, f.text, f.usageMember("input_tokens", "output_tokens"))
	}
	choices := ""
	for i := range f.n {
		if i > 0 {
			choices += ","
		}
		choices += fmt.Sprintf(`{"index":%d,"message":{"role":"assistant","content":%q},"finish_reason":%q}`, i, f.text, f.finish("stop", "length"))
	}
	return fmt.Appendf(nil, `{"id":"c%d","object":"chat.completion","created":1,"model":%q,"choices":[%s]%s}`,
		f.number, f.model.Name, choices, f.usageMember("prompt_tokens", "completion_tokens")+f.tierMember())
}

func (f *fetch) embedUsage() string {
	if f.behavior.Lie != "" {
		return ""
	}
	return fmt.Sprintf(`,"usage":{"prompt_tokens":%d,"total_tokens":%d}`, f.in, f.in)
}
