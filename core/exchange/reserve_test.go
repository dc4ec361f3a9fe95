package exchange

import (
	"testing"

	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/money"
)

// newExchange is an exchange with a live key and a non-streaming request to a model at a dollar per million
// tokens.
func newExchange(q request, context, maxOutput uint64) (*exchange, *config.Model) {
	x := &exchange{}
	x.s.endpoint, x.s.request = endpointOpenAI, q
	return x, &config.Model{Prices: config.Prices{Input: tokenPico, Output: tokenPico}, Context: context, MaxOutput: maxOutput}
}

const tokenPico = money.Dollar / 1_000_000

func TestOutputTokenBounds(t *testing.T) {
	for name, c := range map[string]struct {
		q                  request
		unbounded          bool
		context, maxOutput uint64
		longest, least     uint64
	}{
		"the model's maximum":                               {q: request{promptTokens: 100}, context: 100_000, maxOutput: 16_000, longest: 16_000, least: 4096},
		"the rest of the context":                           {q: request{promptTokens: 45_000}, context: 100_000, maxOutput: 16_000, longest: 10_000, least: 4096},
		"prompt and input of unknown length":                {q: request{promptTokens: 30_000, unseenTokens: 30_000}, context: 100_000, maxOutput: 16_000, longest: 10_000, least: 4096},
		"no known limits":                                   {q: request{promptTokens: 100}, longest: 32_768, least: 4096},
		"no known maximum":                                  {q: request{promptTokens: 100}, context: 100_000, longest: 32_768, least: 4096},
		"no known maximum, small context":                   {q: request{promptTokens: 100}, context: 8000, longest: 7800, least: 4096},
		"a prompt that leaves little room":                  {q: request{promptTokens: 3000}, context: 8000, maxOutput: 8000, longest: 8000, least: 4096},
		"a prompt that leaves exactly the minimum":          {q: request{promptTokens: 2000}, context: 8096, maxOutput: 8000, longest: 4096, least: 4096},
		"a prompt that exceeds the context":                 {q: request{promptTokens: 9000}, context: 8000, maxOutput: 4000, longest: 4000, least: 4000},
		"a model with a low maximum":                        {q: request{promptTokens: 100}, context: 100_000, maxOutput: 1000, longest: 1000, least: 1000},
		"thinking":                                          {q: request{promptTokens: 100, thinking: 10_000}, context: 100_000, maxOutput: 50_000, longest: 50_000, least: 14_096},
		"a prompt that leaves too little room for thinking": {q: request{promptTokens: 45_000, thinking: 10_000}, context: 100_000, maxOutput: 50_000, longest: 50_000, least: 14_096},
		"thinking beyond the maximum":                       {q: request{promptTokens: 100, thinking: 10_000}, context: 100_000, maxOutput: 8000, longest: 8000, least: 8000},
		"the caller's limit":                                {q: request{promptTokens: 100, maxTokens: 50}, context: 100_000, maxOutput: 16_000, longest: 50, least: 50},
		"a limit that covers thinking":                      {q: request{maxTokens: 20_000, thinking: 10_000}, context: 100_000, maxOutput: 16_000, longest: 20_000, least: 20_000},
		"a limit that thinking would use up":                {q: request{maxTokens: 10_000, thinking: 10_000}, context: 100_000, maxOutput: 16_000, longest: 20_000, least: 20_000},
		"an unbounded project":                              {q: request{promptTokens: 100, thinking: 10_000}, unbounded: true, context: 100_000, maxOutput: 16_000, longest: 4096, least: 4096},
		"an unbounded project with the caller's limit":      {q: request{maxTokens: 9000}, unbounded: true, context: 100_000, maxOutput: 16_000, longest: 9000, least: 9000},
	} {
		x, m := newExchange(c.q, c.context, c.maxOutput)
		x.s.record.Unbounded = c.unbounded
		if longest, least := x.maxOutputTokens(m), x.minOutputTokens(m); longest != c.longest || least != c.least {
			t.Errorf("%s: got %d and minimum %d, want %d and minimum %d", name, longest, least, c.longest, c.least)
		}
	}
}

// The imposed limit is what the reservation covers, but at least the minimum response, and never a limit that
// providers would reject.
func TestImposedLimit(t *testing.T) {
	all := money.Pico(1_000_000)
	for name, c := range map[string]struct {
		q                  request
		context, maxOutput uint64
		reserved, spent    money.Pico // in tokens
		want               uint64
	}{
		"a reservation for the model's maximum":              {q: request{promptTokens: 100}, context: 100_000, maxOutput: 16_000, reserved: all},
		"a smaller reservation":                              {q: request{promptTokens: 100}, context: 100_000, maxOutput: 16_000, reserved: 10_200, want: 10_000},
		"a smaller reservation for two choices":              {q: request{promptTokens: 100, n: 2}, context: 100_000, maxOutput: 16_000, reserved: 20_200, want: 10_000},
		"the rest after another attempt":                     {q: request{promptTokens: 100}, context: 100_000, maxOutput: 16_000, reserved: 10_200, spent: 100, want: 9900},
		"too little left after another attempt":              {q: request{promptTokens: 100}, context: 100_000, maxOutput: 16_000, reserved: 4296, spent: 100, want: 4096},
		"with thinking":                                      {q: request{promptTokens: 100, thinking: 8000}, context: 100_000, maxOutput: 16_000, reserved: 4296, want: 12_096},
		"the rest of the context":                            {q: request{promptTokens: 45_000}, context: 100_000, maxOutput: 16_000, reserved: all, want: 10_000},
		"no known maximum":                                   {q: request{promptTokens: 100}, reserved: all, want: 32_768},
		"a prompt that leaves little room":                   {q: request{promptTokens: 3000}, context: 8000, maxOutput: 8000, reserved: all},
		"a prompt that leaves little room, no known maximum": {q: request{promptTokens: 3000}, context: 8000, reserved: all},
		"little room and a small reservation":                {q: request{promptTokens: 3000}, context: 8000, maxOutput: 8000, reserved: 10_500, want: 4500},
		"a limit that just fits":                             {q: request{promptTokens: 3500}, context: 8000, maxOutput: 8000, reserved: 11_500, want: 4500},
		"a limit that does not fit":                          {q: request{promptTokens: 3501}, context: 8000, maxOutput: 8000, reserved: 11_502},
		"a minimum that does not fit":                        {q: request{promptTokens: 5000}, context: 8000, maxOutput: 8000, reserved: 14_096},
		"a prompt that leaves too little room for thinking":  {q: request{promptTokens: 45_000, thinking: 10_000}, context: 100_000, maxOutput: 50_000, reserved: 105_000, want: 15_000},
		"the caller's limit":                                 {q: request{promptTokens: 100, maxTokens: 50}, context: 100_000, maxOutput: 16_000, reserved: 250},
		"a stream":                                           {q: request{promptTokens: 100, stream: true}, context: 100_000, maxOutput: 16_000, reserved: 1224},
	} {
		x, m := newExchange(c.q, c.context, c.maxOutput)
		x.s.admission.reserved, x.s.spent.costPico = c.reserved*tokenPico, c.spent*tokenPico
		if got := x.imposedLimit(m); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
		if x.s.record.Unbounded = true; x.imposedLimit(m) != 0 {
			t.Errorf("%s: got a limit in an unbounded project", name)
		}
		x.s.record.Unbounded = false
		if m.Prices.Output = 0; x.imposedLimit(m) != 0 {
			t.Errorf("%s: got a limit for a model with free output", name)
		}
	}
}
