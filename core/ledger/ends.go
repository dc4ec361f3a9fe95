package ledger

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
)

// End says how an unserved request ended.
type End uint8

// Ends come in this order: refusals by status, then failures by cause.
const (
	EndInvalid      End = iota // 400
	EndUnauthorized            // 401: the key is inactive; in Root, it may also be missing, malformed or unknown
	EndBudget                  // 402
	EndForbidden               // 403: a missing permission, or refused by the model registry
	EndNotFound                // 404: an unknown model or path
	EndMethod                  // 405 and 426
	EndConflict                // 409, including an Idempotency-Key that was used for another request
	EndTooLarge                // 413
	EndMediaType               // 415
	EndBlocked                 // 422 by the Governor
	EndLimited                 // 429 by a limit
	EndRejected                // the provider responded with a 4xx status other than 429
	EndBusy                    // the provider responded with 429
	EndUnavailable             // the provider responded with a 5xx status
	EndTimeout                 // the provider did not respond in time
	EndConnection              // the provider could not be reached
	EndCut                     // the provider's response or stream ended early
	EndUnusable                // the provider's response cannot be read, or does not match the request
	EndOurs                    // 500 and 503: the gateway, its store or its configuration failed
	EndLeft                    // the client disconnected
	Ends                       // number of ends
)

// EndNames are the names of ends in the API.
var EndNames = [Ends]string{
	EndInvalid: "invalid_request", EndUnauthorized: "unauthorized", EndBudget: "budget", EndForbidden: "forbidden",
	EndNotFound: "not_found", EndMethod: "method", EndConflict: "conflict", EndTooLarge: "too_large",
	EndMediaType: "media_type", EndBlocked: "blocked", EndLimited: "rate_limit",
	EndRejected: "provider_rejected", EndBusy: "provider_busy", EndUnavailable: "provider_unavailable",
	EndTimeout: "provider_timeout", EndConnection: "provider_unreachable", EndCut: "provider_cut",
	EndUnusable: "provider_unusable", EndOurs: "gateway", EndLeft: "client_left",
}

// Refused reports whether the gateway refused the request.
func (e End) Refused() bool { return e <= EndLimited }

// Failed reports whether the request failed.
func (e End) Failed() bool { return e > EndLimited && e < EndLeft }

// Booked says how the usage counts an unserved request, if it was settled.
type Booked uint8

// Values of Booked.
const (
	NotBooked    Booked = iota // nothing: it was not settled
	BookedServed               // a request: a part of its stream was delivered
	BookedFailed               // a failed request
)

// EndCount is the number of requests of one hour and model with the same end.
type EndCount struct {
	Hour   uint64 // since 1970-01-01
	Model  string // the model that was called last or, if none was, the requested one; empty: unknown
	End    End
	Booked Booked
	Count  uint64
}

func endCountFields(f *abi.Fields, c *EndCount) {
	f.Uint(&c.Hour)
	f.String(&c.Model)
	abi.Enum(f, &c.End)
	abi.Enum(f, &c.Booked)
	if f.Uint(&c.Count); c.End >= Ends || c.Booked > BookedFailed {
		f.Fail()
		c.End, c.Booked = 0, 0
	}
}

// Endings counts requests that were not served. Served and Failed are the parts that the usage counts as served or
// failed.
type Endings struct {
	By             [Ends]uint64
	Served, Failed uint64
}

// Plus adds the counters of o.
func (e *Endings) Plus(o *Endings) {
	for i := range e.By {
		e.By[i] += o.By[i]
	}
	e.Served += o.Served
	e.Failed += o.Failed
}

// Count adds a count.
func (e *Endings) Count(c *EndCount) {
	e.By[c.End] += c.Count
	switch c.Booked {
	case BookedServed:
		e.Served += c.Count
	case BookedFailed:
		e.Failed += c.Count
	}
}

// Used reports whether any count is not 0.
func (e *Endings) Used() bool { return *e != Endings{} }

func (e *Endings) fields(f *abi.Fields) {
	sparseFields(f, e.By[:])
	f.Uint(&e.Served)
	f.Uint(&e.Failed)
}

// modelEndings are the endings of a model.
type modelEndings struct {
	model string
	Endings
}

