package config_test

import (
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/catalog"
	"github.com/postern-ai/postern/core/config"
)

// A lease must be within its limits. A plan without a lease never lends, even if it replaces a plan with a lease.
func TestLeases(t *testing.T) {
	for member, want := range map[string]config.Lease{
		"": {}, `,"lease":{"ms":100,"requests":1}`: {DurationMs: 100, Requests: 1}, `,"lease":{"requests":4096,"ms":2000}`: {DurationMs: 2000, Requests: 4096},
	} {
		env := []abi.Header{{Name: config.EnvCatalog, Value: `{"plans":[{"name":"unlimited","budget":1` + member + `}]}`}}
		c, problem := config.Parse(abi.Config{Catalog: catalog.Default, Env: env})
		if problem != "" || c.Plan("unlimited").Lease != want {
			t.Errorf("%s: got %+v, %s", member, c.Plan("unlimited").Lease, problem)
		}
	}
}

func TestWrongLeases(t *testing.T) {
	const object = `POSTERN_CATALOG: lease of "x" must be an object such as {"ms": 2000, "requests": 512}, got `
	const ms, requests = "POSTERN_CATALOG: lease.ms of plan x must be an integer from 100 to 2000, got ", "POSTERN_CATALOG: lease.requests of plan x must be an integer from 1 to 4096, got "
	for lease, want := range map[string]string{
		`true`: object + "true", `null`: object + "null", `[]`: object + "[]", `{}`: ms + "none",
		`{"requests":5}`: ms + "none", `{"ms":99,"requests":5}`: ms + "99", `{"ms":2001,"requests":5}`: ms + "2001",
		`{"ms":2000}`: requests + "none", `{"ms":2000,"requests":0}`: requests + "0", `{"ms":2000,"requests":4097}`: requests + "4097",
		`{"ms":"2s","requests":5}`:  ms + `"2s"`,
		`{"ms":150.5,"requests":5}`: ms + "150.5",
		`{"ms":200,"requests":-1}`:  requests + "-1",
	} {
		if got := parse(`{"plans":[{"name":"x","budget":1,"lease":` + lease + `}]}`); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", lease, got, want)
		}
	}
}

// Plans with exact limits never lend.
func TestPlansThatLend(t *testing.T) {
	c, problem := config.Parse(abi.Config{Catalog: catalog.Default})
	if problem != "" {
		t.Fatal(problem)
	}
	for _, plan := range c.Plans {
		want := config.Lease{}
		if plan.Name == "unlimited" {
			want = config.Lease{DurationMs: 2000, Requests: 512}
		}
		if plan.Lease != want {
			t.Errorf("%s: %+v", plan.Name, plan.Lease)
		}
	}
}

func TestNoLeases(t *testing.T) {
	const overlay = `{"plans":[{"name":"unlimited","budget":1,"lease":{"ms":1000,"requests":8}}]}`
	for value, want := range map[string]uint64{"": 1000, "on": 1000, "off": 0} {
		env := []abi.Header{{Name: config.EnvCatalog, Value: overlay}, {Name: config.EnvLeases, Value: value}}
		c, problem := config.Parse(abi.Config{Catalog: catalog.Default, Env: env})
		if problem != "" || c.Plan("unlimited").Lease.DurationMs != want {
			t.Errorf("POSTERN_LEASES=%s: %+v, %s", value, c, problem)
		}
	}
}
