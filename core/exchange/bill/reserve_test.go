package bill_test

import (
	"testing"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/exchange/bill"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/core/policy"
)

// quote prices an order for a non-streaming response from a model at a dollar per million tokens.
func quote(o *bill.Order, context, maxOutput uint64) (*bill.Quote, *config.Model) {
	m := &config.Model{Provider: &config.Provider{}, Prices: config.Prices{Input: tokenPico, Output: tokenPico}, Context: context, MaxOutput: maxOutput}
	return &bill.Quote{Order: o, Config: &config.Config{}, Outputs: true}, m
}

const tokenPico = money.Dollar / 1_000_000

func TestOutputTokenBounds(t *testing.T) {
	for name, c := range map[string]struct {
		o                  bill.Order
		unbounded          bool
		context, maxOutput uint64
		longest, least     uint64
	}{
		"the model's maximum":                               {o: bill.Order{PromptTokens: 100}, context: 100_000, maxOutput: 16_000, longest: 16_000, least: 4096},
		"the rest of the context":                           {o: bill.Order{PromptTokens: 45_000}, context: 100_000, maxOutput: 16_000, longest: 10_000, least: 4096},
		"prompt and input of unknown length":                {o: bill.Order{PromptTokens: 30_000, UnseenTokens: 30_000}, context: 100_000, maxOutput: 16_000, longest: 10_000, least: 4096},
		"no known limits":                                   {o: bill.Order{PromptTokens: 100}, longest: 32_768, least: 4096},
		"no known maximum":                                  {o: bill.Order{PromptTokens: 100}, context: 100_000, longest: 32_768, least: 4096},
		"no known maximum, small context":                   {o: bill.Order{PromptTokens: 100}, context: 8000, longest: 7800, least: 4096},
		"a prompt that leaves little room":                  {o: bill.Order{PromptTokens: 3000}, context: 8000, maxOutput: 8000, longest: 8000, least: 4096},
		"a prompt that leaves exactly the minimum":          {o: bill.Order{PromptTokens: 2000}, context: 8096, maxOutput: 8000, longest: 4096, least: 4096},
		"a prompt that exceeds the context":                 {o: bill.Order{PromptTokens: 9000}, context: 8000, maxOutput: 4000, longest: 4000, least: 4000},
		"a model with a low maximum":                        {o: bill.Order{PromptTokens: 100}, context: 100_000, maxOutput: 1000, longest: 1000, least: 1000},
		"thinking":                                          {o: bill.Order{PromptTokens: 100, Thinking: 10_000}, context: 100_000, maxOutput: 50_000, longest: 50_000, least: 14_096},
		"a prompt that leaves too little room for thinking": {o: bill.Order{PromptTokens: 45_000, Thinking: 10_000}, context: 100_000, maxOutput: 50_000, longest: 50_000, least: 14_096},
		"thinking beyond the maximum":                       {o: bill.Order{PromptTokens: 100, Thinking: 10_000}, context: 100_000, maxOutput: 8000, longest: 8000, least: 8000},
		"the caller's limit":                                {o: bill.Order{PromptTokens: 100, MaxTokens: 50}, context: 100_000, maxOutput: 16_000, longest: 50, least: 50},
		"a limit that covers thinking":                      {o: bill.Order{MaxTokens: 20_000, Thinking: 10_000}, context: 100_000, maxOutput: 16_000, longest: 20_000, least: 20_000},
		"a limit that thinking would use up":                {o: bill.Order{MaxTokens: 10_000, Thinking: 10_000}, context: 100_000, maxOutput: 16_000, longest: 20_000, least: 20_000},
		"an unbounded project":                              {o: bill.Order{PromptTokens: 100, Thinking: 10_000}, unbounded: true, context: 100_000, maxOutput: 16_000, longest: 4096, least: 4096},
		"an unbounded project with the caller's limit":      {o: bill.Order{MaxTokens: 9000}, unbounded: true, context: 100_000, maxOutput: 16_000, longest: 9000, least: 9000},
	} {
		q, m := quote(&c.o, c.context, c.maxOutput)
		q.Unbounded = c.unbounded
		if longest, least := q.MaxOutput(m), q.MinOutput(m); longest != c.longest || least != c.least {
			t.Errorf("%s: got %d and minimum %d, want %d and minimum %d", name, longest, least, c.longest, c.least)
		}
	}
}

