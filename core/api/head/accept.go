package head

import "strings"

// maxAcceptBytes is the maximum length of an Accept header. Browsers send about 200. A longer header is ignored.
const maxAcceptBytes = 4096

// PrefersHTML reports whether an Accept header (RFC 9110, section 12.5.1) ranks text/html above application/json. If
// the ranks are equal, it returns false, so a client that accepts anything gets JSON. Malformed elements are ignored.
func PrefersHTML(accept string) bool {
	if len(accept) > maxAcceptBytes {
		return false
	}
	var html, json preference
	for accept != "" {
		var element string
		element, accept, _ = strings.Cut(accept, ",")
		mediaRange, quality, ok := parseMediaRange(element)
		if !ok {
			continue
		}
		html.apply(mediaRange, quality, "text/html", "text/*")
		json.apply(mediaRange, quality, "application/json", "application/*")
	}
	return html.quality > json.quality
}

// preference is the quality of one media type according to the most specific range seen so far.
type preference struct {
	specificity int // 3: the type itself; 2: type/*; 1: */*; 0: no range
	quality     int // in thousandths
}

// apply adopts a range's quality if the range matches the media type, unless a more specific range has matched
// before. Among equally specific ranges, the highest quality applies.
func (p *preference) apply(mediaRange string, quality int, mediaType, wildcard string) {
	specificity := 0
	switch {
	case strings.EqualFold(mediaRange, mediaType):
		specificity = 3
	case strings.EqualFold(mediaRange, wildcard):
		specificity = 2
	case mediaRange == "*/*":
		specificity = 1
	}
	switch {
	case specificity > p.specificity:
		*p = preference{specificity, quality}
	case specificity > 0 && specificity == p.specificity:
		p.quality = max(p.quality, quality)
	}
}

// parseMediaRange splits one element of an Accept header into its range and its quality in thousandths. The quality
// is 1000 if q is missing. Other parameters are ignored. ok is false if q is malformed.
func parseMediaRange(element string) (mediaRange string, quality int, ok bool) {
	mediaRange, parameters, _ := strings.Cut(element, ";")
	quality, ok = 1000, true
	for parameters != "" {
		var parameter string
		parameter, parameters, _ = strings.Cut(parameters, ";")
		if name, value, _ := strings.Cut(parameter, "="); strings.EqualFold(strings.TrimSpace(name), "q") {
			quality, ok = parseQuality(strings.TrimSpace(value))
			break
		}
	}
	return strings.TrimSpace(mediaRange), quality, ok
}

// parseQuality reads a qvalue, which is between 0 and 1 and has at most three decimals. The result is in thousandths.
func parseQuality(text string) (thousandths int, ok bool) {
	whole, decimals, _ := strings.Cut(text, ".")
	if whole != "0" && whole != "1" || len(decimals) > 3 {
		return 0, false
	}
	thousandths = int(whole[0]-'0') * 1000
	unit := 100
	for i := 0; i < len(decimals); i++ {
		if decimals[i] < '0' || decimals[i] > '9' {
			return 0, false
		}
		thousandths += int(decimals[i]-'0') * unit
		unit /= 10
	}
	return thousandths, thousandths <= 1000
}
