package fakeprovider

import (
	"strings"

	"github.com/tidwall/gjson"
)

// completionsMembers are the parameters of OpenAI's legacy completions. Source: OpenAI's API reference, "Create completion".
const completionsMembers = "model prompt best_of echo frequency_penalty logit_bias logprobs max_tokens n presence_penalty seed stop " +
	"stream stream_options suffix temperature top_p user"

// completionsWire speaks OpenAI's legacy completions.
var completionsWire = &wire{
	family: "completions", refuse: refuseCompletion, prompt: completionPrompt, whole: wholeCompletion, events: completionEvents,
	failure: openaiWire.failure, streamError: openaiWire.streamError,
}

func refuseCompletion(q *request) *refusal {
	v := q.root
	best, n := v.Get("best_of"), max(v.Get("n").Int(), 1)
	switch name := unknown(v, completionsMembers); {
	case !q.bearer():
		return &refusal{status: 401, message: "You didn't provide an API key."}
	case v.Get("model").Str == "":
		return bad("you must provide a model parameter")
	case name != "":
		return bad("Unrecognized request argument supplied: " + name)
	case best.Exists() && best.Int() < n, best.Int() > 1 && v.Get("stream").Bool():
		return bad("Invalid 'best_of'.")
	case v.Get("logprobs").Int() > 5:
		return bad("Invalid 'logprobs'.")
	}
	return nil
}

func completionPrompt(q *request) prompt {
	v := q.root
	p := prompt{model: v.Get("model").Str, stream: v.Get("stream").Bool(), includeUsage: v.Get("stream_options.include_usage").Bool()}
	prompts := v.Get("prompt").Array()
	if v.Get("prompt.0").Type == gjson.Number {
		prompts = prompts[:1]
	}
	p.choices = len(prompts) * int(max(v.Get("n").Int(), 1))
	p.startMessage(true)
	p.addText(prompts[len(prompts)-1].Str)
	return p
}

func completionObject(a *answer, choices raw, usage any) raw {
	return object("id", "cmpl-1", "object", "text_completion", "created", created, "model", a.model, "choices", choices, "usage", usage)
}

func completionUsage(a *answer) any {
	return only(a.hasUsage, object("prompt_tokens", InputTokens, "completion_tokens", OutputTokens, "total_tokens", InputTokens+OutputTokens))
}

// completionLogs returns the log probabilities of a one-token text, in this API's format.
func completionLogs(text string) raw {
	return object("tokens", array(raw(`"`+strings.ReplaceAll(text, "\n", `\n`)+`"`)), "token_logprobs", raw("[-0.5]"), "top_logprobs", nil, "text_offset", raw("[0]"))
}

func wholeCompletion(a *answer) raw {
	var choices []raw
	for i := range a.choices {
		choices = append(choices, object("text", a.fullText(), "index", i, "logprobs", completionLogs(a.fullText()),
			"finish_reason", (&dialect{}).finish(a.finish)))
	}
	return completionObject(a, array(choices...), completionUsage(a))
}

func completionEvents(a *answer) (events []event) {
	add := func(kind eventKind, choice int, piece, finish string) {
		var usage any = absent{}
		if a.includeUsage {
			usage = nil
		}
		choices := array(object("text", piece, "index", choice, "logprobs", completionLogs(piece), "finish_reason", orNull(finish)))
		events = append(events, event{kind: kind, data: completionObject(a, choices, usage)})
	}
	for i := range a.choices {
		for _, piece := range a.text {
			add(text, i, piece, "")
		}
		add(middle, i, "", (&dialect{}).finish(a.finish))
	}
	if a.includeUsage && a.hasUsage {
		events = append(events, event{kind: usage, data: completionObject(a, raw("[]"), completionUsage(a))})
	}
	return append(events, event{data: []byte("[DONE]"), kind: endMark})
}
