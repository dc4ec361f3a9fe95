package control

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"

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

// The API's words and their internal values, in the same order. The first is the default.
var (
	actionWords     = []string{"flag", "allow", "redact", "block"}
	actions         = []governor.Action{governor.Flag, governor.Allow, governor.Redact, governor.Block}
	severityWords   = []string{"medium", "low", "high", "critical"}
	severities      = []governor.Severity{governor.Medium, governor.Low, governor.High, governor.Critical}
	classifierWords = []string{"chat", "moderation", "llama-guard"}
	classifierKinds = []governor.ClassifierKind{governor.ChatClassifier, governor.ModerationClassifier, governor.LlamaGuardClassifier}
)

// governorSettings takes all fields of the Governor's settings. A missing field has its default.
func (h *handler) governorSettings(f *fields) governor.Settings {
	s := governor.NewSettings()
	s.Enabled, _ = f.boolean("enabled")
	s.Strict, _ = f.boolean("strictMode")
	threshold, given := f.integer("autoApproveThreshold", 0, governor.MaxRisk)
	set(given, &s.AutoApprove, threshold)
	reversible, given := f.boolean("reversible")
	set(given, &s.Reversible, reversible)
	s.BlockUnchecked = f.defaultedChoice("unchecked", []string{"allow", "block"}) == "block"
	s.Actions = f.ruleActions()
	s.Lists = f.keywordLists()
	s.Patterns = f.governorPatterns()
	s.Schema = f.answerSchema()
	s.MaxInput = f.characters("maxInputCharacters")
	s.MaxOutput = f.characters("maxOutputCharacters")
	s.Classifier = h.classifier(f)
	return s
}

// characters takes an optional limit; null or absent: none.
func (f *fields) characters(field string) uint64 {
	if f.null(field) {
		return 0
	}
	n, _ := f.integer(field, 1, maxCharacters)
	return n
}

// action takes a direction's action.
func (f *fields) action(field string, fallback governor.Action, choices []string) governor.Action {
	word, given := f.choice(field, "", choices)
	if !given {
		return fallback
	}
	return translate(word, actionWords, actions)
}

// ruleActions takes the field "rules": actions by rule or category. A missing direction has the action that
// it would have without the entry.
func (f *fields) ruleActions() (overrides []governor.RuleActions) {
	all, given := f.object("rules")
	if !given {
		return nil
	}
	usual := map[string]actionsView{}
	for _, rule := range governorRules() {
		if _, seen := usual[rule.Category]; !seen {
			usual[rule.Category] = actionsView{rule.Input, rule.Output}
		}
	}
	for _, category := range categoryNames() {
		usual[category] = all.ruleEntry(category, category, usual[category], &overrides)
	}
	for _, rule := range governorRules() {
		all.ruleEntry(rule.Name, rule.Category, usual[rule.Category], &overrides)
	}
	all.rejectRest("is not a rule or category; see GET /api/admin/governor/rules")
	f.addProblems("rules", all)
	return overrides
}

// ruleEntry takes one entry of "rules", appends it to overrides, and returns its actions; usual without one.
func (f *fields) ruleEntry(name, category string, usual actionsView, overrides *[]governor.RuleActions) actionsView {
	if _, present := f.values[name]; !present {
		return usual // without f.take: a message would list every rule
	}
	inner, ok := f.object(name)
	if !ok {
		return usual
	}
	choices := []string{"allow", "flag", "redact", "block"}
	if category == governor.Length.String() || category == governor.Classified.String() {
		choices = []string{"allow", "flag", "block"} // they have no place that could be replaced
	}
	entry := governor.RuleActions{
		Rule:   name,
		Input:  inner.action("input", translate(usual.Input, actionWords, actions), choices),
		Output: inner.action("output", translate(usual.Output, actionWords, actions), choices),
	}
	f.addProblems(name, inner)
	*overrides = append(*overrides, entry)
	return actionsView{entry.Input.String(), entry.Output.String()}
}

// categoryNames are the categories of the rules that governorRules lists.
func categoryNames() (names []string) {
	for _, rule := range governorRules() {
		if !slices.Contains(names, rule.Category) {
			names = append(names, rule.Category)
		}
	}
	return names
}

// optionalObjects is objects for an array that may be empty.
func (f *fields) optionalObjects(field string, maximum int) []*fields {
	if value, present := f.values[field]; !present || string(bytes.Join(bytes.Fields(value), nil)) == "[]" {
		f.take(field)
		return nil
	}
	list, _ := f.objects(field, maximum)
	return list
}

// keywordLists takes the field "keywords".
func (f *fields) keywordLists() (lists []governor.KeywordList) {
	seen := map[string]bool{}
	for i, inner := range f.optionalObjects("keywords", governor.MaxLists) {
		list := governor.KeywordList{Name: inner.ruleName(seen)}
		list.Severity, list.Input, list.Output = inner.weights()
		list.MatchCase, _ = inner.boolean("matchCase")
		list.Words = inner.words()
		f.addProblems("keywords["+strconv.Itoa(i)+"]", inner)
		lists = append(lists, list)
	}
	return lists
}

// weights takes a severity and the actions of both directions; the defaults are medium and flag.
func (f *fields) weights() (governor.Severity, governor.Action, governor.Action) {
	severity := translate(f.defaultedChoice("severity", severityWords), severityWords, severities)
	input := translate(f.defaultedChoice("input", actionWords), actionWords, actions)
	return severity, input, translate(f.defaultedChoice("output", actionWords), actionWords, actions)
}

