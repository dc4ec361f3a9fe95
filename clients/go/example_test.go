package postern_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	postern "github.com/postern-ai/postern/clients/go"
)

var answers = map[string]string{
	"POST /api/ai/chat": `data: {"type":"delta","text":"1 2"}` + "\n\n" + `data: {"type":"delta","text":" 3"}` + "\n\n" +
		`data: {"type":"done","provider":"openai","model":"gpt-4.1-mini","usage":{"totalTokens":12,"costCents":0.00034}}` +
		"\n\ndata: [DONE]\n\n",
	"POST /api/ai/complete": `{"text":"{\"city\":\"Paris\"}","provider":"openai","model":"gpt-4.1-mini","cacheHit":false,
		"usage":{"totalTokens":8,"costCents":0.00034}}`,
	"POST /v1/responses": `{"id":"resp_1","output":[{"content":[{"text":"1 2 3"}]}]}`,
	"GET /api/health":    `{"status":"ok","authenticated":true,"project_id":"proj_1"}`,
	"GET /api/usage":     `{"budget":{"limit":100,"used":1.5,"remaining":98.5},"models":{}}`,
	"POST /api/governor/validate": `{"approved":false,"decision":"review","riskScore":40,"redacted":null,"policyVersion":7,
		"findings":[{"rule":"personal.card","severity":"high","action":"flag","path":"text","start":8,"end":24}]}`,
	"GET /api/violations": `{"violations":[{"id":"vio_1","rule":"secret.github-token","severity":"critical","version":1},
		{"id":"vio_2","rule":"personal.card","severity":"high","version":1}],"next":null}`,
	"PATCH /api/violations/vio_1": `{"id":"vio_1","state":"resolved","note":"Test data","version":2}`,
	"POST /api/models-registry/mod_1/transitions": `{"id":"mod_1","model":"gpt-4.1","state":"deprecated","successor":"gpt-5.4",
		"version":4,"delivery":"delivered"}`,
	"GET /api/compliance/export": `{"format":"postern-export","version":1,"type":"audit"}` + "\n" +
		`{"record":"event","seq":1,"kind":"key.create"}` + "\n",
}

// TestMain starts the gateway of the examples. In a child process of TestProxies, it only calls a gateway and runs no
// tests.
func TestMain(m *testing.M) {
	if os.Getenv(proxyChild) != "" {
		runProxyChild()
		return
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := answers[r.Method+" "+r.URL.Path]
		w.Header().Set("x-request-id", "req_1")
		if strings.HasPrefix(text, "data:") {
			w.Header().Set("content-type", "text/event-stream")
		}
		if r.Header.Get("x-api-key") == "sk_test_empty" {
			w.WriteHeader(http.StatusPaymentRequired)
			text = `{"error":"Budget exceeded","code":"budget_exceeded","requestId":"req_1"}`
		}
		_, _ = io.WriteString(w, text)
	}))
	os.Setenv("POSTERN_BASE_URL", server.URL)
	os.Setenv("POSTERN_API_KEY", "sk_test_examples")
	code := m.Run()
	server.Close()
	os.Exit(code)
}

func Example() {
	client, err := postern.New() // with POSTERN_API_KEY and POSTERN_BASE_URL
	if err != nil {
		panic(err)
	}
	stream := client.AI.Chat(context.Background(), postern.CompletionParams{
		Messages: []postern.Message{postern.User("count to 3")},
	})
	for event, err := range stream.Events() {
		if err != nil {
			panic(err)
		}
		switch e := event.(type) {
		case postern.DeltaEvent:
			fmt.Print(e.Text)
		case postern.DoneEvent:
			fmt.Printf("\n%s cost %g cents\n", e.Model, e.Usage.CostCents)
		}
	}
	// Output:
	// 1 2 3
	// gpt-4.1-mini cost 0.00034 cents
}

func ExampleAIService_Complete() {
	client, err := postern.New()
	if err != nil {
		panic(err)
	}
	completion, err := client.AI.Complete(context.Background(), postern.CompletionParams{
		Messages:    []postern.Message{postern.User(`The capital of France, as {"city": …}`)},
		Quality:     postern.QualityCheap,
		Temperature: postern.Ptr(0.0),
	}, postern.WithIdempotency(true))
	if err != nil {
		panic(err)
	}
	fmt.Println(completion.Text, completion.Usage.TotalTokens, completion.Meta.RequestID)
	// Output: {"city":"Paris"} 8 req_1
}

func ExampleChatStream_Final() {
	client, err := postern.New()
	if err != nil {
		panic(err)
	}
	stream := client.AI.Chat(context.Background(), postern.CompletionParams{
		Messages: []postern.Message{postern.User("count to 3")},
	})
	completion, err := stream.Final()
	if err != nil {
		panic(err)
	}
	fmt.Println(completion.Text, completion.Usage.TotalTokens)
	// Output: 1 2 3 12
}

