package registry

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/postern-ai/postern/control/inventory"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/config"
)

// Limits of an entry's fields, in characters.
const (
	maxOwnerRunes     = 120
	maxPurposeRunes   = 1000
	maxRetentionRunes = 200
	maxReasonRunes    = 500
	maxLabelRunes     = 64
	maxLinkBytes      = 256
	maxEntryTexts     = 32 // per list
)

// riskTiers are the risk tiers of the EU AI Act under their usual names. Source: Regulation (EU) 2024/1689.
var riskTiers = []string{"minimal", "limited", "high", "unacceptable"}

// entryFields takes the fields of an entry that POST and PATCH can set. It returns a function that copies the fields
// in the request to an entry.
func (h *handler) entryFields(f *kernel.Fields) func(*inventory.Entry) {
	owner, hasOwner := takeProse(f, "owner", maxOwnerRunes)
	purpose, hasPurpose := takeProse(f, "purpose", maxPurposeRunes)
	risk, hasRisk := takeOptionalChoice(f, "riskTier", riskTiers)
	classes, hasClasses := takeLabels(f, "dataClasses", "must contain only texts of 1 to 64 characters without control characters", isLabel)
	places, hasPlaces := takeLabels(f, "regions", "must contain only texts of 1 to 64 characters without control characters", isLabel)
	retention, hasRetention := takeProse(f, "retention", maxRetentionRunes)
	links, hasLinks := takeLabels(f, "links", "must contain only https URLs of at most 256 characters, without a user name or password", isLink)
	review, hasReview := takeMoment(f, "reviewDate")
	successor, hasSuccessor := h.successor(f)
	return func(e *inventory.Entry) {
		kernel.Set(hasOwner, &e.Owner, owner)
		kernel.Set(hasPurpose, &e.Purpose, purpose)
		kernel.Set(hasRisk, &e.RiskTier, risk)
		kernel.Set(hasClasses, &e.DataClasses, classes)
		kernel.Set(hasPlaces, &e.Regions, places)
		kernel.Set(hasRetention, &e.Retention, retention)
		kernel.Set(hasLinks, &e.Links, links)
		kernel.Set(hasReview, &e.ReviewDate, review)
		kernel.Set(hasSuccessor, &e.Successor, successor)
	}
}

// takeProse takes a string of limited length, or null.
func takeProse(f *kernel.Fields, field string, maximum int) (text inventory.Optional, given bool) {
	if f.Null(field) {
		return "", true
	}
	value, given := f.Text(field, "")
	if given && !isProse(value, maximum) {
		f.Problem(field, "must have at most "+strconv.Itoa(maximum)+" characters and no control or text-direction characters")
		return "", false
	}
	return inventory.Optional(strings.TrimSpace(value)), given
}

// isProse reports whether text is valid and suitable for display. It may have several lines.
func isProse(text string, maximum int) bool {
	return utf8.ValidString(text) && utf8.RuneCountInString(text) <= maximum && !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
	})
}

func takeOptionalChoice(f *kernel.Fields, field string, choices []string) (text inventory.Optional, given bool) {
	if f.Null(field) {
		return "", true
	}
	value, given := f.Choice(field, "", choices)
	return inventory.Optional(value), given
}

// takeLabels takes a list of strings. expectation is the beginning of the message for an invalid label.
func takeLabels(f *kernel.Fields, field, expectation string, valid func(string) bool) (list inventory.TextList, given bool) {
	value, given := f.Take(field)
	if !given {
		return nil, false
	}
	if len(value) == 0 || value[0] != '[' || json.Unmarshal(value, &list) != nil {
		f.Problem(field, "must be an array of strings, got "+kernel.KindOrMixed(value))
		return nil, false
	}
	if len(list) > maxEntryTexts {
		f.Problem(field, "must have at most "+strconv.Itoa(maxEntryTexts)+" elements, got "+strconv.Itoa(len(list)))
		return nil, false
	}
	for _, text := range list {
		if !valid(text) {
			f.Problem(field, expectation+kernel.Got(text))
			return nil, false
		}
	}
	return list, true
}

func isLabel(text string) bool {
	return kernel.IsName(text) && utf8.RuneCountInString(text) <= maxLabelRunes
}

func isLink(text string) bool {
	u, err := url.Parse(text)
	return err == nil && len(text) <= maxLinkBytes && kernel.IsHeaderText(text) && u.Scheme == "https" && u.Hostname() != "" && u.User == nil
}

// takeMoment takes a time in RFC 3339 format, a date, or null. A date means midnight UTC.
func takeMoment(f *kernel.Fields, field string) (at inventory.Instant, given bool) {
	if f.Null(field) {
		return 0, true
	}
	text, given := f.Text(field, "")
	if !given {
		return 0, false
	}
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		when, err = time.Parse(time.DateOnly, text)
	}
	if err != nil || when.Year() < 1971 || when.Year() > 9998 {
		f.Problem(field, "must be a date or a time such as 2027-01-31 or 2027-01-31T09:00:00Z"+kernel.Got(text))
		return 0, false
	}
	return inventory.Instant(when.UnixMilli()), true
}

// model takes the field "model": a name, an alias or provider/model from the catalog. It returns nil if there is a
// problem.
func (h *handler) model(f *kernel.Fields) *config.Model {
	if !f.Has("model") {
		f.Problem("model", "is required")
	}
	name, given := f.Text("model", "")
	if !given {
		return nil
	}
	m := h.Catalog.Model(name)
	if m == nil {
		f.Problem("model", "must be a model of the catalog"+kernel.Got(name)+"; see GET /v1/models")
	}
	return m
}

// successor takes the field "successor" in the same way as model takes "model", but allows null.
func (h *handler) successor(f *kernel.Fields) (name inventory.Optional, given bool) {
	if f.Null("successor") {
		return "", true
	}
	text, given := f.Text("successor", "")
	if !given {
		return "", false
	}
	m := h.Catalog.Model(text)
	if m == nil {
		f.Problem("successor", "must be a model of the catalog"+kernel.Got(text)+"; see GET /v1/models")
		return "", false
	}
	return inventory.Optional(m.Name), true
}

// wrongSuccessor describes why a model cannot be the successor of another. It returns an empty string if the model
// can be the successor.
func (h *handler) wrongSuccessor(e *inventory.Entry) string {
	m, successor := h.Catalog.Model(e.Model), h.Catalog.Model(string(e.Successor))
	switch {
	case successor == nil || m == nil:
		return ""
	case successor == m:
		return "must be another model" + kernel.Got(string(e.Successor))
	case successor.APIs&m.APIs == 0:
		return "must be of the same kind as " + m.Name + kernel.Got(string(e.Successor))
	}
	return ""
}
