package exchange

import (
	"unicode/utf8"

	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/jsontext"
)

// maxRecordedText is the maximum length of a provider's message in a record, in bytes. If the original message is
// longer than maxCheckedText, it is not recorded, because cutting it could split a secret.
const (
	maxRecordedText = 500
	maxCheckedText  = 64 << 10
)

// recordedText returns the part of a provider's error message that the record contains. If the project does not
// record these messages, it is empty. Secrets and personal data are redacted before the text is cut. Control
// characters may have hidden a secret, so the text is redacted again after they have been replaced.
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

// redactingCheck returns a check that redacts all secrets and personal data, even if the project has not enabled the
// Governor.
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
