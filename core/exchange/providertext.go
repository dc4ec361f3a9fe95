package exchange

import (
	"unicode/utf8"

	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/jsontext"
)

// maxRecordedText limits a provider's message in a record, in bytes. maxCheckedText limits the message from which it
// is taken. A longer message is not recorded, because its end may belong to a secret.
const (
	maxRecordedText = 500
	maxCheckedText  = 64 << 10
)

// recordedText returns the part of a provider's error message that the record contains. It is empty unless the
// project records these messages. Secrets and personal data are redacted before the text is cut. They are redacted
// again after control characters, which may have hidden some, are replaced.
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

// redactingCheck redacts all findings of the rules for secrets and personal data, even if the project has not enabled
// the Governor.
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
