package anthropic

import (
	"strings"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/head"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/fault"
)

// BetaHeader is the name of the header whose values switch on features.
const BetaHeader = "anthropic-beta"

const (
	maxBetaBytes    = 1024 // size of the header; agents send a dozen values
	maxUnknownBetas = 16   // values in Dropped and Details
)

// Betas are the values of an anthropic-beta header.
type Betas struct {
	Known   string         // comma-separated
	Dropped string         // the unknown values, each as anthropic-beta:VALUE, comma-separated
	Details []fault.Detail // about the unknown values
}

// ReadBetas reads an anthropic-beta header. The catalog lists the known values: others may switch on what has no price.
// A header that is too long or not printable has no values.
func ReadBetas(cfg *config.Config, header string) (b Betas) {
	if len(header) > maxBetaBytes || !head.IsPrintable(header) {
		return b
	}
	for value := range strings.SplitSeq(header, ",") {
		value = strings.TrimSpace(value)
		switch {
		case value == "":
		case cfg.Forwards(BetaHeader, betaName(value)):
			b.Known = appendWord(b.Known, value)
		case len(b.Details) < maxUnknownBetas:
			if head.IsWord(value) {
				b.Dropped = appendWord(b.Dropped, BetaHeader+":"+value)
			}
			b.Details = append(b.Details, fault.Detail{
				Field: BetaHeader, Message: api.Subject(value) + "is not a value that the catalog forwards; omit it, or add its name without the date to members." +
					BetaHeader + " in POSTERN_CATALOG",
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

// betaName is a value of the header without its date: context-1m-2025-08-07, oauth-2025-04-20, claude-code-20250219.
func betaName(value string) string {
	end := len(value)
	for end > 0 && (value[end-1] == '-' || value[end-1] >= '0' && value[end-1] <= '9') {
		end--
	}
	// The name itself may end with a number, as in max-tokens-3-5-sonnet; a date starts with -20.
	for at := end; at+3 <= len(value); at++ {
		if value[at:at+3] == "-20" {
			return value[:at]
		}
	}
	return value
}
