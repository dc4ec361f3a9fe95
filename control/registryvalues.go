package control

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/postern-ai/postern/core/config"
)

// Bounds of an entry's fields, in characters.
const (
	maxOwnerRunes     = 120
	maxPurposeRunes   = 1000
	maxRetentionRunes = 200
	maxReasonRunes    = 500
	maxLabelRunes     = 64
	maxLinkBytes      = 256
	maxEntryTexts     = 32 // per list
)

// riskTiers are those of the EU AI Act, by their usual names. Source: Regulation (EU) 2024/1689.
var riskTiers = []string{"minimal", "limited", "high", "unacceptable"}

// entryFields takes the fields of an entry that POST and PATCH set. The result assigns the fields that the request contains.
func (h *handler) entryFields(f *fields) func(*registryEntry) {
	owner, hasOwner := f.prose("owner", maxOwnerRunes)
	purpose, hasPurpose := f.prose("purpose", maxPurposeRunes)
	risk, hasRisk := f.optionalChoice("riskTier", riskTiers)
	classes, hasClasses := f.labels("dataClasses", "must contain only texts of 1 to 64 characters without control characters", isLabel)
	places, hasPlaces := f.labels("regions", "must contain only texts of 1 to 64 characters without control characters", isLabel)
	retention, hasRetention := f.prose("retention", maxRetentionRunes)
	links, hasLinks := f.labels("links", "must contain only https URLs of at most 256 characters, without a user name or password", isLink)
	review, hasReview := f.moment("reviewDate")
	successor, hasSuccessor := h.successor(f)
	return func(e *registryEntry) {
		set(hasOwner, &e.Owner, owner)
		set(hasPurpose, &e.Purpose, purpose)
		set(hasRisk, &e.RiskTier, risk)
		set(hasClasses, &e.DataClasses, classes)
		set(hasPlaces, &e.Regions, places)
		set(hasRetention, &e.Retention, retention)
		set(hasLinks, &e.Links, links)
		set(hasReview, &e.ReviewDate, review)
		set(hasSuccessor, &e.Successor, successor)
	}
}

// prose takes a text of limited length, or null for none.
func (f *fields) prose(field string, maximum int) (text optional, given bool) {
	if f.null(field) {
		return "", true
	}
	value, given := f.text(field, "")
	if given && !isProse(value, maximum) {
		f.problem(field, "must have at most "+strconv.Itoa(maximum)+" characters and no control or text-direction characters")
		return "", false
	}
	return optional(strings.TrimSpace(value)), given
}

// isProse reports whether text is valid and fit to be shown; it may have several lines.
func isProse(text string, maximum int) bool {
	return utf8.ValidString(text) && utf8.RuneCountInString(text) <= maximum && !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
	})
}

// optionalChoice takes one of choices, or null for none.
func (f *fields) optionalChoice(field string, choices []string) (text optional, given bool) {
	if f.null(field) {
		return "", true
	}
	value, given := f.choice(field, "", choices)
	return optional(value), given
}

// labels takes a list of texts. expectation is the message for one that is not valid.
func (f *fields) labels(field, expectation string, valid func(string) bool) (list textList, given bool) {
	value, given := f.take(field)
	if !given {
		return nil, false
	}
	if len(value) == 0 || value[0] != '[' || json.Unmarshal(value, &list) != nil {
		f.problem(field, "must be an array of strings, got "+kindOrMixed(value))
		return nil, false
	}
	if len(list) > maxEntryTexts {
		f.problem(field, "must have at most "+strconv.Itoa(maxEntryTexts)+" elements, got "+strconv.Itoa(len(list)))
		return nil, false
	}
	for _, text := range list {
		if !valid(text) {
			f.problem(field, expectation+got(text))
			return nil, false
		}
	}
	return list, true
}

func isLabel(text string) bool { return isName(text) && utf8.RuneCountInString(text) <= maxLabelRunes }

func isLink(text string) bool {
	u, err := url.Parse(text)
	return err == nil && len(text) <= maxLinkBytes && isHeaderText(text) && u.Scheme == "https" && u.Hostname() != "" && u.User == nil
}

// moment takes a time (RFC 3339) or a date, which is its midnight in UTC, or null for none.
func (f *fields) moment(field string) (at instant, given bool) {
	if f.null(field) {
		return 0, true
	}
	text, given := f.text(field, "")
	if !given {
		return 0, false
	}
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		when, err = time.Parse(time.DateOnly, text)
	}
	if err != nil || when.Year() < 1971 || when.Year() > 9998 {
		f.problem(field, "must be a date or a time such as 2027-01-31 or 2027-01-31T09:00:00Z"+got(text))
		return 0, false
	}
	return instant(when.UnixMilli()), true
}

// model takes the field "model": a name, an alias or provider/model of the catalog. The result is nil after a problem.
func (h *handler) model(f *fields) *config.Model {
	if _, present := f.values["model"]; !present {
		f.problem("model", "is required")
	}
	name, given := f.text("model", "")
	if !given {
		return nil
	}
	m := h.Catalog.Model(name)
	if m == nil {
		f.problem("model", "must be a model of the catalog"+got(name)+"; see GET /v1/models")
	}
	return m
}

// successor takes the field "successor", likewise, or null for none.
func (h *handler) successor(f *fields) (name optional, given bool) {
	if f.null("successor") {
		return "", true
	}
	text, given := f.text("successor", "")
	if !given {
		return "", false
	}
	m := h.Catalog.Model(text)
	if m == nil {
		f.problem("successor", "must be a model of the catalog"+got(text)+"; see GET /v1/models")
		return "", false
	}
	return optional(m.Name), true
}

// wrongSuccessor describes why a model cannot be the successor of another, or is empty.
func (h *handler) wrongSuccessor(e *registryEntry) string {
	m, successor := h.Catalog.Model(e.Model), h.Catalog.Model(string(e.Successor))
	switch {
	case successor == nil || m == nil:
		return ""
	case successor == m:
		return "must be another model" + got(string(e.Successor))
	case successor.Kind != m.Kind:
		return "must be of the same kind as " + m.Name + got(string(e.Successor))
	}
	return ""
}
