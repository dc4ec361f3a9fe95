package chat

import (
	"strings"

	"github.com/postern-ai/postern/core/jsontext"
)

// Params is a set of parameters and kinds of content that some targets do not support.
type Params uint64

const (
	ParamTemperature Params = 1 << iota
	ParamTopP
	ParamTopK
	ParamFrequencyPenalty
	ParamPresencePenalty
	ParamSeed
	ParamStop
	ParamN
	ParamLogProbs
	ParamTopLogProbs
	ParamUser
	ParamParallelTools
	ParamToolChoice
	ParamFormatJSON
	ParamFormatSchema
	ParamReasoning
	ParamCache    // cache markers on parts or tools
	ParamThinking // thinking from earlier turns
	ParamName     // author names of messages
	// ParamMarkedThinking is thinking signed by a provider with another dialect. The signature begins with that
	// provider's mark and a colon. A target that does not support it gets a translated body instead of the caller's.
	ParamMarkedThinking
	// ParamAlienThinking is thinking that is part of a Responses request and was signed by a provider other than
	// OpenAI. Only OpenAI rejects it.
	ParamAlienThinking
	// ParamOwnTools are provider tools and their calls in earlier turns. Targets with another dialect do not get
	// them.
	ParamOwnTools
	ParamTools // targets that do not support them are skipped
	// From here on, the values are kinds of content. Targets that support the content come first. The others get a
	// note in place of the content.
	ParamImages
	ParamImageURLs // images by URL
	ParamFiles
	ParamAudio
	ParamForeign // parts that only their own dialect supports
	paramEnd
)

// Content is the set of part kinds that some targets do not support.
const Content = ParamImages | ParamImageURLs | ParamFiles | ParamAudio | ParamForeign

// All is the set of all parameters that a wire family may support.
const All = (paramEnd - 1) &^ (ParamForeign | ParamMarkedThinking | ParamOwnTools)

// names contains the names of Params in bit order. They are used in the header x-postern-dropped-params and in the
// catalog's "drops".
var names = [...]string{
	"temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty", "seed", "stop", "n", "logprobs",
	"top_logprobs", "user", "parallel_tool_calls", "tool_choice", "response_format", "response_format.json_schema",
	"reasoning", "cache_control", "thinking", "name", "thinking_of_others", "encrypted_content", "provider_tools", "tools", "images", "image_urls", "files", "audio",
	"provider_specific_content",
}

// ParamByName returns the parameter with the given name, or 0.
func ParamByName(name string) Params {
	for i, n := range names {
		if n == name {
			return 1 << i
		}
	}
	return 0
}

func (p Params) AppendNames(dst []byte) []byte {
	for i, n := range names {
		if p>>i&1 == 1 {
			if len(dst) > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, n...)
		}
	}
	return dst
}

// setIf adds p to a set unless text is empty.
func setIf(to *Params, text string, p Params) {
	if text != "" {
		*to |= p
	}
}

// Params returns the parameters that the request uses.
func (r *Request) Params() Params {
	var p Params
	setIf(&p, r.Temperature, ParamTemperature)
	setIf(&p, r.TopP, ParamTopP)
	setIf(&p, r.TopK, ParamTopK)
	setIf(&p, r.FrequencyPenalty, ParamFrequencyPenalty)
	setIf(&p, r.PresencePenalty, ParamPresencePenalty)
	setIf(&p, r.Seed, ParamSeed)
	setIf(&p, r.LogProbs, ParamLogProbs)
	setIf(&p, r.TopLogProbs, ParamTopLogProbs)
	setIf(&p, string(r.User), ParamUser)
	setIf(&p, r.ParallelTools, ParamParallelTools)
	if len(r.Stop) > 0 {
		p |= ParamStop
	}
	if r.N > 1 {
		p |= ParamN
	}
	if r.ToolChoice.Choice != ChoiceUnset && r.ToolChoice.Choice != ChoiceAuto {
		p |= ParamToolChoice
	}
	switch r.Format.Kind {
	case FormatJSON:
		p |= ParamFormatJSON
	case FormatSchema:
		p |= ParamFormatSchema
	}
	if r.Reasoning != (Reasoning{}) {
		p |= ParamReasoning
	}
	for i := range r.Tools {
		p |= ParamTools
		setIf(&p, r.Tools[i].Cache, ParamCache)
		if r.Tools[i].Name == "" {
			setIf(&p, r.Tools[i].Raw, ParamOwnTools)
		}
	}
	for i := range r.Messages {
		setIf(&p, string(r.Messages[i].Name), ParamName)
		p |= contents(r.Messages[i].Parts)
	}
	if len(r.Omitted) > 0 {
		p |= ParamOwnTools
	}
	if r.Dialect != Responses {
		p &^= ParamAlienThinking
	}
	return p
}

