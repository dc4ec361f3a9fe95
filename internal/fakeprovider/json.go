package fakeprovider

import (
	"bytes"
	"encoding/json"
	"strings"
)

// raw is JSON that is written already.
type raw = json.RawMessage

// absent leaves out the member that it is the value of.
type absent struct{}

// object is a JSON object with its members in this order: name, value, name, value…
func object(pairs ...any) raw {
	b := []byte{'{'}
	for i := 0; i+1 < len(pairs); i += 2 {
		if _, no := pairs[i+1].(absent); no {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, encode(pairs[i])...), ':'), encode(pairs[i+1])...)
	}
	return append(b, '}')
}

// array is a JSON array.
func array[T any](items ...T) raw {
	if len(items) == 0 {
		return raw("[]")
	}
	return encode(items)
}

// encode writes a value as providers do: without escapes for HTML.
func encode(v any) raw {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("fakeprovider: " + err.Error()) // only for JSON that this package wrote wrongly
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// only is the value if the condition holds; else the member is left out.
func only(condition bool, value any) any {
	if condition {
		return value
	}
	return absent{}
}

// orNull is the text, or null if there is none.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func join(parts ...string) []byte { return []byte(strings.Join(parts, "")) }

// pieces cuts a text into pieces of about so many characters.
func pieces(text string, size int) (list []string) {
	runes := []rune(text)
	for len(runes) > size {
		list = append(list, string(runes[:size]))
		runes = runes[size:]
	}
	if len(runes) > 0 {
		list = append(list, string(runes))
	}
	return list
}