// endings is a row of endings, by model. Rows by hour have a single model with an empty name.
type endings struct{ models []modelEndings }

func (e *endings) fields(f *abi.Fields) {
	f.Format(format)
	abi.List(f, &e.models, modelEndingsFields)
}

func modelEndingsFields(f *abi.Fields, m *modelEndings) {
	f.String(&m.model)
	m.Endings.fields(f)
}

// endsOfRows adds up the daily rows that were read. The sums are by model.
func (c *call) endsOfRows() (sum endings, err error) {
	for _, row := range c.in.Rows {
		if !strings.HasPrefix(row.Key, rowEnds) {
			continue
		}
		var e endings
		if err := abi.DecodeFields(row.Value, e.fields); err != nil {
			return sum, err
		}
		for i := range e.models {
			sum.of(e.models[i].model).Plus(&e.models[i].Endings)
		}
	}
	return sum, nil
}

func (e *endings) of(model string) *Endings {
	for i := range e.models {
		if e.models[i].model == model {
			return &e.models[i].Endings
		}
	}
	e.models = append(e.models, modelEndings{model: model})
	return &e.models[len(e.models)-1].Endings
}

// Keys of rows with endings: by day, by day and key, and by hour (older versions).
func dayEndsKey(day uint64) string { return rowEnds + abi.Fixed(day) }

func keyEndsKey(day uint64, keyID string) string { return rowKeyEnds + abi.Fixed(day) + "/" + keyID }

func hourEndsKey(hour uint64) string { return rowHourEnds + abi.Fixed(hour) }

func endsKeys(hour uint64, keyID string) [2]string {
	day := hour / 24
	return [2]string{dayEndsKey(day), keyEndsKey(day, keyID)}
}

// addEnds adds the counts of a tally to their rows.
func (c *call) addEnds(t *Tally) error {
	for i := range t.Counts {
		n := &t.Counts[i]
		for _, key := range endsKeys(n.Hour, t.KeyID) {
			var row endings
			if value, ok := c.row(key); ok {
				if err := abi.DecodeFields(value, row.fields); err != nil {
					return err
				}
			}
			row.of(n.Model).Count(n)
			c.put(key, abi.EncodeFields(0, 32+32*len(row.models), row.fields))
		}
		var of Activity
		of.Usage.Ends.Count(n)
		if err := c.addSpan(n.Hour, n.Model, t.KeyID, &of); err != nil {
			return err
		}
	}
	return nil
}

// EndsQuery is the command that requests endings. Its fields and pages are those of Query.
type EndsQuery struct{ Query }

// EndsReply is the reply to EndsQuery. Its groups are those of QueryReply, with only Ends set in their usage.
type EndsReply struct{ QueryReply }

// needsKeys reports whether the query needs the rows by key.
func (q *EndsQuery) needsKeys() bool { return q.By == ByKey || q.By == ByDetail || q.Key != "" }

func (q *EndsQuery) reads() (ranges []abi.Range) {
	if q.Key != "" && q.By != ByHour {
		for day := q.FirstDay; day < q.EndDay && day < q.FirstDay+KeepDays; day++ {
			ranges = append(ranges, abi.Range{Start: keyEndsKey(day, q.Key)})
		}
		return ranges
	}
	first, end := dayEndsKey(q.FirstDay), dayEndsKey(q.EndDay)
	var spans []abi.Range
	switch {
	case q.By == ByHour:
		first, end = hourEndsKey(q.FirstDay*24), hourEndsKey(q.EndDay*24)
		spans = spansOfDays(q.FirstDay, q.EndDay)
	case q.needsKeys():
		first, end = keyEndsKey(q.FirstDay, ""), keyEndsKey(q.EndDay, "")
	}
	return append([]abi.Range{{Start: max(first, q.After+"\x00"), End: end, Limit: maxEndRows}}, spans...)
}

// maxEndRows is the number of rows that one page reads. A row has up to a hundred bytes for each model.
const maxEndRows = 1024

