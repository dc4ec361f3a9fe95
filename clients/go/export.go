package postern

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// ExportType is a kind of compliance data.
type ExportType string

// The kinds of compliance data.
const (
	ExportAudit      ExportType = "audit"
	ExportPolicies   ExportType = "policies"
	ExportViolations ExportType = "violations"
	ExportAccess     ExportType = "access"
	ExportUsage      ExportType = "usage"
	ExportInventory  ExportType = "inventory"
)

// ExportParams selects compliance data. Zero fields are not sent.
type ExportParams struct {
	Type  ExportType // default ExportAudit
	From  time.Time  // records at or after this time
	To    time.Time  // records before this time
	Limit int        // lines per page, at most 500; default 200
}

// Record is a line of an export.
type Record struct {
	// Kind is event, policy, key, request, usage, model or header. A header is the first line of a page. For each
	// kind of record, it says whether the export has all records, a sample, or the entries of a chain.
	Kind string
	// Line has the line's bytes exactly as the gateway sent them, without the line feed. If you write all lines to a
	// file, each followed by a line feed, the command postern verify can verify the file.
	Line []byte
}

// Decode parses the line, a JSON object, into value. docs/guides/compliance.md describes the fields.
func (r Record) Decode(value any) error { return json.Unmarshal(r.Line, value) }

// Export yields the lines of all pages. If the gateway prunes entries during the export, Export ends with a
// *ConflictError. Then start the export again.
func (s ComplianceService) Export(ctx context.Context, params ExportParams, opts ...CallOption) iter.Seq2[Record, error] {
	const path = "/api/compliance/export"
	first := queryOf(
		"type", string(params.Type), "from", timestamp(params.From), "to", timestamp(params.To), "limit", number(params.Limit),
	).Encode()
	return eachItem(func(query string) (*Page[Record], error) {
		values, _ := url.ParseQuery(query) // cannot fail, because the query is the first one or nextQuery has checked it
		page := &Page[Record]{}
		_, err := fetchText(ctx, s.client, get(path, values), opts, func(response *Response, text []byte) (err error) {
			if page.Items, err = records(response, text); err == nil {
				page.Next, err = s.nextQuery(response, path)
			}
			return err
		})
		return page, err
	}, first)
}

// records splits a page into lines. If a line is not an object, it returns an error and the lines before that line.
func records(response *Response, text []byte) ([]Record, error) {
	var all []Record
	for _, line := range bytes.Split(text, []byte{'\n'}) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var names struct {
			Record string `json:"record"`
		}
		if line[0] != '{' || json.Unmarshal(line, &names) != nil {
			return all, invalid(response, "a line is not a JSON object")
		}
		if names.Record == "" {
			names.Record = "header"
		}
		all = append(all, Record{Kind: names.Record, Line: line[:len(line):len(line)]})
	}
	return all, nil
}

// nextLink matches a link to the next page in a Link header (RFC 8288).
var nextLink = regexp.MustCompile(`<([^>]*)>\s*;[^,]*\brel="?next"?`)

// nextQuery returns the query of the link to the next page, or "" on the last page. It ignores the rest of the link,
// so no response can send the key to another address.
func (s ComplianceService) nextQuery(response *Response, path string) (string, error) {
	match := nextLink.FindStringSubmatch(response.Header.Get("link"))
	if match == nil {
		return "", nil
	}
	base := s.client.base
	link, err := url.Parse(match[1])
	if err != nil || link.Host != "" && (link.Host != base.Host || link.Scheme != "" && link.Scheme != base.Scheme) ||
		link.Path != path && link.Path != strings.TrimRight(base.Path, "/")+path || link.RawQuery == "" {
		return "", invalid(response, "the link to the next page leads to another address")
	}
	if _, err := url.ParseQuery(link.RawQuery); err != nil {
		return "", invalid(response, "the link to the next page is malformed")
	}
	return link.RawQuery, nil
}
