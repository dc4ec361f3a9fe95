package exchange

import (
	"unicode/utf8"

	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/jsontext"
)

// maxRecordedText bounds a provider's message in a record, and maxCheckedText the one that it is taken from, in bytes. A longer
// message is not recorded, because its end may belong to a secret.
const (
	maxRecordedText = 500
	maxCheckedText  = 64 << 10
)

// recordedText is what the record has of a provider's error message: nothing, unless the project wants it. Secrets and personal
// data are redacted before it is cut, and again after control characters, which may have hidden some, are replaced.
func (x *exchange) recordedText(message jsontext.Escaped) string {
	if !x.s.record.RecordProviderErrors || len(message) > maxCheckedText || x.hasProviderSecret(message.Plain()) {
		return ""
	}
	check := redactingCheck()
	text := redacted(check, stripControl(redacted(check, message.Plain())))
	text = x.governMessage(jsontext.Escape(text)).Plain()
	if len(text) <= maxRecordedText {
		return text
	}
	end := maxRecordedText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// redactingCheck redacts whatever the rules for secrets and personal data find, with or without a project's Governor.
func redactingCheck() *inspect.Check {
	s := governor.NewSettings()
	for _, c := range [...]governor.Category{governor.Secret, governor.Personal} {
		s.Actions = append(s.Actions, governor.RuleActions{Rule: c.String(), Input: governor.Redact, Output: governor.Redact})
	}
	return &inspect.Check{Policy: s.Policy()}
}

func redacted(check *inspect.Check, text string) string {
	if result := check.Text(text, governor.Output); result.Body != nil {
		return string(result.Body)
	}
	return text
}
