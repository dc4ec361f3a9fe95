package chat

// Verbosity is the path of the verbosity setting in Responses requests.
const Verbosity = "text.verbosity"

// equals lists the fields that OpenAI's two APIs share. Source: OpenAI's API reference, "Create a model response" and
// "Create chat completion" (developers.openai.com/api/reference), as of 2026-11.
var equals = [...]struct{ responses, openai string }{
	{Verbosity, "verbosity"}, {"prompt_cache_key", "prompt_cache_key"}, {"prompt_cache_retention", "prompt_cache_retention"},
	{"prompt_cache_options", "prompt_cache_options"}, {"safety_identifier", "safety_identifier"}, {"metadata", "metadata"},
}

// Carry is for a target with another dialect. If that dialect also has a field of Extra, Carry moves the field to
// Carried, under its name in that dialect. takes reports whether the target accepts a field of its dialect. Omitted
// notes the settings that the dialect cannot express.
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

// chat completions have no summaries
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