// TestThinkingOfModelsWithout checks that nothing is reserved for thinking if the model or its provider does not
// support it.
func TestThinkingOfModelsWithout(t *testing.T) {
	for _, drops := range []struct{ model, provider chat.Params }{{}, {model: chat.ParamReasoning}, {provider: chat.ParamReasoning}} {
		plain, m := quote(&bill.Order{PromptTokens: 100, MaxTokens: 500}, 200_000, 16_000)
		thinks, _ := quote(&bill.Order{PromptTokens: 100, MaxTokens: 500, Thinking: 32_768}, 200_000, 16_000)
		m.Drops, m.Provider.Drops = drops.model, drops.provider
		for _, streams := range []bool{false, true} {
			plain.Streams, thinks.Streams = streams, streams
			less, _ := plain.Reservation([]policy.Target{{Target: config.Target{Model: m}, Allowed: true}})
			more, _ := thinks.Reservation([]policy.Target{{Target: config.Target{Model: m}, Allowed: true}})
			if takes := drops.model|drops.provider == 0; (more > less) != takes {
				t.Errorf("%+v, streamed %t: %d reserved, and %d with thinking", drops, streams, less, more)
			}
		}
	}
}

// The imposed limit is the number of tokens that the reservation covers. It is never below a minimum response, and
// never a limit that providers would reject.
func TestImposedLimit(t *testing.T) {
	all := money.Pico(1_000_000)
	for name, c := range map[string]struct {
		o                  bill.Order
		streams            bool
		context, maxOutput uint64
		reserved, spent    money.Pico // in tokens
		want               uint64
	}{
		"a reservation for the model's maximum":              {o: bill.Order{PromptTokens: 100}, context: 100_000, maxOutput: 16_000, reserved: all},
		"a smaller reservation":                              {o: bill.Order{PromptTokens: 100}, context: 100_000, maxOutput: 16_000, reserved: 10_200, want: 10_000},
		"a smaller reservation for two choices":              {o: bill.Order{PromptTokens: 100, N: 2}, context: 100_000, maxOutput: 16_000, reserved: 20_200, want: 10_000},
		"the rest after another attempt":                     {o: bill.Order{PromptTokens: 100}, context: 100_000, maxOutput: 16_000, reserved: 10_200, spent: 100, want: 9900},
		"too little left after another attempt":              {o: bill.Order{PromptTokens: 100}, context: 100_000, maxOutput: 16_000, reserved: 4296, spent: 100, want: 4096},
		"with thinking":                                      {o: bill.Order{PromptTokens: 100, Thinking: 8000}, context: 100_000, maxOutput: 16_000, reserved: 4296, want: 12_096},
		"the rest of the context":                            {o: bill.Order{PromptTokens: 45_000}, context: 100_000, maxOutput: 16_000, reserved: all, want: 10_000},
		"no known maximum":                                   {o: bill.Order{PromptTokens: 100}, reserved: all, want: 32_768},
		"a prompt that leaves little room":                   {o: bill.Order{PromptTokens: 3000}, context: 8000, maxOutput: 8000, reserved: all},
		"a prompt that leaves little room, no known maximum": {o: bill.Order{PromptTokens: 3000}, context: 8000, reserved: all},
		"little room and a small reservation":                {o: bill.Order{PromptTokens: 3000}, context: 8000, maxOutput: 8000, reserved: 10_500, want: 4500},
		"a limit that just fits":                             {o: bill.Order{PromptTokens: 3500}, context: 8000, maxOutput: 8000, reserved: 11_500, want: 4500},
		"a limit that does not fit":                          {o: bill.Order{PromptTokens: 3501}, context: 8000, maxOutput: 8000, reserved: 11_502},
		"a minimum that does not fit":                        {o: bill.Order{PromptTokens: 5000}, context: 8000, maxOutput: 8000, reserved: 14_096},
		"a prompt that leaves too little room for thinking":  {o: bill.Order{PromptTokens: 45_000, Thinking: 10_000}, context: 100_000, maxOutput: 50_000, reserved: 105_000, want: 15_000},
		"the caller's limit":                                 {o: bill.Order{PromptTokens: 100, MaxTokens: 50}, context: 100_000, maxOutput: 16_000, reserved: 250},
		"a stream":                                           {streams: true, o: bill.Order{PromptTokens: 100}, context: 100_000, maxOutput: 16_000, reserved: 1224},
	} {
		q, m := quote(&c.o, c.context, c.maxOutput)
		q.Streams = c.streams
		rest := (c.reserved - c.spent) * tokenPico
		if got := q.ImposedLimit(m, rest); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
		if q.Unbounded = true; q.ImposedLimit(m, rest) != 0 {
			t.Errorf("%s: got a limit in an unbounded project", name)
		}
		q.Unbounded = false
		if m.Prices.Output = 0; q.ImposedLimit(m, rest) != 0 {
			t.Errorf("%s: got a limit for a model with free output", name)
		}
	}
}

