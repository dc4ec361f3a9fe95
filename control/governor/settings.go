package governor

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/schema"
)

// Bounds of the Governor's settings.
const (
	maxWords           = 1000 // of one list
	minWordBytes       = 2
	maxWordBytes       = 120
	maxCharacters      = 10_000_000
	maxClassifierMs    = 10_000
	minClassifierMs    = 100
	defaultTimeoutMs   = 2000
	defaultProbability = 50
)

// governorSettings takes all fields of the Governor's settings. A missing field gets its default.
func (h *handler) governorSettings(f *kernel.Fields) governor.Settings {
	s := governor.NewSettings()
	s.Enabled, _ = f.Boolean("enabled")
	s.Strict, _ = f.Boolean("strictMode")
	threshold, given := f.Integer("autoApproveThreshold", 0, governor.MaxRisk)
	kernel.Set(given, &s.AutoApprove, threshold)
	reversible, given := f.Boolean("reversible")
	kernel.Set(given, &s.Reversible, reversible)
	s.BlockUnchecked = f.DefaultedChoice("unchecked", []string{"allow", "block"}) == "block"
	s.Actions = takeRuleActions(f)
	s.Lists = takeKeywordLists(f)
	s.Patterns = takeGovernorPatterns(f)
	s.Schema = takeAnswerSchema(f)
	s.MaxInput = takeCharacters(f, "maxInputCharacters")
	s.MaxOutput = takeCharacters(f, "maxOutputCharacters")
	s.Classifier = h.classifier(f)
	s.Exemptions = takeExemptions(f, &s)
	if exempt, given := f.Boolean("exemptAgentAddresses"); given {
		s.AgentAddresses = exempt
	}
	return s
}

// takeExemptions takes the field "exemptions". Exemptions may refer to the keyword lists and patterns in s. Messages
// do not repeat values, because they may be confidential.
func takeExemptions(f *kernel.Fields, s *governor.Settings) (exemptions []governor.Exemption) {
	for i, inner := range takeOptionalObjects(f, "exemptions", governor.MaxExemptions) {
		var one governor.Exemption
		if !inner.Null("rule") {
			one.Rule, _ = inner.Text("rule", "")
		}
		value, hasValue := takeOptionalText(inner, "value")
		source, hasSource := takeOptionalText(inner, "pattern")
		one.Value, one.Source = value, source
		switch {
		case hasValue == hasSource:
			inner.Problem("value", "must be set unless pattern is set; set only one of them")
		case hasValue && len(inner.Problems) == 0 && (value == "" || !governor.IsExemptible(value)):
			inner.Problem("value", "must have 1 to "+strconv.Itoa(governor.MaxExempted)+" bytes and no control characters, got "+strconv.Itoa(len(value))+" bytes")
		case hasSource:
			compiled, err := compilePattern(source)
			if err != nil {
				inner.Problem("pattern", err.Error())
			}
			one.Program = compiled.Program
		}
		if !s.MayExempt(one.Rule) {
			inner.Problem("rule", "must be a rule or category that finds texts; see GET /api/admin/governor/rules")
		}
		f.AddProblems("exemptions["+strconv.Itoa(i)+"]", inner)
		exemptions = append(exemptions, one)
	}
	return exemptions
}

// takeOptionalText takes a string that may be null or absent.
func takeOptionalText(f *kernel.Fields, field string) (text string, given bool) {
	if f.Null(field) {
		return "", false
	}
	given = f.Has(field)
	text, _ = f.Text(field, "")
	return text, given
}

// takeCharacters takes a limit. It returns 0 if the field is null or absent.
func takeCharacters(f *kernel.Fields, field string) uint64 {
	if f.Null(field) {
		return 0
	}
	n, _ := f.Integer(field, 1, maxCharacters)
	return n
}

func takeAction(f *kernel.Fields, field string, fallback governor.Action, choices []string) governor.Action {
	word, given := f.Choice(field, "", choices)
	if !given {
		return fallback
	}
	return kernel.Translate(word, settings.ActionWords, settings.Actions)
}

// takeRuleActions takes the field "rules", which sets actions for rules or categories. If an entry omits a direction,
// it does not change the action for that direction.
func takeRuleActions(f *kernel.Fields) (overrides []governor.RuleActions) {
	all, given := f.Object("rules")
	if !given {
		return nil
	}
	usual := map[string]settings.ActionsView{}
	for _, rule := range governorRules() {
		if _, seen := usual[rule.Category]; !seen {
			usual[rule.Category] = settings.ActionsView{Input: rule.Input, Output: rule.Output}
		}
	}
	for _, category := range categoryNames() {
		usual[category] = takeRuleEntry(all, category, category, usual[category], &overrides)
	}
	for _, rule := range governorRules() {
		takeRuleEntry(all, rule.Name, rule.Category, usual[rule.Category], &overrides)
	}
	all.RejectRest("is not a rule or category with actions; see GET /api/admin/governor/rules")
	f.AddProblems("rules", all)
	return overrides
}

