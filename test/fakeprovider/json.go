package fakeprovider

import (
	"bytes"
	"encoding/json"
	"strings"
)

// raw is encoded JSON.
type raw = json.RawMessage

// absent is the value of a field to omit.
type absent struct{}

// object returns a JSON object with its fields in this order: name, value, name, value…
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

func array[T any](items ...T) raw {
	if len(items) == 0 {
		return raw("[]")
	}
	return encode(items)
}

// encode encodes a value as providers do: without HTML escapes.
func encode(v any) raw {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("fakeprovider: " + err.Error()) // happens only if this package makes invalid JSON
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// only returns the value if the condition is true. Otherwise, it returns absent.
func only(condition bool, value any) any {
	if condition {
		return value
	}
	return absent{}
}

// orNull returns the string, or null if it is empty.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func join(parts ...string) []byte { return []byte(strings.Join(parts, "")) }

// pieces splits a text into pieces of size characters. The last piece may be shorter.
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
