package apply

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/big"
	"time"
)

// The functions in this file compare declared values with the API's values. First, they convert the declared values
// to the form of the API.

func object(raw json.RawMessage) (members map[string]json.RawMessage, ok bool) {
	err := json.Unmarshal(raw, &members)
	return members, err == nil && members != nil
}

func encode(v any) json.RawMessage {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // values that were decoded
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// withDefaults adds missing fields to an object. Anything else is returned unchanged so that the API rejects it.
func withDefaults(raw json.RawMessage, defaults map[string]string) json.RawMessage {
	members, ok := object(raw)
	if !ok {
		return raw
	}
	for name, value := range defaults {
		if _, present := members[name]; !present {
			members[name] = json.RawMessage(value)
		}
	}
	return encode(members)
}

// eachElement maps the elements of a list. eachMember does the same for the values of an object.
func eachElement(raw json.RawMessage, f func(json.RawMessage) json.RawMessage) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || list == nil {
		return raw
	}
	for i := range list {
		list[i] = f(list[i])
	}
	return encode(list)
}

func eachMember(raw json.RawMessage, f func(name string, value json.RawMessage) json.RawMessage) json.RawMessage {
	members, ok := object(raw)
	if !ok {
		return raw
	}
	for name, value := range members {
		members[name] = f(name, value)
	}
	return encode(members)
}

// Defaults of nested fields. They are the API's defaults; tests compare them.
var (
	periodDefaults     = map[string]string{"requestsPerPeriod": "null", "tokensPerPeriod": "null"}
	limitDefaults      = map[string]string{"requestsPerSecond": "null", "requestsPerDay": "null", "tokensPerMinute": "null"}
	routeDefaults      = map[string]string{"strategy": `"weighted"`}
	targetDefaults     = map[string]string{"weight": "1"}
	weightDefaults     = map[string]string{"severity": `"medium"`, "input": `"flag"`, "output": `"flag"`}
	keywordDefaults    = map[string]string{"severity": `"medium"`, "input": `"flag"`, "output": `"flag"`, "matchCase": "false"}
	answerDefaults     = map[string]string{"action": `"flag"`, "severity": `"medium"`}
	classifierDefaults = map[string]string{"mode": `"monitor"`, "timeoutMs": "2000", "onFailure": `"allow"`, "threshold": "50"}
)

// projectField returns a declared field of a project as the API shows it.
func projectField(name string, raw json.RawMessage) json.RawMessage {
	if name != "routes" {
		return groupField(name, raw)
	}
	return eachMember(raw, func(_ string, route json.RawMessage) json.RawMessage {
		return eachMember(withDefaults(route, routeDefaults), func(name string, value json.RawMessage) json.RawMessage {
			if name == "targets" {
				value = eachElement(value, func(target json.RawMessage) json.RawMessage { return withDefaults(target, targetDefaults) })
			}
			return value
		})
	})
}

// keyField returns a declared field of a key as the API shows it. limits are the key's present limits. They tell
// whether the deployment has limits per budget period.
func keyField(name string, raw, limits json.RawMessage) json.RawMessage {
	switch name {
	case "limits":
		if present, ok := object(limits); ok {
			defaults := maps.Clone(limitDefaults)
			for name := range present {
				defaults[name] = "null"
			}
			return withDefaults(raw, defaults)
		}
		return withDefaults(raw, limitDefaults)
	case "expiresAt":
		return moment(raw)
	}
	return raw
}

// governorField returns a declared field of the Governor's settings as the API shows it. usual contains the default
// actions of rules and categories.
func governorField(name string, raw json.RawMessage, usual map[string]actionPair) json.RawMessage {
	switch name {
	case "rules":
		return ruleActions(raw, usual)
	case "keywords":
		return eachElement(raw, func(list json.RawMessage) json.RawMessage { return withDefaults(list, keywordDefaults) })
	case "patterns":
		return eachElement(raw, func(pattern json.RawMessage) json.RawMessage { return withDefaults(pattern, weightDefaults) })
	case "exemptions":
		return eachElement(raw, func(one json.RawMessage) json.RawMessage { return withDefaults(one, map[string]string{"rule": "null"}) })
	case "answerSchema":
		return withDefaults(raw, answerDefaults)
	case "classifier":
		raw = withDefaults(raw, classifierDefaults)
		if members, ok := object(raw); ok && string(members["kind"]) == `"moderation"` && isNull(members["model"]) {
			members["model"] = json.RawMessage(`"omni-moderation-latest"`)
			raw = encode(members)
		}
	}
	return raw
}

// actionPair is a rule or category with its default actions.
type actionPair struct{ Name, Category, Input, Output string }

// ruleActions adds the directions that overrides leave out. Each gets the action that the override of the rule's
// category has. If there is no such override, it gets the default action.
func ruleActions(raw json.RawMessage, usual map[string]actionPair) json.RawMessage {
	all, ok := object(raw)
	if !ok {
		return raw
	}
	quoted := func(rule string) map[string]string {
		return map[string]string{"input": string(encode(usual[rule].Input)), "output": string(encode(usual[rule].Output))}
	}
	out := map[string]json.RawMessage{}
	for name, value := range all {
		defaults := quoted(name)
		if category := usual[name].Category; category != name {
			defaults = quoted(category)
			if override, isSet := object(all[category]); isSet {
				for direction, action := range override {
					defaults[direction] = string(action)
				}
			}
		}
		out[name] = withDefaults(value, defaults)
	}
	return encode(out)
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// moment returns a date or time in the format of the API.
func moment(raw json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return raw
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return encode(at.UTC().Format("2006-01-02T15:04:05.000Z"))
		}
	}
	return raw
}

// same reports whether two JSON values are equal. It compares numbers by value and objects in any order.
func same(a, b json.RawMessage) bool {
	x, xErr := decode(a)
	y, yErr := decode(b)
	return xErr == nil && yErr == nil && equal(x, y)
}

func decode(raw json.RawMessage) (v any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	err = decoder.Decode(&v)
	return v, err
}

func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, value := range a {
			if other, present := b[name]; !present || !equal(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case json.Number:
		b, ok := b.(json.Number)
		return ok && sameNumber(a.String(), b.String())
	}
	return a == b
}

const maxDigits = 64 // maximum length of numbers that are compared exactly; with a large exponent, a big.Rat could become huge

func sameNumber(a, b string) bool {
	if a == b || len(a) > maxDigits || len(b) > maxDigits || bytes.ContainsAny([]byte(a+b), "eE") {
		x, _ := new(big.Float).SetPrec(200).SetString(a)
		y, _ := new(big.Float).SetPrec(200).SetString(b)
		return a == b || x != nil && y != nil && x.Cmp(y) == 0
	}
	x, xOK := new(big.Rat).SetString(a)
	y, yOK := new(big.Rat).SetString(b)
	return xOK && yOK && x.Cmp(y) == 0
}