// TestReservationCoversCacheWrites: OpenAI's newer models charge for writing the prompt to the cache even if the
// request does not ask for it. Anthropic's models charge for it only if the request asks.
func TestReservationCoversCacheWrites(t *testing.T) {
	reserve := func(wire string, cache uint64) money.Pico {
		q, m := quote(&bill.Order{MaxTokens: 10, PromptTokens: 100, Bought: bill.Bought{Cache: cache}}, 10_000, 1000)
		m.Provider.Wire, m.Prices.Write = wire, 2*tokenPico
		amount, _ := q.Reservation([]policy.Target{{Target: config.Target{Model: m}, Allowed: true}})
		return amount
	}
	for _, wire := range []string{"openai", "anthropic", "bedrock"} {
		plain, written := reserve(wire, 0), reserve(wire, 1)
		if always := wire == "openai"; (plain == written) != always || plain > written {
			t.Errorf("%s: %d reserved, and %d for a prompt to cache", wire, plain, written)
		}
	}
}

// TestReservationCoversTools: a limit on the calls of all tools together does not limit containers, because a
// container serves several calls.
func TestReservationCoversTools(t *testing.T) {
	for name, c := range map[string]struct {
		limit uint64
		want  money.Pico
	}{
		"each tool's own limit": {0, (3*10 + 2*7) * tokenPico}, "a limit of all calls": {2, (2*10 + 2*7) * tokenPico},
	} {
		o := bill.Order{MaxTokens: 10, Bought: bill.Bought{MaxToolCalls: c.limit, Uses: []chat.ToolUse{{Name: "search", Max: 3}, {Name: "code", Max: 2}}}}
		q, m := quote(&o, 10_000, 1000)
		bare, _ := q.Reservation([]policy.Target{{Target: config.Target{Model: m}, Allowed: true}})
		m.Provider.Name = "openai"
		q.Config = &config.Config{Tools: []config.Tool{
			{Name: "search", Providers: []string{"openai"}, Price: 10 * tokenPico, Meter: chat.Searches},
			{Name: "code", Providers: []string{"openai"}, Price: 7 * tokenPico, Meter: chat.Containers},
		}}
		amount, _ := q.Reservation([]policy.Target{{Target: config.Target{Model: m}, Allowed: true}})
		if fee := amount - bare; fee != c.want {
			t.Errorf("%s: %d reserved for calls, want %d", name, fee, c.want)
		}
	}
}

// TestPriceBoundOfThePlace: the rest of an incomplete response may name the most expensive place of inference, unless
// the response has already named another.
func TestPriceBoundOfThePlace(t *testing.T) {
	for name, c := range map[string]struct {
		asked, named string
		want         string
	}{
		"no place yet": {want: "inference_geo=us"}, "a named place": {named: "inference_geo=eu", want: "inference_geo=eu"},
		"an asked place": {asked: "inference_geo=eu", want: "inference_geo=eu"},
	} {
		q, m := quote(&bill.Order{Bought: bill.Bought{Terms: c.asked}}, 10_000, 1000)
		m.Factors = []config.Factor{{Term: "inference_geo=us", Num: 2, Den: 1}, {Term: "inference_geo=eu", Num: 1, Den: 1}}
		u := chat.Usage{Input: 1, Output: 1, Reported: true, Extras: &chat.Extras{Terms: c.named}}
		if q.PriceBound(m, &u); u.Extras.Terms != c.want {
			t.Errorf("%s: priced at %q, want %q", name, u.Extras.Terms, c.want)
		}
	}
}