func contents(parts []Part) Params {
	var p Params
	for i := range parts {
		part := &parts[i]
		setIf(&p, part.Cache, ParamCache)
		switch part.Kind {
		case Image:
			p |= ParamImages
			setIf(&p, string(part.URL), ParamImageURLs)
		case File:
			p |= ParamFiles
		case Audio:
			p |= ParamAudio
		case Thinking, Redacted:
			p |= ParamThinking
			if strings.Contains(string(part.Signature), ":") {
				p |= ParamMarkedThinking
			}
			if (part.Signature != "" || part.Kind == Redacted) && !strings.HasPrefix(string(part.Signature), "openai:") {
				p |= ParamAlienThinking
			}
		case Foreign:
			p |= ParamForeign
		case Own:
			p |= ParamOwnTools
		case ToolResult:
			p |= contents(part.Parts)
		}
	}
	return p
}

// Drop removes the parameters that a target does not support. It replaces unsupported content with a note.
func (r *Request) Drop(supported Params) {
	lacks := ^supported
	clearIf := func(p Params, text *string) {
		if lacks&p != 0 {
			*text = ""
		}
	}
	clearIf(ParamTemperature, &r.Temperature)
	clearIf(ParamTopP, &r.TopP)
	clearIf(ParamTopK, &r.TopK)
	clearIf(ParamFrequencyPenalty, &r.FrequencyPenalty)
	clearIf(ParamPresencePenalty, &r.PresencePenalty)
	clearIf(ParamSeed, &r.Seed)
	clearIf(ParamLogProbs, &r.LogProbs)
	clearIf(ParamTopLogProbs, &r.TopLogProbs)
	clearIf(ParamParallelTools, &r.ParallelTools)
	if lacks&ParamUser != 0 {
		r.User = ""
	}
	if lacks&ParamStop != 0 {
		r.Stop = nil
	}
	if lacks&ParamN != 0 {
		r.N = 0
	}
	if lacks&ParamToolChoice != 0 {
		r.ToolChoice = ToolChoice{}
	}
	if r.Format.Kind == FormatSchema && lacks&ParamFormatSchema != 0 {
		r.Format = Format{Kind: FormatJSON}
	}
	if r.Format.Kind == FormatJSON && lacks&ParamFormatJSON != 0 {
		r.Format = Format{}
	}
	if lacks&ParamReasoning != 0 {
		r.Reasoning = Reasoning{}
	}
	r.dropInMessages(lacks)
}

func (r *Request) dropInMessages(lacks Params) {
	if lacks&(ParamCache|ParamThinking|ParamName|Content) == 0 {
		return
	}
	for i := range r.Tools {
		if lacks&ParamCache != 0 {
			r.Tools[i].Cache = ""
		}
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		if lacks&ParamName != 0 {
			m.Name = ""
		}
		m.Parts = r.dropParts(m.Parts, lacks)
	}
}

func (r *Request) dropParts(parts []Part, lacks Params) []Part {
	kept := parts[:0]
	for _, p := range parts {
		if lacks&ParamThinking != 0 && (p.Kind == Thinking || p.Kind == Redacted) {
			continue
		}
		if what := p.unsupported(lacks); what != "" {
			if p.Kind == Foreign {
				r.Omit(string(p.Name))
			}
			p = Part{Kind: Text, Text: LeftOut(what), Cache: p.Cache}
		}
		if lacks&ParamCache != 0 {
			p.Cache = ""
		}
		p.Parts = r.dropParts(p.Parts, lacks)
		kept = append(kept, p)
	}
	return kept
}

func (p *Part) unsupported(lacks Params) jsontext.Escaped {
	switch {
	case p.Kind == Image && (lacks&ParamImages != 0 || p.URL != "" && lacks&ParamImageURLs != 0):
		return "image"
	case p.Kind == File && lacks&ParamFiles != 0:
		return "file"
	case p.Kind == Audio && lacks&ParamAudio != 0:
		return "audio"
	case p.Kind == Foreign && lacks&ParamForeign != 0:
		return p.Name[strings.IndexByte(string(p.Name), '.')+1:]
	}
	return ""
}

// LeftOut returns the note that replaces a part that a target does not support. The model then knows of the part, and
// no message is empty.
func LeftOut(what jsontext.Escaped) jsontext.Escaped {
	return "[A part of type " + what + " was left out: this model does not support it.]"
}

// ForeignPart returns a part for content of an unknown kind in the given field. If a kind is not a plain name, it is
// not repeated.
func ForeignPart(member, kind string) Part {
	if !isName(jsontext.Escaped(kind)) {
		kind = "unknown"
	}
	return Part{Kind: Foreign, Name: jsontext.Escaped(member + "." + kind)}
}

// Question returns the kinds of content in the user's last turn, if the turn has only such content. Otherwise, it
// returns none. If a target supports none of the kinds, it does not get the question.
func (r *Request) Question() (p Params) {
	for i := len(r.Messages) - 1; i >= 0 && r.Messages[i].Role != Assistant; i-- {
		m := &r.Messages[i]
		if m.Role == System {
			continue
		}
		for j := range m.Parts {
			kinds := contents(m.Parts[j:j+1]) & Content
			if m.Parts[j].Kind == ToolResult || kinds == 0 && m.Parts[j].Text != "" {
				return 0
			}
			p |= kinds
		}
	}
	return p
}

// Loses reports whether a target that lacks the parameters in p would get none of a question's content.
func (p Params) Loses(question Params) bool {
	if p&question&ParamImageURLs != 0 {
		p |= ParamImages
	}
	return question != 0 && question&^p&^ParamImageURLs == 0
}
