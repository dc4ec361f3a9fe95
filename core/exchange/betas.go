package exchange

import (
	"strings"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/fault"
)

const (
	maxBeta  = 1024 // bytes of an anthropic-beta header; agents send a dozen values
	betaList = "anthropic-beta"
)

// readBetas keeps the values of the anthropic-beta header that the catalog lists: others may switch on what has no price. In strict
// mode they are rejected, and the result is false.
func (x *exchange) readBetas() bool {
	s := &x.s
	header := x.header(betaList)
	if len(header) > maxBeta || !printable(header) {
		return true
	}
	var unknown []fault.Detail
	for value := range strings.SplitSeq(header, ",") {
		value = strings.TrimSpace(value)
		switch {
		case value == "":
		case x.config.Forwards(betaList, betaName(value)):
			s.beta = appendWord(s.beta, value)
		default:
			if isWord(value) && len(unknown) < maxExtraNames {
				s.droppedBetas = appendWord(s.droppedBetas, betaList+":"+value)
			}
			unknown = append(unknown, fault.Detail{
				Field: betaList, Message: api.Subject(value) + "is not a value that the catalog forwards; omit it, or add its name without the date to members." +
					betaList + " in POSTERN_CATALOG",
			})
		}
	}
	if !s.strict || len(unknown) == 0 {
		return true
	}
	x.reject(fault.InvalidRequest, unknown[:min(len(unknown), maxExtraNames)]...)
	return false
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
