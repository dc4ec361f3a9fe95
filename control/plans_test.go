package control

import (
	"reflect"
	"testing"

	"github.com/postern-ai/postern/core/config"
)

func TestPlansOfPutsTheDefaultFirst(t *testing.T) {
	parsed := config.Config{DefaultPlan: "m", Plans: []config.Plan{{Name: "z"}, {Name: "m", BudgetPico: 7}, {Name: "a"}}}
	if got := PlansOf(&parsed); !reflect.DeepEqual(got, []Plan{{"m", 7}, {"a", 0}, {"z", 0}}) {
		t.Errorf("%+v", got)
	}
}
