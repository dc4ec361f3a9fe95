package native

import (
	"strconv"

	"github.com/postern-ai/postern/core/jsontext"
)

// Outcomes counts requests by outcome; see ledger.Outcomes.
type Outcomes struct{ Requests, Served, Refused, Failed, Left uint64 }

// Cause is a reason why requests were not served, and the number of these requests.
type Cause struct {
	Name  string
	Count uint64
}

// ModelOutcomes contains the outcomes of the requests for a model. If requests do not name a known model, the name is
// empty.
type ModelOutcomes struct {
	Model string
	Outcomes
	Causes []Cause
}

// appendOutcomes appends a field with the sums and with each model that has requests.
func appendOutcomes(b []byte, models []ModelOutcomes) []byte {
	var total ModelOutcomes
	for i := range models {
		total.add(&models[i])
	}
	b = total.appendTo(append(b, `,"outcomes":`...))
	b = append(b[:len(b)-1], `,"models":{`...)
	separator := ""
	for i := range models {
		if m := &models[i]; m.Requests > 0 {
			b = append(jsontext.AppendString(append(b, separator...), m.Model), ':')
			b = m.appendTo(b)
			separator = ","
		}
	}
	return append(b, "}}"...)
}

func (o *ModelOutcomes) add(m *ModelOutcomes) {
	o.Requests += m.Requests
	o.Served += m.Served
	o.Refused += m.Refused
	o.Failed += m.Failed
	o.Left += m.Left
	for _, c := range m.Causes {
		o.cause(c)
	}
}

func (o *ModelOutcomes) cause(c Cause) {
	for i := range o.Causes {
		if o.Causes[i].Name == c.Name {
			o.Causes[i].Count += c.Count
			return
		}
	}
	o.Causes = append(o.Causes, c)
}

func (o *ModelOutcomes) appendTo(b []byte) []byte {
	b = strconv.AppendUint(append(b, `{"requests":`...), o.Requests, 10)
	b = strconv.AppendUint(append(b, `,"served":`...), o.Served, 10)
	b = strconv.AppendUint(append(b, `,"refused":`...), o.Refused, 10)
	b = strconv.AppendUint(append(b, `,"failed":`...), o.Failed, 10)
	b = strconv.AppendUint(append(b, `,"left":`...), o.Left, 10)
	b = append(b, `,"causes":{`...)
	for i, c := range o.Causes {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), c.Name...), `":`...)
		b = strconv.AppendUint(b, c.Count, 10)
	}
	return append(b, "}}"...)
}
