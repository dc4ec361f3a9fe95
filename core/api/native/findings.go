package native

import (
	"strconv"

	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/jsontext"
)

// AppendFindings appends the findings in the form that all dialects share: rule, category, severity, action, path and
// offsets.
func AppendFindings(dst []byte, found []inspect.Finding, p *governor.Policy) []byte {
	dst = append(dst, '[')
	for i := range found {
		f := &found[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		name, category, severity := p.Rule(f.Rule)
		dst = jsontext.AppendString(append(dst, `{"rule":`...), name)
		dst = append(append(dst, `,"category":"`...), category.String()...)
		dst = append(append(dst, `","severity":"`...), severity.String()...)
		dst = append(append(dst, `","action":"`...), f.Action.String()...)
		dst = jsontext.AppendString(append(dst, `","path":`...), f.Path)
		dst = strconv.AppendInt(append(dst, `,"start":`...), int64(f.Start), 10)
		dst = append(strconv.AppendInt(append(dst, `,"end":`...), int64(f.End), 10), '}')
	}
	return append(dst, ']')
}
