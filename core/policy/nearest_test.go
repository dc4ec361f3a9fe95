package policy

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
)

func TestNearest(t *testing.T) {
	cfg := testConfig(t)
	for _, c := range []struct {
		about string
		view  View
		name  string
		api   config.API
		limit int
		want  string
	}{
		{"a typo", View{}, "a-largo", config.APIChat, 2, "a-large a-small"},
		{"another case", View{}, "A-SMALL", config.APIChat, 1, "a-small"},
		{"a tier", View{}, "Best", config.APIChat, 1, "best"},
		{"an alias", View{}, "a-bigg", config.APIChat, 1, "a-large"},
		{"provider/model", View{}, "alpha/a-smal", config.APIChat, 1, "a-small"},
		{"in the catalog's order", View{}, "zzzzzzz", config.APIChat, 10, "fast best a-large a-small"},
		{"embedding models", View{}, "a-large", config.APIEmbeddings, 10, "a-embed"},
		{"forbidden models are not suggested", View{Key: []string{"best", "a-small"}}, "a-large", config.APIChat, 10, "a-small fast best"},
		{"models without credentials are not suggested", View{}, "b-large", config.APIChat, 1, "a-large"},
		{"a model that is ready by the project's provider key", View{Project: withProviderKey("beta", "m2")}, "b-larg", config.APIChat, 1, "b-large"},
		{"no model is allowed", View{Key: []string{"nobody"}}, "a-large", config.APIChat, 10, ""},
		{"a limit of 0", View{}, "a-large", config.APIChat, 0, ""},
		{"the empty name", View{}, "", config.APIChat, 2, "fast best"},
		{"an overlong name", View{}, "a-small" + strings.Repeat("x", 193), config.APIChat, 1, "a-small"},
		{"a letter whose lower case has more bytes", View{}, strings.Repeat("\u023a", 32), config.APIChat, 1, "fast"},
	} {
		c.view.Config = cfg
		for range 2 {
			if got := strings.Join(c.view.Nearest(c.name, c.api, c.limit), " "); got != c.want {
				t.Errorf("%s: %q, want %q", c.about, got, c.want)
			}
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"Flaw", "lawn", 2}, {"gpt-5", "GPT-5", 0},
		{"gpt-5.4", "gpt-5.4-mini", 5}, {strings.Repeat("a", doc.MaxModelBytes), strings.Repeat("b", 129), 129},
	} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if len(c.b) <= doc.MaxModelBytes && Distance(c.b, c.a) != c.want {
			t.Errorf("%q and %q: %d, want %d", c.b, c.a, Distance(c.b, c.a), c.want)
		}
	}
}
