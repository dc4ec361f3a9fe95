package chat

// Verbosity is how Responses requests spell the verbosity of the answer, which is a member of another member there.
const Verbosity = "text.verbosity"

// equals are the members that OpenAI's two APIs share. Source: OpenAI's API reference, "Create a model response" and "Create chat
// completion" (developers.openai.com/api/reference), as of 2026-11.
var equals = [...]struct{ responses, openai string }{
	{Verbosity, "verbosity"}, {"prompt_cache_key", "prompt_cache_key"}, {"prompt_cache_retention", "prompt_cache_retention"},
	{"prompt_cache_options", "prompt_cache_options"}, {"safety_identifier", "safety_identifier"}, {"metadata", "metadata"},
}

// Carry moves the extra members that a target of another dialect has too from Extra to Carried, in the target's spelling. takes reports
// whether the target accepts a member that its dialect has. What the target cannot say is noted in Omitted.
func (r *Request) Carry(to Dialect, takes func(name string) bool) {
	kept := r.Extra[:0]
	for _, m := range r.Extra {
		if name := equivalent(r.Dialect, to, m.Name); name != "" && takes(m.Name) {
			r.Carried = append(r.Carried, Member{name, m.Value})
			continue
		}
		kept = append(kept, m)
	}
	r.Extra = kept
	switch {
	case to != OpenAI || !r.Reasoning.Visible: // chat completions cannot ask for a summary
	case r.Dialect == Responses:
		r.Omit("reasoning.summary")
	case r.Dialect == Anthropic:
		r.Omit("thinking.display")
	}
}

// equivalent returns a member's name in another dialect; empty if it has none there. The native API's metadata is OpenAI's.
func equivalent(from, to Dialect, name string) string {
	for _, e := range equals {
		switch {
		case from == Responses && to == OpenAI && e.responses == name:
			return e.openai
		case (from == OpenAI || from == Native) && to == Responses && e.openai == name:
			return e.responses
		case from == Native && to == OpenAI && e.openai == name:
			return name
		}
	}
	return ""
}
