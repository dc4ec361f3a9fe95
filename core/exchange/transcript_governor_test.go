package exchange_test

import (
	"slices"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/governor"
)

// settingsOf returns the Governor's settings. The words are: on, strict, reversible, schema:ACTION, block-unchecked,
// threshold:N, max-input:N, words:NAME:INPUT:OUTPUT:WORD+WORD for a keyword list of high severity,
// classifier:KIND:MODEL[:strict][:closed] with the kinds chat, moderation and llama-guard, RULE:INPUT:OUTPUT for
// actions, and damaged. damaged stands for settings that cannot be decoded.
func settingsOf(a *args, words []string) []byte {
	s := governor.NewSettings()
	for _, word := range words {
		name, rest, _ := strings.Cut(word, ":")
		switch name {
		case "on":
			s.Enabled = true
		case "strict":
			s.Strict = true
		case "reversible":
			s.Reversible = true
		case "schema":
			s.Schema = governor.AnswerSchema{Schema: `{"type":"object"}`, Action: actionOf(a, rest), Severity: governor.Medium}
		case "block-unchecked":
			s.BlockUnchecked = true
		case "threshold":
			s.AutoApprove, _ = strconv.ParseUint(rest, 10, 8)
		case "max-input":
			s.MaxInput, _ = strconv.ParseUint(rest, 10, 32)
		case "words":
			s.Lists = append(s.Lists, keywordsOf(a, strings.Split(rest, ":")))
		case "damaged":
			return []byte{255}
		case "classifier":
			s.Classifier = classifierOf(a, strings.Split(rest, ":"))
		default:
			input, output, _ := strings.Cut(rest, ":")
			s.Actions = append(s.Actions, governor.RuleActions{Rule: name, Input: actionOf(a, input), Output: actionOf(a, output)})
		}
	}
	return s.Encode()
}

func keywordsOf(a *args, parts []string) governor.KeywordList {
	if len(parts) != 4 {
		a.fail("a list is words:NAME:INPUT:OUTPUT:WORD+WORD")
	}
	return governor.KeywordList{
		Name: parts[0], Severity: governor.High, Input: actionOf(a, parts[1]), Output: actionOf(a, parts[2]), Words: strings.Split(parts[3], "+"),
	}
}

var classifierKinds = map[string]governor.ClassifierKind{
	"chat": governor.ChatClassifier, "moderation": governor.ModerationClassifier, "llama-guard": governor.LlamaGuardClassifier,
}

func classifierOf(a *args, parts []string) governor.Classifier {
	if len(parts) < 2 || classifierKinds[parts[0]] == governor.NoClassifier {
		a.fail("a classifier is classifier:KIND:MODEL[:strict][:closed]")
	}
	return governor.Classifier{
		Kind: classifierKinds[parts[0]], Model: parts[1], TimeoutMs: 2000, Threshold: 50,
		Strict: slices.Contains(parts[2:], "strict"), FailClosed: slices.Contains(parts[2:], "closed"),
	}
}

func actionOf(a *args, word string) governor.Action {
	for action := governor.Allow; action <= governor.Block; action++ {
		if action.String() == word {
			return action
		}
	}
	a.fail("unknown action " + word)
	return 0
}
