package live

import (
	"github.com/postern-ai/postern/core/governor"
)

// longKey is a length in bytes. If a private key is at least that long, its start is decided before its end arrives.
// Common keys are shorter, so their fingerprints cover the complete key.
const longKey = 4096

// scan searches the text and counts the findings. The text's first byte has the offset base. If a finding blocks the
// response, scan returns the length of the text before that finding. Otherwise, it returns the length of the text
// that later bytes cannot change.
func (s *Stream) scan(g *Guard, c *channel, text []byte, base int, final bool) (cut int, found []governor.Finding) {
	cut = min(int(c.skip), len(text))
	from := cut
	if c.key > 0 {
		if cut, found = s.inKey(c, text, cut, base, final, nil); c.key > 0 {
			return cut, found
		}
	}
	count := len(found)
	spent := s.work >= governor.MaxWork
	c.scanner.Count(&s.work)
	found, done := c.scanner.Next(text[cut:], final, found)
	if s.unsearched(g, c, spent); s.blocked {
		return cut, found[:count]
	}
	cut += done
	for i, f := range found[count:] {
		s.count(g, c, f, text[f.Start-base:f.End-base])
		if s.blocked {
			return f.Start - base, found[:count+i]
		}
	}
	if rest := text[cut:]; len(rest) > longKey && !final {
		if start, ok := c.scanner.LongKey(rest); ok {
			f := governor.Finding{Rule: governor.RulePrivateKey, Start: base + cut + start, End: base + len(text)}
			if s.count(g, c, f, rest[start:start+longKey/2]); s.blocked {
				return cut, found
			}
			c.key = uint64(governor.MaxPrivateKey + start)
			cut, found = s.inKey(c, text, cut, base, final, found)
			found[len(found)-1].Start += start
		}
	}
	if s.measure(g, c, text[from:cut]); s.blocked {
		return 0, nil
	}
	return cut, found
}

// inKey decides the next part of a private key, from the index cut on. The key is a finding that has already been
// counted.
func (s *Stream) inKey(c *channel, text []byte, cut, base int, final bool, found []governor.Finding) (int, []governor.Finding) {
	n, ended := c.scanner.SkipKey(text[cut:], int(c.key), final)
	if c.key -= uint64(n); ended {
		c.key = 0
	}
	return cut + n, append(found, governor.Finding{Rule: governor.RulePrivateKey, Start: base + cut, End: base + cut + n})
}
