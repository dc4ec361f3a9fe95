package api

import (
	"strings"

	"github.com/postern-ai/postern/core/api/head"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/fault"
)

const maxUnknownBetas = 16 // limits the values in Dropped and Details

// Betas contains the values of a header that enables features: anthropic-beta or openai-beta.
type Betas struct {
	Known   string         // comma-separated
	Dropped string         // the unknown values, each as anthropic-beta:VALUE, comma-separated
	Details []fault.Detail // about the unknown values
}

// ReadBetas reads the printable value of a header that enables features. The catalog lists the values it accepts,
// because others may enable features without a price.
//
//go:noinline
func ReadBetas(cfg *config.Config, header, text string) (b Betas) {
	for value := range strings.SplitSeq(text, ",") {
		value = strings.TrimSpace(value)
		switch {
		case value == "":
		case cfg.Forwards(header, betaName(value)):
			b.Known = appendWord(b.Known, value)
		case len(b.Details) < maxUnknownBetas:
			if name, _, _ := strings.Cut(value, "="); head.IsWord(name) {
				b.Dropped = appendWord(b.Dropped, header+":"+name)
			}
			b.Details = append(b.Details, fault.Detail{
				Field: header, Message: Subject(value) + "is not a value that the catalog forwards; omit it, or add its name without the date to members." +
					header + " in POSTERN_CATALOG",
			})
		}
	}
	return b
}

func appendWord(list, word string) string {
	if list != "" {
		list += ","
	}
	return list + word
}

// betaName returns a header value without its date. Examples of values: context-1m-2025-08-07, oauth-2025-04-20 and
// claude-code-20250219.
func betaName(value string) string {
	end := len(value)
	for end > 0 && (value[end-1] == '-' || value[end-1] >= '0' && value[end-1] <= '9') {
		end--
	}
	// Names may contain numbers. Only dates start with -20.
	for at := end; at+3 <= len(value); at++ {
		if value[at:at+3] == "-20" {
			return value[:at]
		}
	}
	return value
}