func ExampleCompleteJSON() {
	client, err := postern.New()
	if err != nil {
		panic(err)
	}
	type answer struct {
		City string `json:"city"`
	}
	result, err := postern.CompleteJSON[answer](context.Background(), client, postern.CompletionParams{
		Messages: []postern.Message{postern.User(`The capital of France, as {"city": …}`)},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Data.City, result.Usage.CostCents)
	// Output: Paris 0.00034
}

func ExampleChatJSON() {
	client, err := postern.New()
	if err != nil {
		panic(err)
	}
	stream := postern.ChatJSON[[]int](context.Background(), client, postern.CompletionParams{
		Messages: []postern.Message{postern.User("count to 3, as a JSON array")},
	})
	_, err = stream.Data()
	var invalid *postern.OutputValidationError
	if errors.As(err, &invalid) { // the completion was charged anyway
		fmt.Println(invalid.Issues, invalid.Completion.Usage.CostCents)
	}
	// Output: [{ must be a []int, got a number}] 0.00034
}

func ExampleClient_Post() {
	client, err := postern.New()
	if err != nil {
		panic(err)
	}
	var response struct{ ID string }
	body := map[string]any{"model": "balanced", "input": "count to 3"}
	if err := client.Post(context.Background(), "/v1/responses", body, &response); err != nil {
		panic(err)
	}
	fmt.Println(response.ID)
	// Output: resp_1
}

func ExampleWithRequestHook() {
	client, err := postern.New(postern.WithRequestHook(func(_ context.Context, request *postern.OutgoingRequest) error {
		request.Header.Set("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
		fmt.Println(request.Method, request.Path, request.Attempt)
		return nil
	}))
	if err != nil {
		panic(err)
	}
	if _, err := client.Health.Get(context.Background()); err != nil {
		panic(err)
	}
	// Output: GET /api/health 1
}

func ExampleVerifyWebhook() {
	header := http.Header{} // of the request
	_, err := postern.VerifyWebhook([]byte(`{"type":"budget.threshold"}`), header, "whsec_AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcY")
	var wrong *postern.WebhookVerificationError
	if errors.As(err, &wrong) {
		fmt.Println(wrong.Code)
	}
	// Output: missing_header
}

func ExampleBudgetExceededError() {
	client, err := postern.New(postern.WithAPIKey("sk_test_empty"), postern.WithLogging(postern.Logging{Level: postern.LogOff}))
	if err != nil {
		panic(err)
	}
	_, err = client.AI.Complete(context.Background(), postern.CompletionParams{
		Messages: []postern.Message{postern.User("Hello!")},
	})
	var budget *postern.BudgetExceededError
	if errors.As(err, &budget) {
		fmt.Println(budget.StatusCode, budget.Code, budget.RequestID)
	}
	// Output: 402 budget_exceeded req_1
}

func ExampleUsageService_Get() {
	client, err := postern.New()
	if err != nil {
		panic(err)
	}
	report, err := client.Usage.Get(context.Background(), postern.UsageParams{Period: postern.PeriodDay})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.2f of %.2f dollars left\n", report.Budget.Remaining, report.Budget.Limit)
	// Output: 98.50 of 100.00 dollars left
}

func ExampleGovernorService_Validate() {
	client, err := postern.New()
	if err != nil {
		panic(err)
	}
	validation, err := client.Governor.Validate(context.Background(), postern.ValidationParams{Text: "My card 4111111111111111"})
	if err != nil {
		panic(err)
	}
	for _, f := range validation.Findings {
		fmt.Println(validation.Decision, f.Rule, f.Severity, f.Start, f.End)
	}
	// Output: review personal.card high 8 24
}

func ExampleViolationService_List() {
	client, err := postern.New()
	if err != nil {
		panic(err)
	}
	filter := postern.ViolationFilter{State: postern.ViolationOpen}
	for violation, err := range client.Violations.List(context.Background(), filter) {
		if err != nil {
			panic(err)
		}
		fmt.Println(violation.ID, violation.Rule, violation.Severity)
	}
	// Output:
	// vio_1 secret.github-token critical
	// vio_2 personal.card high
}

func ExampleViolationService_Update() {
	client, err := postern.New()
	if err != nil {
		panic(err)
	}
	violation, err := client.Violations.Update(context.Background(), "vio_1", postern.ViolationChange{
		State:   postern.ViolationResolved,
		Note:    postern.Ptr("Test data"),
		Version: 1,
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(violation.State, violation.Note)
	// Output: resolved Test data
}

func ExampleModelService_Transition() {
	client, err := postern.New()
	if err != nil {
		panic(err)
	}
	model, err := client.Models.Transition(context.Background(), "mod_1", postern.ModelTransitionParams{
		To:        postern.ModelDeprecated,
		Reason:    "Replaced",
		Successor: postern.Ptr("gpt-5.4"),
		Version:   postern.Ptr(3),
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(model.Model, model.State, model.Delivery)
	// Output: gpt-4.1 deprecated delivered
}

func ExampleComplianceService_Export() {
	client, err := postern.New()
	if err != nil {
		panic(err)
	}
	for record, err := range client.Compliance.Export(context.Background(), postern.ExportParams{Type: postern.ExportAudit}) {
		if err != nil {
			panic(err)
		}
		fmt.Println(record.Kind, len(record.Line))
	}
	// Output:
	// header 54
	// event 46
}

func ExampleWithResponse() {
	client, err := postern.New()
	if err != nil {
		panic(err)
	}
	var response postern.Response
	health, err := client.Health.Get(context.Background(), postern.WithResponse(&response))
	if err != nil {
		panic(err)
	}
	fmt.Println(health.ProjectID, response.StatusCode, response.Meta.RequestID)
	// Output: proj_1 200 req_1
}
