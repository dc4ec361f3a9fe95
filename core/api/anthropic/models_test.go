package anthropic_test

import (
	"math"
	"testing"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/anthropic"
)

func TestModels(t *testing.T) {
	const entry = `{"id":"a\"b","type":"model","display_name":"a\"b","created_at":"2026-01-01T00:00:00Z"}`
	models := anthropic.Family.Models
	list := []api.Listed{{Name: `a"b`, OwnedBy: "openai"}, {Name: `a"b`}}
	if got, want := string(models.Append(nil, list)), `{"data":[`+entry+","+entry+`],"has_more":false,"first_id":null,"last_id":null}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := string(models.Entry(nil, &list[0])); got != entry {
		t.Errorf("got %s, want %s", got, entry)
	}
}

func TestAppendCount(t *testing.T) {
	for tokens, want := range map[uint64]string{0: `{"input_tokens":0}`, math.MaxUint64: `{"input_tokens":18446744073709551615}`} {
		if got := string(anthropic.AppendCount(nil, tokens)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
