package ledger

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/sketch"
)

// Activity is usage, including requests that were not served, plus the durations of served requests. The day, hour,
// model and Latency of its Usage are empty.
type Activity struct {
	Usage      Usage
	Latency    sketch.Sketch // of served requests, from arrival to the end of the response
	FirstToken sketch.Sketch // of served streams, from arrival to the first content
}

// Plus adds the figures of o.
func (a *Activity) Plus(o *Activity) {
	a.Usage.Plus(&o.Usage)
	a.Latency.Plus(&o.Latency)
	a.FirstToken.Plus(&o.FirstToken)
}

// minus takes back figures that Plus has added.
func (a *Activity) minus(o *Activity) {
	a.Usage.minus(&o.Usage)
	a.Latency.Minus(&o.Latency)
	a.FirstToken.Minus(&o.FirstToken)
}

// minus takes back the counters that an activity stores: see countsFields.
func (u *Usage) minus(o *Usage) {
	u.CostPico -= o.CostPico
	u.PromptCache.SavedPico -= o.PromptCache.SavedPico
	from, by := u.counters(), o.counters()
	for i := range from {
		*from[i] -= *by[i]
	}
	for i := range u.Attempts.Failed {
		u.Attempts.Failed[i] -= o.Attempts.Failed[i]
	}
	for i := range u.Ends.By {
		u.Ends.By[i] -= o.Ends.By[i]
	}
}

func (u *Usage) counters() [15]*uint64 {
	return [...]*uint64{
		&u.Requests, &u.Hits, &u.Misses, &u.Failed, &u.Prompt, &u.Completion, &u.Estimated, &u.Expired, &u.Mocked,
		&u.PromptCache.Read, &u.PromptCache.Written, &u.Attempts.Rescued, &u.Attempts.Opened, &u.Ends.Served, &u.Ends.Failed,
	}
}

// ActivityFields lists the fields of an activity.
func ActivityFields(f *abi.Fields, a *Activity) {
	countsFields(f, &a.Usage)
	if f.Group(a.Latency.Count() > 0) {
		a.Latency.Fields(f)
	}
	if f.Group(a.FirstToken.Count() > 0) {
		a.FirstToken.Fields(f)
	}
}

// countsFields lists the counters of usage. Usually, most of them are 0.
func countsFields(f *abi.Fields, u *Usage) {
	n := [...]uint64{u.Requests, u.Hits, u.Misses, u.Failed, u.Prompt, u.Completion, u.Estimated, u.Expired, u.Mocked}
	sparseFields(f, n[:])
	u.Requests, u.Hits, u.Misses, u.Failed, u.Prompt, u.Completion, u.Estimated, u.Expired, u.Mocked = n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8]
	f.Int(&u.CostPico)
	u.PromptCache.Fields(f, f.Group(u.PromptCache.Used()))
	if f.Group(u.Attempts.Used()) {
		u.Attempts.fields(f)
	}
	if f.Group(u.Ends.Used()) {
		u.Ends.fields(f)
	}
}

// Named is the activity of a model or a key. An empty name stands for all models or keys that are not listed
// separately.
type Named struct {
	Name string
	Activity
}

// NamedFields lists the fields of a named activity.
func NamedFields(f *abi.Fields, n *Named) {
	f.String(&n.Name)
	ActivityFields(f, &n.Activity)
}

// activityOf finds or adds a name in a list of at most limit names. If the list is full, it returns the shared entry
// for all other names.
func activityOf(list *[]Named, name string, limit int) *Activity {
	others := -1
	for i := range *list {
		switch (*list)[i].Name {
		case name:
			return &(*list)[i].Activity
		case "":
			others = i
		}
	}
	if len(*list) >= limit && name != "" {
		if others >= 0 {
			return &(*list)[others].Activity
		}
		name = ""
	}
	*list = append(*list, Named{Name: name})
	return &(*list)[len(*list)-1].Activity
}

func totalOf(list []Named) (total Activity) {
	for i := range list {
		total.Plus(&list[i].Activity)
	}
	return total
}