// takeRuleEntry takes one entry of "rules", appends it to overrides, and returns its actions. If "rules" has no such
// entry, takeRuleEntry returns the actions in usual.
func takeRuleEntry(f *kernel.Fields, name, category string, usual settings.ActionsView, overrides *[]governor.RuleActions) settings.ActionsView {
	if !f.Has(name) {
		return usual // f.Take is not called, because messages would then list every rule
	}
	inner, ok := f.Object(name)
	if !ok {
		return usual
	}
	choices := []string{"allow", "flag", "redact", "block"}
	if isWhole(category) {
		choices = []string{"allow", "flag", "block"} // their findings have no text that could be redacted
	}
	entry := governor.RuleActions{
		Rule:   name,
		Input:  takeAction(inner, "input", kernel.Translate(usual.Input, settings.ActionWords, settings.Actions), choices),
		Output: takeAction(inner, "output", kernel.Translate(usual.Output, settings.ActionWords, settings.Actions), choices),
	}
	if !isWhole(category) {
		entry.System = takeSystem(inner, usual.System)
	}
	f.AddProblems(name, inner)
	*overrides = append(*overrides, entry)
	return settings.ViewActions(&entry)
}

// isWhole reports whether the findings of a category concern a whole request. Other findings concern a part of its
// text.
func isWhole(category string) bool { return category == governor.Length.String() }

// takeSystem takes the field "system", which is the action for system texts. If it is absent and usual is nil, system
// texts get the action for input.
func takeSystem(f *kernel.Fields, usual *string) governor.Override {
	word, given := f.Choice("system", "", []string{"allow", "flag", "redact", "block"})
	if !given && usual != nil {
		word, given = *usual, true
	}
	if !given || !slices.Contains(settings.ActionWords, word) {
		return 0
	}
	return governor.OverrideBy(kernel.Translate(word, settings.ActionWords, settings.Actions))
}

// categoryNames returns the categories of the rules that governorRules lists.
func categoryNames() (names []string) {
	for _, rule := range governorRules() {
		if !slices.Contains(names, rule.Category) {
			names = append(names, rule.Category)
		}
	}
	return names
}

// takeOptionalObjects does the same as Fields.Objects, but the array may be absent or empty.
func takeOptionalObjects(f *kernel.Fields, field string, maximum int) []*kernel.Fields {
	if value, present := f.Values[field]; !present || string(bytes.Join(bytes.Fields(value), nil)) == "[]" {
		f.Take(field)
		return nil
	}
	list, _ := f.Objects(field, maximum)
	return list
}

func takeKeywordLists(f *kernel.Fields) (lists []governor.KeywordList) {
	seen := map[string]bool{}
	for i, inner := range takeOptionalObjects(f, "keywords", governor.MaxLists) {
		list := governor.KeywordList{Name: takeRuleName(inner, seen)}
		list.Severity, list.Input, list.Output = takeWeights(inner)
		list.System = takeSystem(inner, nil)
		list.MatchCase, _ = inner.Boolean("matchCase")
		list.Words = takeWords(inner)
		f.AddProblems("keywords["+strconv.Itoa(i)+"]", inner)
		lists = append(lists, list)
	}
	return lists
}

// takeWeights takes a severity and the actions for both directions. The default severity is medium, and the default
// action is flag.
func takeWeights(f *kernel.Fields) (governor.Severity, governor.Action, governor.Action) {
	severity := kernel.Translate(f.DefaultedChoice("severity", settings.SeverityWords), settings.SeverityWords, settings.Severities)
	input := kernel.Translate(f.DefaultedChoice("input", settings.ActionWords), settings.ActionWords, settings.Actions)
	return severity, input, kernel.Translate(f.DefaultedChoice("output", settings.ActionWords), settings.ActionWords, settings.Actions)
}

// takeRuleName takes the name of a keyword list or pattern, which is required and must be unique.
func takeRuleName(f *kernel.Fields, seen map[string]bool) string {
	name, given := f.Text("name", "")
	switch {
	case !given && len(f.Problems) == 0:
		f.Problem("name", "is required")
	case given && !isRuleName(name):
		f.Problem("name", "must have 1 to 32 lowercase letters, digits and hyphens, the first of them a letter"+kernel.Got(name))
	case given && seen[name]:
		f.Problem("name", "must be unique"+kernel.Got(name))
	}
	seen[name] = true
	return name
}

func isRuleName(name string) bool {
	return name != "" && len(name) <= governor.MaxNameLength && name[0] >= 'a' && name[0] <= 'z' && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}

// takeWords takes the words of a keyword list. Messages do not repeat them, because they may be confidential.
func takeWords(f *kernel.Fields) (words []string) {
	value, given := f.Take("words")
	switch {
	case !given:
		f.Problem("words", "is required")
	case len(value) == 0 || value[0] != '[' || json.Unmarshal(value, &words) != nil:
		f.Problem("words", "must be an array of strings, got "+kernel.KindOrMixed(value))
		return nil
	case len(words) == 0 || len(words) > maxWords:
		f.Problem("words", "must have 1 to "+strconv.Itoa(maxWords)+" elements, got "+strconv.Itoa(len(words)))
	}
	for i, word := range words {
		if len(word) < minWordBytes || len(word) > maxWordBytes || strings.ContainsFunc(word, unicode.IsControl) {
			f.Problem("words["+strconv.Itoa(i)+"]", "must have 2 to 120 bytes and no control characters, got "+strconv.Itoa(len(word))+" bytes")
			break
		}
	}
	return words
}

