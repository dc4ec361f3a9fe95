package fakeprovider

import (
	"strings"

	"github.com/tidwall/gjson"
)

// moderationWire speaks the moderations of OpenAI and Mistral. Mistral's models have their own categories and accept
// only text. Sources: OpenAI's API reference, "Create moderation"; Mistral's, "Moderations"
// (docs.mistral.ai/api/endpoint/classifiers).
var moderationWire = &wire{
	family: "openai", refuse: refuseModerations, failure: openaiWire.failure,
	otherOps: map[string]func(*request, *Behavior) raw{"moderate": moderate},
}

func refuseModerations(q *request) *refusal {
	if f := openaiWire.refuse(q); f != nil && f.status == 401 {
		return f
	}
	input, model := q.root.Get("input"), q.root.Get("model").Str
	switch {
	case unknown(q.root, "input model") != "":
		return bad("Unrecognized request argument supplied: " + unknown(q.root, "input model"))
	case !strings.Contains(model, "moderation"):
		return bad("Invalid value for 'model'.")
	case input.Type != gjson.String && len(input.Array()) == 0:
		return bad("Missing required parameter: 'input'.")
	case isMistral(model) && input.Get("0").IsObject():
		return &refusal{status: 422, message: "Input should be a valid string"}
	}
	return nil
}

func isMistral(model string) bool { return strings.HasPrefix(model, "mistral-") }

// moderate returns {"id","model","results":[…]}. An input with the word "violent" is flagged. A list of content parts is one input.
func moderate(q *request, _ *Behavior) raw {
	var results []raw
	input, model := q.root.Get("input"), q.root.Get("model").Str
	if input.IsArray() && !input.Get("0").IsObject() {
		for _, text := range input.Array() {
			results = append(results, moderation(model, text.Raw))
		}
	} else {
		results = append(results, moderation(model, input.Raw))
	}
	return object("id", "modr-fake", "model", model, "results", results)
}

func moderation(model, input string) raw {
	hit, score := strings.Contains(input, "violent"), 0.01
	if hit {
		score = 0.97
	}
	if isMistral(model) {
		return object("categories", object("violence_and_threats", hit, "pii", false), "category_scores", object("violence_and_threats", score, "pii", 0.02))
	}
	return object("flagged", hit, "categories", object("violence", hit, "sexual", false), "category_scores", object("violence", score, "sexual", 0.02),
		"category_applied_input_types", object("violence", array("text"), "sexual", array("text")))
}
