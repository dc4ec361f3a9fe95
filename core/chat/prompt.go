package chat

// tokensPerMessage is what a message's frame costs in the common chat formats.
const tokensPerMessage = 4

// tokensPerImage is what an image of usual size costs (OpenAI's 765 and Anthropic's up to 1,600 are typical).
const tokensPerImage = 1000

// PromptTokens estimates what the request will cost to read.
func (r *Request) PromptTokens() (n uint64) {
	for i := range r.Messages {
		n += tokensPerMessage + partTokens(r.Messages[i].Parts)
	}
	for i := range r.Tools {
		t := &r.Tools[i]
		n += tokensPerMessage + EstimateTokens(t.Name) + EstimateTokens(t.Description) + uint64(len(t.Schema)+len(t.Raw)+3)/4
	}
	return n + uint64(len(r.Format.Schema)+3)/4
}

func partTokens(parts []Part) (n uint64) {
	for i := range parts {
		switch p := &parts[i]; p.Kind {
		case Image:
			n += tokensPerImage
		case File, Audio:
			n += max(tokensPerImage, uint64(len(p.Data))/32)
		default:
			n += EstimateTokens(p.Text) + uint64(len(p.Args)+3)/4 + partTokens(p.Parts)
		}
	}
	return n
}