func takeGovernorPatterns(f *kernel.Fields) (patterns []governor.Pattern) {
	seen := map[string]bool{}
	for i, inner := range takeOptionalObjects(f, "patterns", governor.MaxPatterns) {
		pattern := governor.Pattern{Name: takeRuleName(inner, seen)}
		source, given := inner.Text("pattern", "")
		switch {
		case !given && len(inner.Problems) == 0:
			inner.Problem("pattern", "is required")
		case given:
			compiled, err := compilePattern(source)
			if err != nil {
				inner.Problem("pattern", err.Error())
			}
			pattern.Program, pattern.MaxLength = compiled.Program, compiled.MaxLength
		}
		pattern.Source = source
		pattern.Severity, pattern.Input, pattern.Output = takeWeights(inner)
		pattern.System = takeSystem(inner, nil)
		f.AddProblems("patterns["+strconv.Itoa(i)+"]", inner)
		patterns = append(patterns, pattern)
	}
	return patterns
}

// takeAnswerSchema takes the field "answerSchema". If it is null or absent, there is no schema.
func takeAnswerSchema(f *kernel.Fields) governor.AnswerSchema {
	answer := governor.NewSettings().Schema
	if f.Null("answerSchema") {
		return answer
	}
	inner, given := f.Object("answerSchema")
	if !given {
		return answer
	}
	value, given := inner.Take("schema")
	if !given {
		inner.Problem("schema", "is required")
	} else if _, err := kernel.DecodeObject(value); err != nil {
		inner.Problem("schema", "must be a JSON object, got "+kernel.KindOf(value))
	} else {
		answer.Schema = string(compact(value))
		if err := schema.Check(answer.Schema, schema.Rejected); err != nil {
			inner.Problem("schema", err.Error())
		}
	}
	answer.Action = takeAction(inner, "action", governor.Flag, []string{"flag", "block"})
	answer.Severity = kernel.Translate(inner.DefaultedChoice("severity", settings.SeverityWords), settings.SeverityWords, settings.Severities)
	f.AddProblems("answerSchema", inner)
	return answer
}

// compact returns JSON without whitespace between tokens.
func compact(value json.RawMessage) []byte {
	var buffer bytes.Buffer
	if json.Compact(&buffer, value) != nil {
		return nil
	}
	return buffer.Bytes()
}

// classifier takes the field "classifier". If it is null or absent, there is no classifier.
func (h *handler) classifier(f *kernel.Fields) (c governor.Classifier) {
	if f.Null("classifier") {
		return c
	}
	inner, given := f.Object("classifier")
	if !given {
		return c
	}
	if !inner.Has("kind") {
		inner.Problem("kind", "is required")
	}
	kind, _ := inner.Choice("kind", "", settings.ClassifierWords)
	c.Kind = kernel.Translate(kind, settings.ClassifierWords, settings.ClassifierKinds)
	c.Model = h.classifierModel(inner, c.Kind)
	c.Strict = inner.DefaultedChoice("mode", []string{"monitor", "strict"}) == "strict"
	c.TimeoutMs, given = inner.Integer("timeoutMs", minClassifierMs, maxClassifierMs)
	kernel.Set(!given, &c.TimeoutMs, defaultTimeoutMs)
	c.FailClosed = inner.DefaultedChoice("onFailure", []string{"allow", "block"}) == "block"
	c.Threshold, given = inner.Integer("threshold", 1, 100)
	kernel.Set(!given, &c.Threshold, defaultProbability)
	f.AddProblems("classifier", inner)
	return c
}

// moderationModel is the default model of OpenAI's moderation endpoint.
// Source: OpenAI's API reference, "Create moderation".
const moderationModel = "omni-moderation-latest"

// classifierModel takes the field "model": a chat model from the catalog or a model of the moderation endpoint.
func (h *handler) classifierModel(f *kernel.Fields, kind governor.ClassifierKind) string {
	if kind == governor.ModerationClassifier {
		if f.Null("model") {
			return moderationModel
		}
		name, given := f.Text("model", moderationModel)
		if given && !kernel.IsModelName(name) {
			f.Problem("model", "must be the name of a model"+kernel.Got(name))
		}
		return name
	}
	name, given := f.Text("model", "")
	if !given && len(f.Problems) == 0 {
		f.Problem("model", "is required")
	}
	model := h.Catalog.Model(name)
	if given && (model == nil || model.APIs&config.APIsOfChat == 0) {
		f.Problem("model", "must be a chat model from the catalog"+kernel.Got(name)+"; see GET /api/admin/catalog")
	}
	return name
}
