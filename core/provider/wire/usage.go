package wire

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
)

// Names adds the value of an answer's member that names what was bought, such as its service tier. A value that is not a string
// names nothing.
func Names(u *chat.Usage, member string, v gjson.Result) {
	if v.Type == gjson.String && v.Str != "" {
		u.Terms = chat.AddTerm(u.Terms, chat.Term(member, v.Str))
	}
}

const (
	maxUnknown     = 4  // names that are kept of one answer
	maxUnknownName = 64 // bytes
)

// Unknown notes the names of members that known does not contain: PARENT.CHILD for members of an object within the usage. known has a
// space before and after each name. An unknown member changes no cost.
func Unknown(u *chat.Usage, v gjson.Result, known string) {
	note := func(name string) {
		if !strings.Contains(known, " "+name+" ") && strings.Count(u.Unknown, ",") < maxUnknown-1 {
			if !plain(name) {
				name = "invalid"
			}
			if u.Unknown != "" {
				name = "," + name
			}
			u.Unknown += name
		}
	}
	u.Unknown = ""
	if !v.IsObject() {
		return
	}
	v.ForEach(func(key, value gjson.Result) bool {
		note(key.Str)
		if value.IsObject() && strings.Contains(known, " "+key.Str+". ") {
			value.ForEach(func(inner, _ gjson.Result) bool {
				note(key.Str + "." + inner.Str)
				return true
			})
		}
		return true
	})
}

// plain reports whether a name may be the label of a metric.
func plain(name string) bool {
	for i := 0; i < len(name); i++ {
		if c := name[i]; !(c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '-') {
			return false
		}
	}
	return name != "" && len(name) <= maxUnknownName
}
