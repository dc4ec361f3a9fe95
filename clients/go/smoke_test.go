package postern_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	postern "github.com/postern-ai/postern/clients/go"
)

var count = postern.CompletionParams{Messages: []postern.Message{postern.User("count to 3")}}

func smokeCompletions(t *testing.T, g gateway) {
	ctx := context.Background()
	client := g.client(t, g.ProductionKey)
	whole, err := client.AI.Complete(ctx, count, postern.WithIdempotencyKey("smoke"))
	if err != nil {
		t.Fatal(err)
	}
	if whole.Text != "1 2 3" || whole.Usage.CostCents <= 0 || whole.Meta.CostCents == nil || *whole.Meta.CostCents != whole.Usage.CostCents {
		t.Errorf("completion: %+v", whole)
	}
	again, err := client.AI.Complete(ctx, count, postern.WithIdempotencyKey("smoke"))
	if err != nil || !again.Meta.Replayed || again.Text != whole.Text {
		t.Errorf("replay: %+v, %v", again, err)
	}
	stream := client.AI.Chat(ctx, count)
	streamed, err := stream.Final()
	if err != nil || streamed.Text != "1 2 3" || streamed.Usage.CostCents != whole.Usage.CostCents || streamed.Meta.Attempts.Count != 1 {
		t.Errorf("stream: %+v, %v", streamed, err)
	}
	for range client.AI.Chat(ctx, count).Events() {
		break
	}
	cold := count
	cold.Temperature = postern.Ptr(0.0)
	if c, err := client.AI.Complete(ctx, cold, postern.WithIdempotency(true)); err != nil || c.Text != "1 2 3" {
		t.Errorf("temperature 0: %+v, %v", c, err)
	}
}

func smokeReports(t *testing.T, g gateway) {
	ctx := context.Background()
	for _, key := range []string{g.ProductionKey, g.ProjectKey} {
		client := g.client(t, key)
		health, err := client.Health.Get(ctx)
		if err != nil || health.ProjectID != g.ProjectID {
			t.Errorf("health: %+v, %v", health, err)
		}
		report, err := client.Usage.Get(ctx, postern.UsageParams{Period: postern.PeriodDay})
		if err != nil || report.Budget.Used <= 0 || len(report.Models) == 0 || !report.Period.End.After(report.Period.Start) {
			t.Errorf("usage: %+v, %v", report, err)
		}
	}
	validation, err := g.client(t, g.ProductionKey).Governor.Validate(ctx, postern.ValidationParams{
		Texts: []string{"Hello", "Mail jane.doe@example.com"},
	}, postern.WithGovernor(postern.Governor{AutoApproveThreshold: postern.Ptr(0)}))
	if err != nil || len(validation.Results) != 2 || !validation.Results[0].Approved || validation.Results[1].Approved {
		t.Errorf("validation: %+v, %v", validation, err)
	}
}

func smokeErrors(t *testing.T, g gateway) {
	ctx := context.Background()
	_, err := g.client(t, g.EmptyKey).AI.Complete(ctx, count)
	var budget *postern.BudgetExceededError
	if !errors.As(err, &budget) || budget.Code != "budget_exceeded" || !strings.HasPrefix(budget.RequestID, "req_") {
		t.Errorf("no budget: %v", err)
	} else if b := budget.Budget; b == nil || b.Level != "project" || !strings.HasPrefix(b.ID, "proj_") || !b.ResetsAt.Equal(budget.ResetsAt) {
		t.Errorf("budget: %+v", b)
	}
	_, err = g.client(t, "sk_live_unknown").AI.Chat(ctx, count).Text()
	var unknown *postern.AuthenticationError
	if !errors.As(err, &unknown) {
		t.Errorf("unknown key: %v", err)
	}
	_, err = g.client(t, g.ProductionKey).AI.Complete(ctx, postern.CompletionParams{})
	var invalid *postern.BadRequestError
	if !errors.As(err, &invalid) || len(invalid.Details) == 0 || invalid.Details[0].Field != "messages" {
		t.Errorf("no messages: %v", err)
	}
	_, err = g.client(t, g.ProductionKey).Violations.Get(ctx, "vio_1")
	var denied *postern.PermissionDeniedError
	if !errors.As(err, &denied) {
		t.Errorf("a gateway key: %v", err)
	}
	_, err = g.client(t, g.ProjectKey).Violations.Update(ctx, "vio_1", postern.ViolationChange{Note: postern.Ptr("")})
	var missing *postern.NotFoundError
	if !errors.As(err, &missing) {
		t.Errorf("unknown violation: %v", err)
	}
	_, err = g.client(t, g.ProjectKey).Violations.Get(ctx, "../malformed")
	if !errors.As(err, &missing) || len(missing.Details) != 1 || missing.Details[0].Field != "violation" {
		t.Errorf("malformed violation: %v", err)
	}
	for _, err := range g.client(t, g.ProjectKey).Violations.List(ctx, postern.ViolationFilter{Limit: 1}) {
		if err != nil {
			t.Errorf("violations: %v", err)
		}
	}
}

