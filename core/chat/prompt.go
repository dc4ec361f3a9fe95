package chat

import "github.com/postern-ai/postern/core/jsontext"

// tokensPerMessage is the overhead of a message or tool in common chat formats, in tokens.
const tokensPerMessage = 4

// tokensPerImage is the cost of a common-sized image. Typical values are 765 for OpenAI and up to 1,600 for
// Anthropic.
const tokensPerImage = 1000

// PromptTokens estimates the input tokens of the request.
func (r *Request) PromptTokens() (n uint64) {
	for i := range r.Messages {
		n += tokensPerMessage + PartTokens(r.Messages[i].Parts)
	}
	for i := range r.Tools {
		t := &r.Tools[i]
		n += tokensPerMessage + textTokens(t.Name) + textTokens(t.Description) + textTokens(jsontext.Escaped(t.Schema+t.Raw))
	}
	return n + textTokens(jsontext.Escaped(r.Format.Schema))
}

// MessageTokens estimates the tokens of a text message.
func MessageTokens(text jsontext.Escaped) uint64 { return tokensPerMessage + textTokens(text) }

const (
	samples     = 4
	sampleBytes = 64 // minimum size of a sample
	sampleShare = 64 // of a longer text, 1/64 is a sample
)

// textTokens estimates the tokens of a text. It samples a long text, so that the estimate takes no longer than the
// rest of the processing.
func textTokens(text jsontext.Escaped) uint64 {
	if len(text) <= samples*sampleBytes {
		return EstimateTokens(text)
	}
	size := max(sampleBytes, len(text)/sampleShare)
	var n uint64
	for i := range samples {
		at := i * (len(text) - size) / (samples - 1)
		n += EstimateTokens(text[at : at+size])
	}
	return n*uint64(len(text))/uint64(samples*size) + 1
}

// PartTokens estimates the tokens of a message's parts.
func PartTokens(parts []Part) (n uint64) {
	for i := range parts {
		switch p := &parts[i]; p.Kind {
		case Image:
			n += tokensPerImage
		case File, Audio:
			n += max(tokensPerImage, uint64(len(p.Data))/32)
		default:
			n += textTokens(p.Text) + textTokens(p.Name) + textTokens(jsontext.Escaped(p.Args)) + PartTokens(p.Parts)
		}
	}
	return n
}

// The numbers of tokens to reserve for parts of a prompt whose size only the provider knows.
const (
	unseenImage    = 2_000  // in addition to tokensPerImage, for large images and for models that count more per image
	unseenDocument = 30_000 // for a document given by URL or file ID, enough for about ten pages of text and pictures
	unseenSearch   = 20_000 // for results that a provider tool, such as web search, feeds to the model
)

// UnseenTokens returns the input tokens to reserve in addition to PromptTokens.
func (r *Request) UnseenTokens() (n uint64) {
	for i := range r.Messages {
		n += unseenTokens(r.Messages[i].Parts)
	}
	for i := range r.Tools {
		if r.Tools[i].Raw != "" {
			n += unseenSearch
		}
	}
	return n
}

func unseenTokens(parts []Part) (n uint64) {
	for i := range parts {
		switch p := &parts[i]; {
		case p.Kind == Image:
			n += unseenImage
		case p.Kind == File && p.Data == "", p.Kind == Foreign, p.Kind == Own:
			n += unseenDocument
		default:
			n += unseenTokens(p.Parts)
		}
	}
	return n
}

// Tokens returns the reasoning tokens to expect in addition to the response text: the budget, or a typical number for
// the effort. If no thinking is requested, it returns 0.
func (r *Reasoning) Tokens() uint64 {
	switch {
	case r.Off || r.Effort == "none":
		return 0
	case r.Budget > 0:
		return r.Budget
	case r.Effort == "minimal":
		return 1024
	case r.Effort == "low":
		return 4096
	case r.Effort == "high":
		return 24_576
	case r.Effort == "xhigh" || r.Effort == "max":
		return 32_768
	case r.Effort != "" || r.Adaptive:
		return 12_288
	}
	return 0
}
