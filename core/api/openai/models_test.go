package openai_test

import (
	"testing"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/openai"
)

func TestModels(t *testing.T) {
	const a = `{"id":"best","object":"model","created":1767225600,"owned_by":"postern"}`
	const b = `{"id":"a\"b","object":"model","created":1767225600,"owned_by":"openai"}`
	models := openai.Family().Models
	list := []api.Listed{{Name: "best", OwnedBy: "postern"}, {Name: `a"b`, OwnedBy: "openai"}}
	if got, want := string(models.Append(nil, list)), `{"object":"list","data":[`+a+","+b+"]}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := string(models.Entry(nil, &list[1])); got != b {
		t.Errorf("got %s, want %s", got, b)
	}
}