func (q *EndsQuery) apply(c *call) error {
	var reply EndsReply
	count := 0
	for _, row := range c.in.Rows {
		prefix, name, _ := strings.Cut(row.Key, "/")
		if prefix += "/"; prefix == rowSpans {
			if err := reply.addHour(row); err != nil {
				return err
			}
			continue
		}
		if prefix != rowEnds && prefix != rowKeyEnds && prefix != rowHourEnds {
			continue
		}
		var e endings
		if err := abi.DecodeFields(row.Value, e.fields); err != nil {
			return err
		}
		count++
		reply.Next = row.Key
		at, keyID, _ := strings.Cut(name, "/")
		u := Usage{Day: abi.Unfixed(at)}
		if prefix == rowHourEnds {
			u.Day, u.Hour = u.Day/24, u.Day%24
		}
		for i := range e.models {
			if u.Model, u.Ends = e.models[i].model, e.models[i].Endings; q.Model == "" || q.Model == u.Model {
				reply.add(q.By, keyID, &u)
			}
		}
	}
	if count < maxEndRows || q.Key != "" {
		reply.Next = ""
	}
	c.out.Reply = abi.EncodeFields(0, 64+64*len(reply.Groups), reply.fields)
	return nil
}

// addHour adds the endings of a ten-minute row to their hour.
func (p *EndsReply) addHour(row abi.Row) error {
	u, err := usageOfHour(row)
	if err == nil && u.Ends.Used() {
		p.add(ByHour, "", &Usage{Day: u.Day, Hour: u.Hour, Ends: u.Ends})
	}
	return err
}

// Encode encodes the command.
func (q *EndsQuery) Encode() []byte { return abi.EncodeFields(opEnds, 64, q.fields) }

// DecodeEndsReply decodes the reply to EndsQuery.
func DecodeEndsReply(data []byte) (p EndsReply, err error) {
	err = abi.DecodeFields(data, p.fields)
	return p, err
}

func (p *EndsReply) fields(f *abi.Fields) {
	abi.List(f, &p.Groups, func(f *abi.Fields, g *Group) {
		f.String(&g.KeyID)
		f.Uint(&g.Usage.Day)
		f.Uint(&g.Usage.Hour)
		f.String(&g.Usage.Model)
		g.Usage.Ends.fields(f)
	})
	f.String(&p.Next)
}

// Outcomes counts requests by outcome: served, refused, failed, or abandoned by the client.
type Outcomes struct{ Requests, Served, Refused, Failed, Left uint64 }

// Outcomes counts each request once. Failed requests without an end come from an older version or from an isolate
// that died. The usage and the end of a request arrive seconds apart.
func (u *Usage) Outcomes() (o Outcomes) {
	e := &u.Ends
	o.Served = u.Requests - min(u.Requests, e.Served)
	o.Failed = u.Failed - min(u.Failed, e.Failed)
	for end, n := range e.By {
		switch {
		case End(end).Refused():
			o.Refused += n
		case End(end).Failed():
			o.Failed += n
		default:
			o.Left += n
		}
	}
	o.Requests = o.Served + o.Refused + o.Failed + o.Left
	return o
}

// endsReport is the reply to a Report with Ends.
type endsReport struct {
	*ReportReply
	ends []modelEndings
}

func (p *endsReport) fields(f *abi.Fields) {
	abi.List(f, &p.ends, modelEndingsFields)
	p.ReportReply.fields(f)
}

// DecodeEndsReport decodes the reply to a Report with Ends. The models' usage includes the requests that were not
// served.
func DecodeEndsReport(data []byte) (p ReportReply, err error) {
	e := endsReport{ReportReply: &p}
	if err = abi.DecodeFields(data, e.fields); err != nil {
		return p, err
	}
	for i := range e.ends {
		p.Models = mergeByModel(p.Models, Usage{Model: e.ends[i].model, Ends: e.ends[i].Endings})
	}
	return p, nil
}

// newEndCommand returns an empty command about requests that were not served.
func newEndCommand(op uint64) command {
	switch op {
	case opTally:
		return new(Tally)
	case opEnds:
		return new(EndsQuery)
	case opRecords:
		return new(Records)
	case opReturn:
		return new(Return)
	case opReturns:
		return new(returns)
	case opContribution:
		return new(Contribution)
	case opForward:
		return forward{}
	}
	return newActivityCommand(op)
}
