package ledger

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/sketch"
)

// unlisted contains the durations of requests of one model.
type unlisted struct {
	model               string
	latency, firstToken sketch.Sketch
}

type unlistedList struct{ models []unlisted }

func (l *unlistedList) fields(f *abi.Fields) {
	abi.List(f, &l.models, func(f *abi.Fields, u *unlisted) {
		f.String(&u.model)
		u.latency.Fields(f)
		u.firstToken.Fields(f)
	})
}

// unlistedOf decodes the durations that a request carries. It ignores malformed durations, which no version writes.
func (q *Request) unlistedOf() (l unlistedList) {
	if q.Unlisted != "" && abi.DecodeFields([]byte(q.Unlisted), l.fields) != nil {
		return unlistedList{}
	}
	return l
}

// TakePlace makes q carry the durations of another request, which no longer fits into the list. q also takes over the
// durations that the other request carried.
func (q *Request) TakePlace(of *Request) {
	l := of.unlistedOf()
	if of.Status == 0 {
		q.Unlisted = of.Unlisted
		return
	}
	at := 0
	for at < len(l.models) && l.models[at].model != of.Model {
		at++
	}
	if at == len(l.models) {
		l.models = append(l.models, unlisted{model: of.Model})
	}
	l.models[at].latency.Add(of.DurationMs, 1)
	if of.FirstMs > 0 {
		l.models[at].firstToken.Add(of.FirstMs, 1)
	}
	q.Unlisted = string(abi.EncodeFields(0, 64, l.fields))
}

// addUnlisted adds the durations of one model that a listed request carries.
func (of *Activity) addUnlisted(q *Request, u *Usage) {
	for _, l := range q.unlistedOf().models {
		if l.model == u.Model {
			of.Latency.Plus(&l.latency)
			of.FirstToken.Plus(&l.firstToken)
		}
	}
}
