package wire

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
)

// Names adds the value of a response field that names something bought, such as the service tier. If the value is not
// a string, it is ignored.
//
//go:noinline
func Names(u *chat.Usage, member string, v gjson.Result) {
	if v.Type != gjson.String || v.Str == "" {
		return
	}
	if term := chat.Term(member, v.Str); u.Extras == nil || u.Terms != term { // every chunk of a stream repeats the tier
		e := u.Edit()
		e.Terms = chat.AddTerm(e.Terms, term)
	}
}

const (
	maxUnknown     = 200 // maximum total length of the names kept per response, in bytes
	maxUnknownName = 64
)

// Unknown notes the names of fields that are not in known. A field of an object in the usage is named PARENT.CHILD.
// In known, each name has a space before and after it. Unknown fields do not change the cost.
//
//go:noinline
func Unknown(u *chat.Usage, v gjson.Result, known string) {
	if v.IsObject() {
		unknown(u, "", v, known)
	}
}

func unknown(u *chat.Usage, parent string, v gjson.Result, known string) {
	v.ForEach(func(key, value gjson.Result) bool {
		name := parent + key.Str
		switch {
		case !strings.Contains(known, " "+name+" "):
			noteUnknown(u, name)
		case parent == "" && value.IsObject() && strings.Contains(known, " "+name+". "):
			unknown(u, name+".", value, known)
		}
		return true
	})
}

func noteUnknown(u *chat.Usage, name string) {
	e := u.Bought()
	if !plain(name) {
		name = "invalid"
	}
	if e.Unknown != "" {
		name = e.Unknown + "," + name
	}
	if len(name) <= maxUnknown {
		e.Unknown = name
		u.Extras = e
	}
}

// plain reports whether a name can be used as a metric's label.
func plain(name string) bool {
	for i := 0; i < len(name); i++ {
		if c := name[i]; !(c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '-') {
			return false
		}
	}
	return name != "" && len(name) <= maxUnknownName
}

// AddCalls adds provider tool calls that a response lists.
//
//go:noinline
func AddCalls(u *chat.Usage, m chat.Meter, n uint64) {
	u.Edit().Calls[m] += n
}

// SetCalls sets the number of calls, if the response contains it.
//
//go:noinline
func SetCalls(u *chat.Usage, m chat.Meter, v gjson.Result) {
	if v.Type != gjson.Null {
		u.Edit().Calls[m] = Count(v)
	}
}