func smokeRegistry(t *testing.T, g gateway) {
	ctx := context.Background()
	models := g.client(t, g.ProjectKey).Models
	made, err := models.Create(ctx, postern.ModelCreate{Model: "gpt-4.1", Owner: "Search", RiskTier: postern.RiskLimited, Regions: []string{"eu"}})
	if err != nil {
		t.Fatal(err)
	}
	changed, err := models.Update(ctx, made.ID, postern.ModelUpdate{Owner: postern.Ptr(""), Regions: []string{}, Version: made.Version})
	if err != nil || changed.Owner != "" || len(changed.Regions) != 0 || changed.RiskTier != postern.RiskLimited {
		t.Errorf("update: %+v, %v", changed, err)
	}
	_, err = models.Update(ctx, made.ID, postern.ModelUpdate{Owner: postern.Ptr("x"), Version: made.Version})
	var conflict *postern.ConflictError
	if !errors.As(err, &conflict) {
		t.Errorf("outdated version: %v", err)
	}
	moved, err := models.Transition(ctx, made.ID, postern.ModelTransitionParams{
		To: postern.ModelApproved, Reason: "Reviewed", Version: postern.Ptr(changed.Version),
	})
	if err != nil || moved.State != postern.ModelApproved || moved.Delivery != "delivered" {
		t.Errorf("transition: %+v, %v", moved, err)
	}
	got, err := models.Get(ctx, made.ID)
	if err != nil || len(got.History) != 2 || len(got.Approvals) != 1 || got.UpdatedAt == nil {
		t.Errorf("get: %+v, %v", got, err)
	}
	var names []string
	for model, err := range models.List(ctx, postern.ModelFilter{Limit: 1}) { // several pages
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, model.Model)
	}
	if !slices.Contains(names, "gpt-4.1") || len(names) < 2 {
		t.Errorf("list: %v", names)
	}
}

func smokeCompliance(t *testing.T, g gateway) {
	ctx := context.Background()
	compliance := g.client(t, g.ProjectKey).Compliance
	summary, err := compliance.Summary(ctx)
	if err != nil || summary.Project.ID != g.ProjectID || len(summary.Chains) != 2 {
		t.Errorf("summary: %+v, %v", summary, err)
	}
	// If system messages have no rules of their own, the rules for input apply.
	if got := summary.Governor; got.System != got.Input || got.System == (postern.ActionCounts{}) || !got.ExemptAgentAddresses || got.Exemptions != 0 {
		t.Errorf("Governor: %+v", got)
	}
	bom, err := compliance.BOM(ctx)
	if err != nil || !strings.Contains(string(bom), `"CycloneDX"`) {
		t.Errorf("BOM: %s, %v", bom, err)
	}
	kinds := map[string]int{}
	for record, err := range compliance.Export(ctx, postern.ExportParams{Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		kinds[record.Kind]++
	}
	if kinds["header"] < 2 || kinds["event"] < 2 {
		t.Errorf("export: %v", kinds)
	}
}

func smokeTokenCounts(t *testing.T, g gateway) {
	ctx := context.Background()
	counted, err := g.client(t, g.DevelopmentKey).AI.CountTokens(ctx, count)
	if err != nil || counted.PromptTokens <= 0 || counted.Provider == "" || counted.Model == "" || counted.Meta.RequestID == "" {
		t.Fatalf("%+v, %v", counted, err)
	}
	_, err = g.client(t, g.DevelopmentKey).AI.CountTokens(ctx, postern.CompletionParams{})
	var invalid *postern.BadRequestError
	if !errors.As(err, &invalid) {
		t.Errorf("no messages: %v", err)
	}
}

func smokeEndpoints(t *testing.T, g gateway) {
	ctx := context.Background()
	for _, key := range []string{g.DevelopmentKey, g.ProductionKey, g.ProjectKey} {
		models, err := g.client(t, key).Models.Available(ctx)
		if err != nil || !slices.ContainsFunc(models, func(m postern.AvailableModel) bool { return m.ID == "balanced" && m.OwnedBy == "postern" }) {
			t.Errorf("models: %v, %v", models, err)
		}
	}
	var response postern.Response
	var completion struct {
		Choices []struct{ Message postern.Message }
	}
	client := g.client(t, g.ProductionKey)
	body := map[string]any{"model": "balanced", "messages": count.Messages}
	err := client.Post(ctx, "/v1/chat/completions", body, &completion, postern.WithResponse(&response))
	if err != nil || completion.Choices[0].Message.Content != "1 2 3" || !strings.Contains(string(response.Body), "1 2 3") {
		t.Errorf("%+v, %v", completion, err)
	}
	err = client.Get(ctx, "/v1/nothing", nil)
	var missing *postern.NotFoundError
	if !errors.As(err, &missing) || missing.Code != "not_found" || !strings.HasPrefix(missing.RequestID, "req_") {
		t.Errorf("unknown path: %v", err)
	}
	_, err = g.client(t, "sk_live_unknown").Models.Available(ctx)
	var unknown *postern.AuthenticationError
	if !errors.As(err, &unknown) || unknown.Code != "invalid_api_key" {
		t.Errorf("unknown key: %v", err)
	}
}

func smokeJSONStream(t *testing.T, g gateway) {
	type place struct {
		City string `json:"city"`
	}
	found, err := postern.ChatJSON[place](context.Background(), g.client(t, g.DevelopmentKey), postern.CompletionParams{
		Messages: []postern.Message{postern.User("Where is the Louvre?")},
	}).Final()
	if err != nil || found.Data.City != "text" || found.Text != `{"city":"text"}` {
		t.Errorf("%+v, %v", found, err)
	}
}
