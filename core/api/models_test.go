package api_test

import (
	"testing"
	"time"

	"github.com/postern-ai/postern/core/api"
)

func TestModelsCreated(t *testing.T) {
	if date := time.Unix(api.ModelsCreatedUnix, 0).UTC().Format(time.RFC3339); date != api.ModelsCreated {
		t.Errorf("the number of seconds is %s, the date %s", date, api.ModelsCreated)
	}
}

func TestModelList(t *testing.T) {
	list := api.ModelList{Start: "<", End: ">", Entry: func(dst []byte, m *api.Listed) []byte { return append(dst, m.Name+"/"+m.OwnedBy...) }}
	for want, models := range map[string][]api.Listed{
		"x<>":        nil,
		"x<a/b>":     {{Name: "a", OwnedBy: "b"}},
		"x<a/b,c/d>": {{Name: "a", OwnedBy: "b"}, {Name: "c", OwnedBy: "d"}},
	} {
		if got := string(list.Append([]byte("x"), models)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
