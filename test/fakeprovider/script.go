package fakeprovider

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

// Rule is a part of a scripted session: the provider's responses after a user message with a given text, one step per
// request. The state of the session is in the request. The step is the number of tool results after that message, so
// a repeated request gets the same response. If several rules match, the one whose text occurs last in the
// conversation applies.
type Rule struct {
	User  string `json:"user"` // a text of a user message
	Steps []Step `json:"steps"`
}

// Step is one scripted response. A step with calls applies only to requests that offer all its tools, because an
// agent also asks for titles and summaries.
type Step struct {
	Thinking string         `json:"thinking,omitempty"`
	Text     string         `json:"text,omitempty"`
	Calls    []ScriptedCall `json:"calls,omitempty"`
	Usage    *ScriptedUsage `json:"usage,omitempty"`
}

// ScriptedCall is a tool call. Input is the text for a custom tool. If the tool is a function, it is the value of the
// function's first parameter.
type ScriptedCall struct {
	Tool  string `json:"tool"`
	Args  raw    `json:"args,omitempty"`
	Input string `json:"input,omitempty"`
}

// ScriptedUsage replaces the usage of a response, in tokens. Input includes Cached and Written.
type ScriptedUsage struct {
	Input   int `json:"input"`
	Cached  int `json:"cached,omitempty"`  // read from the provider's cache
	Written int `json:"written,omitempty"` // to the provider's cache
	Output  int `json:"output"`
}

// turn is a user message, and the tool results before the next user message.
type turn struct {
	text    string
	results int
}

// Script sets the rules for all later requests.
func (s *Server) Script(rules ...Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = rules
}

// scripted takes the response from the rules. It returns false if no rule applies.
func (a *answer) scripted(rules []Rule) bool {
	rule, results := a.rule(rules)
	if rule < 0 || len(rules[rule].Steps) == 0 {
		return false
	}
	n := min(results, len(rules[rule].Steps)-1)
	step := rules[rule].Steps[n]
	key := fmt.Sprintf("%dx%d", rule, n)
	var calls []call
	for i, c := range step.Calls {
		made, ok := a.scriptedCall(c)
		if !ok {
			return false
		}
		made.key = fmt.Sprintf("%sx%d", key, i)
		calls = append(calls, made)
	}
	a.key = key
	if a.calls = calls; len(calls) > 0 {
		a.finish = "tools"
	}
	if step.Thinking != "" {
		a.thinking, a.reasoning = pieces(step.Thinking, 64), ReasoningTokens
	}
	if a.addWords(step.Text); step.Usage != nil {
		a.usage, a.cached = step.Usage, step.Usage.Cached
	}
	return true
}

// rule returns the index of the rule that applies, or -1. It also returns the number of tool results after the rule's
// message.
func (p *prompt) rule(rules []Rule) (rule, results int) {
	for i := len(p.turns) - 1; i >= 0; i-- {
		t := p.turns[i]
		results += t.results
		rule, at := -1, -1
		for n, r := range rules {
			if found := strings.LastIndex(t.text, r.User); found > at {
				rule, at = n, found
			}
		}
		if rule >= 0 {
			return rule, results
		}
	}
	return -1, 0
}

func (p *prompt) scriptedCall(c ScriptedCall) (call, bool) {
	for _, t := range append(p.tools[:len(p.tools):len(p.tools)], p.custom...) {
		if t.name != c.Tool {
			continue
		}
		if c.Input == "" {
			return call{name: t.name, args: string(c.Args)}, true
		}
		if t.custom {
			return call{name: t.name, args: c.Input, custom: true}, true
		}
		first := ""
		t.schema.Get("properties").ForEach(func(name, _ gjson.Result) bool { first = name.Str; return false })
		return call{name: t.name, args: string(object(first, c.Input))}, true
	}
	return call{}, false
}

// id returns the ID of the nth call of a response.
func (c *call) id(prefix string, n int) string {
	if c.key != "" {
		return prefix + c.key
	}
	return id(prefix, n)
}

// id returns the ID of the response, or of its only item of a kind, depending on the prefix.
func (a *answer) id(prefix string) string {
	if a.key != "" {
		return prefix + a.key
	}
	return id(prefix, 0)
}

func (a *answer) input() int {
	if a.usage != nil {
		return a.usage.Input
	}
	return InputTokens
}

func (a *answer) output() int {
	if a.usage != nil {
		return a.usage.Output
	}
	return OutputTokens
}

// written returns the number of tokens that the provider wrote to its cache, for both lifetimes together.
func (a *answer) written() int {
	if a.usage != nil {
		return a.usage.Written
	}
	return a.minutes + a.hour
}

// reported returns the usage in the response, or nil if there is none. Only Anthropic reports cache writes.
func (a *answer) reported(family string) *ScriptedUsage {
	if !a.hasUsage {
		return nil
	}
	u := &ScriptedUsage{Input: a.input(), Cached: a.cached, Output: a.output()}
	if family == "anthropic" {
		u.Written = a.written()
	}
	return u
}
