package exchange

import (
	"testing"

	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/money"
)

// asking is a whole request of a live key to a model at a dollar a million tokens, either way.
func asking(q request, context, maxOutput uint64) (*exchange, *config.Model) {
	x := &exchange{}
	x.s.endpoint, x.s.request = endpointOpenAI, q
	return x, &config.Model{Prices: config.Prices{Input: tokenPico, Output: tokenPico}, Context: context, MaxOutput: maxOutput}
}

const tokenPico = money.Dollar / 1_000_000

func TestLongestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		q                  request
		unbounded          bool
		context, maxOutput uint64
		longest, least     uint64
	}{
		"the model's maximum":                {q: request{promptTokens: 100}, context: 100_000, maxOutput: 16_000, longest: 16_000, least: 4096},
		"what the prompt leaves":             {q: request{promptTokens: 45_000}, context: 100_000, maxOutput: 16_000, longest: 10_000, least: 4096},
		"the prompt and what nobody sees":    {q: request{promptTokens: 30_000, unseenTokens: 30_000}, context: 100_000, maxOutput: 16_000, longest: 10_000, least: 4096},
		"nothing is known":                   {q: request{promptTokens: 100}, longest: 32_768, least: 4096},
		"no maximum is known":                {q: request{promptTokens: 100}, context: 100_000, longest: 32_768, least: 4096},
		"no maximum, little context":         {q: request{promptTokens: 100}, context: 8000, longest: 7800, least: 4096},
		"a prompt that leaves little":        {q: request{promptTokens: 3000}, context: 8000, maxOutput: 8000, longest: 8000, least: 4096},
		"a prompt that leaves exactly that":  {q: request{promptTokens: 2000}, context: 8096, maxOutput: 8000, longest: 4096, least: 4096},
		"a prompt that leaves nothing":       {q: request{promptTokens: 9000}, context: 8000, maxOutput: 4000, longest: 4000, least: 4000},
		"a model of few words":               {q: request{promptTokens: 100}, context: 100_000, maxOutput: 1000, longest: 1000, least: 1000},
		"thinking":                           {q: request{promptTokens: 100, thinking: 10_000}, context: 100_000, maxOutput: 50_000, longest: 50_000, least: 14_096},
		"thinking that the prompt cuts off":  {q: request{promptTokens: 45_000, thinking: 10_000}, context: 100_000, maxOutput: 50_000, longest: 50_000, least: 14_096},
		"thinking beyond the maximum":        {q: request{promptTokens: 100, thinking: 10_000}, context: 100_000, maxOutput: 8000, longest: 8000, least: 8000},
		"the caller's limit":                 {q: request{promptTokens: 100, maxTokens: 50}, context: 100_000, maxOutput: 16_000, longest: 50, least: 50},
		"it covers thinking":                 {q: request{maxTokens: 20_000, thinking: 10_000}, context: 100_000, maxOutput: 16_000, longest: 20_000, least: 20_000},
		"thinking would use it up":           {q: request{maxTokens: 10_000, thinking: 10_000}, context: 100_000, maxOutput: 16_000, longest: 20_000, least: 20_000},
		"a project that is not bounded":      {q: request{promptTokens: 100, thinking: 10_000}, unbounded: true, context: 100_000, maxOutput: 16_000, longest: 4096, least: 4096},
		"it obeys the caller's limit though": {q: request{maxTokens: 9000}, unbounded: true, context: 100_000, maxOutput: 16_000, longest: 9000, least: 9000},
	} {
		x, m := asking(c.q, c.context, c.maxOutput)
		x.s.record.Unbounded = c.unbounded
		if longest, least := x.maxOutputTokens(m), x.minOutputTokens(m); longest != c.longest || least != c.least {
			t.Errorf("%s: %d, at least %d; want %d, at least %d", name, longest, least, c.longest, c.least)
		}
	}
}

// The limit that a provider gets is what was reserved. It is neither below what an answer needs, nor one that the
// provider would refuse.
func TestLimits(t *testing.T) {
	all := money.Pico(1_000_000)
	for name, c := range map[string]struct {
		q                  request
		context, maxOutput uint64
		reserved, spent    money.Pico // tokens
		want               uint64
	}{
		"all of the model's maximum":                {q: request{promptTokens: 100}, context: 100_000, maxOutput: 16_000, reserved: all},
		"not all of it":                             {q: request{promptTokens: 100}, context: 100_000, maxOutput: 16_000, reserved: 10_200, want: 10_000},
		"each of several answers":                   {q: request{promptTokens: 100, n: 2}, context: 100_000, maxOutput: 16_000, reserved: 20_200, want: 10_000},
		"less was left by another attempt":          {q: request{promptTokens: 100}, context: 100_000, maxOutput: 16_000, reserved: 10_200, spent: 100, want: 9900},
		"too little was left":                       {q: request{promptTokens: 100}, context: 100_000, maxOutput: 16_000, reserved: 4296, spent: 100, want: 4096},
		"with thinking":                             {q: request{promptTokens: 100, thinking: 8000}, context: 100_000, maxOutput: 16_000, reserved: 4296, want: 12_096},
		"what the prompt leaves":                    {q: request{promptTokens: 45_000}, context: 100_000, maxOutput: 16_000, reserved: all, want: 10_000},
		"no maximum is known":                       {q: request{promptTokens: 100}, reserved: all, want: 32_768},
		"a prompt that leaves little":               {q: request{promptTokens: 3000}, context: 8000, maxOutput: 8000, reserved: all},
		"and no maximum is known":                   {q: request{promptTokens: 3000}, context: 8000, reserved: all},
		"it leaves little, and money is short":      {q: request{promptTokens: 3000}, context: 8000, maxOutput: 8000, reserved: 10_500, want: 4500},
		"the limit would just fit":                  {q: request{promptTokens: 3500}, context: 8000, maxOutput: 8000, reserved: 11_500, want: 4500},
		"the limit would not fit beside the prompt": {q: request{promptTokens: 3501}, context: 8000, maxOutput: 8000, reserved: 11_502},
		"the least would not fit":                   {q: request{promptTokens: 5000}, context: 8000, maxOutput: 8000, reserved: 14_096},
		"thinking that the prompt cuts off":         {q: request{promptTokens: 45_000, thinking: 10_000}, context: 100_000, maxOutput: 50_000, reserved: 105_000, want: 15_000},
		"the caller's limit":                        {q: request{promptTokens: 100, maxTokens: 50}, context: 100_000, maxOutput: 16_000, reserved: 250},
		"a stream":                                  {q: request{promptTokens: 100, stream: true}, context: 100_000, maxOutput: 16_000, reserved: 1224},
	} {
		x, m := asking(c.q, c.context, c.maxOutput)
		x.s.admission.reserved, x.s.spent.costPico = c.reserved*tokenPico, c.spent*tokenPico
		if got := x.imposedLimit(m); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
		if x.s.record.Unbounded = true; x.imposedLimit(m) != 0 {
			t.Errorf("%s: limited in a project that is not bounded", name)
		}
		x.s.record.Unbounded = false
		if m.Prices.Output = 0; x.imposedLimit(m) != 0 {
			t.Errorf("%s: limited though it costs nothing", name)
		}
	}
}
