package chat

import "github.com/postern-ai/postern/core/jsontext"

// tokensPerMessage is what a message's frame costs in the common chat formats.
const tokensPerMessage = 4

// tokensPerImage is what an image of usual size costs (OpenAI's 765 and Anthropic's up to 1,600 are typical).
const tokensPerImage = 1000

// PromptTokens estimates what the request will cost to read.
func (r *Request) PromptTokens() (n uint64) {
	for i := range r.Messages {
		n += tokensPerMessage + PartTokens(r.Messages[i].Parts)
	}
	for i := range r.Tools {
		t := &r.Tools[i]
		n += tokensPerMessage + textTokens(t.Name) + textTokens(t.Description) + textTokens(jsontext.Spelled(t.Schema+t.Raw))
	}
	return n + textTokens(jsontext.Spelled(r.Format.Schema))
}

// MessageTokens estimates a message that is a text.
func MessageTokens(text jsontext.Spelled) uint64 { return tokensPerMessage + textTokens(text) }

const (
	samples     = 4
	sampleBytes = 64 // at least, of each
	sampleShare = 64 // one of so many bytes, in each
)

// textTokens estimates a text; one that is not short by samples, for the estimate must not cost more than the
// rest of the work on it.
func textTokens(text jsontext.Spelled) uint64 {
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

// PartTokens estimates what a turn's parts are.
func PartTokens(parts []Part) (n uint64) {
	for i := range parts {
		switch p := &parts[i]; p.Kind {
		case Image:
			n += tokensPerImage
		case File, Audio:
			n += max(tokensPerImage, uint64(len(p.Data))/32)
		default:
			n += textTokens(p.Text) + textTokens(p.Name) + textTokens(jsontext.Spelled(p.Args)) + PartTokens(p.Parts)
		}
	}
	return n
}

// What is reserved for parts of a prompt whose length nobody knows before the provider has read them.
const (
	unseenImage    = 2_000  // beside tokensPerImage: large ones, and models that count them dearer
	unseenDocument = 30_000 // a document by address or by a file's id: about ten pages of text and pictures
	unseenSearch   = 20_000 // what a provider's own tool, such as web search, feeds to the model
)

// UnseenTokens is how many tokens a request may take to read beyond PromptTokens.
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
		case p.Kind == File && p.Data == "", p.Kind == Foreign:
			n += unseenDocument
		default:
			n += unseenTokens(p.Parts)
		}
	}
	return n
}

// Tokens is how many tokens the model may think beside its answer: the budget that was given, or what an effort
// usually takes. 0: thinking was not asked for.
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
