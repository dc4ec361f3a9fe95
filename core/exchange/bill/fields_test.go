package bill_test

import (
	"reflect"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/exchange/bill"
)

// copied encodes a value's fields and decodes them.
func copied[V any](t *testing.T, v *V, fields func(*V, *abi.Fields)) *V {
	t.Helper()
	var w abi.Writer
	fields(v, abi.WriteTo(&w))
	var got V
	r := abi.Reader{Buf: w.Buf}
	fields(&got, abi.ReadFrom(&r))
	if err := r.End(); err != nil {
		t.Error(err)
	}
	return &got
}

// An order survives encoding between the steps of an exchange, whatever parts it has.
func TestOrderFields(t *testing.T) {
	for name, b := range map[string]bill.Bought{
		"nothing":      {},
		"terms":        {Terms: "tier=priority"},
		"tools":        {Uses: []chat.ToolUse{{Name: "web_search", Max: 3}}, MaxToolCalls: 2},
		"prompt cache": {Cache: 2},
	} {
		o := bill.Order{MaxTokens: 1, N: 2, PromptTokens: 3, UnseenTokens: 4, Thinking: 5, Bought: b}
		if got := copied(t, &o, (*bill.Order).Fields); !reflect.DeepEqual(*got, o) {
			t.Errorf("%s: got %+v, want %+v", name, *got, o)
		}
	}
}

// The amounts that an exchange has spent survive encoding, whatever parts they have.
func TestSpentFields(t *testing.T) {
	var free bill.Spent
	free.Charge(1, &chat.Usage{}, 0, 0)
	free.Estimated = false
	for name, s := range map[string]bill.Spent{
		"nothing": {}, "cost": {CostPico: 7}, "usage": {Usage: chat.Usage{Input: 1}}, "an estimate": {Estimated: true}, "a free attempt": free,
	} {
		if got := copied(t, &s, (*bill.Spent).Fields); !reflect.DeepEqual(*got, s) {
			t.Errorf("%s: got %+v, want %+v", name, *got, s)
		}
	}
}