// ruleName takes the required name of a keyword list or pattern, which must be unique.
func (f *fields) ruleName(seen map[string]bool) string {
	name, given := f.text("name", "")
	switch {
	case !given && len(f.problems) == 0:
		f.problem("name", "is required")
	case given && !isRuleName(name):
		f.problem("name", "must have 1 to 32 lowercase letters, digits and hyphens, the first of them a letter"+got(name))
	case given && seen[name]:
		f.problem("name", "must be unique"+got(name))
	}
	seen[name] = true
	return name
}

func isRuleName(name string) bool {
	return name != "" && len(name) <= governor.MaxNameLength && name[0] >= 'a' && name[0] <= 'z' && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}

// words takes a keyword list's words. Messages do not repeat them: they may be confidential.
func (f *fields) words() (words []string) {
	value, given := f.take("words")
	switch {
	case !given:
		f.problem("words", "is required")
	case len(value) == 0 || value[0] != '[' || json.Unmarshal(value, &words) != nil:
		f.problem("words", "must be an array of strings, got "+kindOrMixed(value))
		return nil
	case len(words) == 0 || len(words) > maxWords:
		f.problem("words", "must have 1 to "+strconv.Itoa(maxWords)+" elements, got "+strconv.Itoa(len(words)))
	}
	for i, word := range words {
		if len(word) < minWordBytes || len(word) > maxWordBytes || strings.ContainsFunc(word, unicode.IsControl) {
			f.problem("words["+strconv.Itoa(i)+"]", "must have 2 to 120 bytes and no control characters, got "+strconv.Itoa(len(word))+" bytes")
			break
		}
	}
	return words
}

// governorPatterns takes the field "patterns" and compiles each.
func (f *fields) governorPatterns() (patterns []governor.Pattern) {
	seen := map[string]bool{}
	for i, inner := range f.optionalObjects("patterns", governor.MaxPatterns) {
		pattern := governor.Pattern{Name: inner.ruleName(seen)}
		source, given := inner.text("pattern", "")
		switch {
		case !given && len(inner.problems) == 0:
			inner.problem("pattern", "is required")
		case given:
			compiled, err := compilePattern(source)
			if err != nil {
				inner.problem("pattern", err.Error())
			}
			pattern.Program, pattern.MaxLength = compiled.Program, compiled.MaxLength
		}
		pattern.Source = source
		pattern.Severity, pattern.Input, pattern.Output = inner.weights()
		f.addProblems("patterns["+strconv.Itoa(i)+"]", inner)
		patterns = append(patterns, pattern)
	}
	return patterns
}

// answerSchema takes the field "answerSchema"; null or absent: none.
func (f *fields) answerSchema() governor.AnswerSchema {
	answer := governor.NewSettings().Schema
	if f.null("answerSchema") {
		return answer
	}
	inner, given := f.object("answerSchema")
	if !given {
		return answer
	}
	value, given := inner.take("schema")
	if !given {
		inner.problem("schema", "is required")
	} else if _, err := decodeObject(value); err != nil {
		inner.problem("schema", "must be a JSON object, got "+kindOf(value))
	} else {
		answer.Schema = string(compact(value))
		if err := schema.Check(answer.Schema); err != nil {
			inner.problem("schema", err.Error())
		}
	}
	answer.Action = inner.action("action", governor.Flag, []string{"flag", "block"})
	answer.Severity = translate(inner.defaultedChoice("severity", severityWords), severityWords, severities)
	f.addProblems("answerSchema", inner)
	return answer
}

// compact returns JSON without white space between its tokens.
func compact(value json.RawMessage) []byte {
	var buffer bytes.Buffer
	if json.Compact(&buffer, value) != nil {
		return nil
	}
	return buffer.Bytes()
}

// classifier takes the field "classifier"; null or absent: none.
func (h *handler) classifier(f *fields) (c governor.Classifier) {
	if f.null("classifier") {
		return c
	}
	inner, given := f.object("classifier")
	if !given {
		return c
	}
	if _, present := inner.values["kind"]; !present {
		inner.problem("kind", "is required")
	}
	kind, _ := inner.choice("kind", "", classifierWords)
	c.Kind = translate(kind, classifierWords, classifierKinds)
	c.Model = h.classifierModel(inner, c.Kind)
	c.Strict = inner.defaultedChoice("mode", []string{"monitor", "strict"}) == "strict"
	c.TimeoutMs, given = inner.integer("timeoutMs", minClassifierMs, maxClassifierMs)
	set(!given, &c.TimeoutMs, defaultTimeoutMs)
	c.FailClosed = inner.defaultedChoice("onFailure", []string{"allow", "block"}) == "block"
	c.Threshold, given = inner.integer("threshold", 1, 100)
	set(!given, &c.Threshold, defaultProbability)
	f.addProblems("classifier", inner)
	return c
}

// moderationModel is the default model of OpenAI's moderation endpoint.
// Source: OpenAI's API reference, "Create moderation".
const moderationModel = "omni-moderation-latest"

// classifierModel takes the field "model": a chat model of the catalog, or a model of the moderation endpoint.
func (h *handler) classifierModel(f *fields, kind governor.ClassifierKind) string {
	if kind == governor.ModerationClassifier {
		if f.null("model") {
			return moderationModel
		}
		name, given := f.text("model", moderationModel)
		if given && !isModelName(name) {
			f.problem("model", "must be the name of a model"+got(name))
		}
		return name
	}
	name, given := f.text("model", "")
	if !given && len(f.problems) == 0 {
		f.problem("model", "is required")
	}
	model := h.Catalog.Model(name)
	if given && (model == nil || model.Kind != config.ChatModel) {
		f.problem("model", "must be a chat model from the catalog"+got(name)+"; see GET /api/admin/catalog")
	}
	return name
}
