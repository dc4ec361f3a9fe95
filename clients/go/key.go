package postern

import (
	"context"
	"strings"
)

// keySource provides the API key of an attempt: text, or the result of function.
type keySource struct {
	text        string
	function    func(context.Context) (string, error)
	environment Environment // if not empty, the function's keys must belong to this environment
}

// readKey reads the key of the attempt. Its errors do not contain the key. They also leave out the text of the
// function's error, because that text may contain the key.
func (b *responseBody) readKey() error {
	source := b.call.client.key()
	if source.function == nil {
		b.call.key = source.text
		return nil
	}
	var key string
	err := interruptible(b.ctx, func(ctx context.Context) (err error) {
		key, err = source.function(ctx)
		return err
	})
	const setting = "WithAPIKeyFunc"
	if ended := b.interrupted(setting); ended != nil {
		return ended
	}
	if err != nil {
		return misconfigured(setting, "has returned an error in place of an API key")
	}
	switch key = strings.TrimSpace(key); {
	case key == "" || !isPrintable(key):
		return misconfigured(setting, "must return an API key of printable ASCII characters")
	case source.environment != "" && environmentOf(key) != "" && environmentOf(key) != source.environment:
		return misconfigured(setting, "must return an API key for "+string(source.environment)+", as WithEnvironment says")
	}
	b.call.key = key
	return nil
}
