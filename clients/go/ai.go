package postern

import (
	"context"
	"encoding/json"
	"net/http"
)

// AIService creates completions and embeddings. It needs a gateway key (sk_…).
type AIService struct{ client *Client }

// Quality is the name of a tier, which is a list of models.
type Quality string

// The tiers of the gateway's own catalog. Operators can add others.
const (
	QualityCheap    Quality = "cheap"
	QualityBalanced Quality = "balanced"
	QualityFrontier Quality = "frontier"
)

// Mode is the format of a completion's text.
type Mode string

// The modes.
const (
	ModeText Mode = "text"
	ModeJSON Mode = "json"
)

// CompletionParams are the parameters of a completion. Only Messages is required.
type CompletionParams struct {
	Messages    []Message   `json:"messages"`              // oldest first
	Model       string      `json:"model,omitempty"`       // a model, provider/model or a tier; must be empty if Quality is set
	Quality     Quality     `json:"quality,omitempty"`     // default QualityBalanced
	Temperature *float64    `json:"temperature,omitempty"` // 0 to 2, default 0.7
	MaxTokens   int         `json:"maxTokens,omitempty"`   // maximum output in tokens, default 1000
	Mode        Mode        `json:"mode,omitempty"`        // default ModeText
	TopP        *float64    `json:"topP,omitempty"`        // nucleus sampling, 0 to 1
	Stop        []string    `json:"stop,omitempty"`        // the output ends before any of these strings
	Seed        *int64      `json:"seed,omitempty"`        // makes sampling repeatable, if the provider supports it
	Reasoning   *Reasoning  `json:"reasoning,omitempty"`   // how much the model thinks
	Tools       []Tool      `json:"tools,omitempty"`       // functions that the model may call
	ToolChoice  *ToolChoice `json:"toolChoice,omitempty"`  // default ToolAuto; requires Tools

	// ResponseSchema is the JSON Schema that the output must match. The gateway validates the output.
	ResponseSchema json.RawMessage `json:"responseSchema,omitempty"`
	// Metadata has up to 16 labels, for providers that store them.
	Metadata map[string]string `json:"metadata,omitempty"`

	// CacheControl is no-store (do not read or write the gateway's cache), no-cache (do not read it), or max-age=N (accept
	// a response that is at most N seconds old).
	CacheControl string `json:"-"`
	// Strict makes the request fail with 400 if the model does not support one of its parameters. By default, such
	// parameters are dropped and listed in Meta.DroppedParams.
	Strict bool `json:"-"`
}

// Reasoning sets how much the model thinks.
type Reasoning struct {
	Effort Effort `json:"effort"`
}

// Effort is an amount of thinking.
type Effort string

// The efforts. Few models have all of them.
const (
	EffortNone    Effort = "none"
	EffortMinimal Effort = "minimal"
	EffortLow     Effort = "low"
	EffortMedium  Effort = "medium"
	EffortHigh    Effort = "high"
	EffortXHigh   Effort = "xhigh"
)

// FinishReason says why the output ended.
type FinishReason string

// The reasons. FinishLength means that the output reached the maximum number of tokens.
const (
	FinishStop          FinishReason = "stop"
	FinishLength        FinishReason = "length"
	FinishToolCalls     FinishReason = "tool_calls"
	FinishContentFilter FinishReason = "content_filter"
)

// Completion is a model's output, with its cost.
type Completion struct {
	Text         string       `json:"text"`
	ToolCalls    []ToolCall   `json:"toolCalls"` // the tools that the model calls
	FinishReason FinishReason `json:"finishReason"`
	Provider     string       `json:"provider"` // the provider's name; mock is the built-in provider of development keys
	Model        string       `json:"model"`
	CacheHit     bool         `json:"cacheHit"` // served from the gateway's cache
	Usage        Usage        `json:"usage"`
	Attempts     int          `json:"attempts"`  // number of calls to providers; 0 on a cache hit
	LatencyMs    int          `json:"latencyMs"` // time that the gateway took for the request, in milliseconds
	Governor     *Governance  `json:"governor"`  // nil if the project does not use the Governor
	Meta         Meta         `json:"-"`
}

// Usage has the token counts and the cost of a completion. On a cache hit, the counts are those of the original request.
type Usage struct {
	PromptTokens     int     `json:"promptTokens"`
	CompletionTokens int     `json:"completionTokens"`
	TotalTokens      int     `json:"totalTokens"`
	CostCents        float64 `json:"costCents"` // US cents, including failed attempts that the provider billed; 0 on a cache hit
}

// Governance has the Governor's decisions about a completion.
type Governance struct {
	Input         Verdict  `json:"input"`
	Output        *Verdict `json:"output"` // nil on a cache hit
	PolicyVersion int      `json:"policyVersion"`
}

// Verdict is one decision of the Governor.
type Verdict struct {
	Decision  Decision `json:"decision"`
	RiskScore int      `json:"riskScore"` // 0 to 100
}

// Complete returns a completion after all of it has arrived. All errors are of the types that Error lists, most often
// a *BadRequestError, *BudgetExceededError, *RateLimitError, *BlockedByPolicyError or *InternalServerError.
func (s AIService) Complete(ctx context.Context, params CompletionParams, opts ...CallOption) (*Completion, error) {
	r, err := params.completion("/api/ai/complete")
	if err != nil {
		return nil, err
	}
	body, response, err := fetch[completionBody](ctx, s.client, r, opts)
	if err != nil {
		return nil, err
	}
	return body.whole(response.Meta), nil
}

// completionBody is a completion as the gateway sends it. A response without a text or a usage is invalid.
type completionBody struct {
	Completion
	Text  *string `json:"text"`
	Usage *Usage  `json:"usage"`
}

func (b *completionBody) missing() string {
	switch {
	case b.Text == nil:
		return "text"
	case b.Usage == nil:
		return "usage"
	}
	return ""
}

func (b *completionBody) whole(meta Meta) *Completion {
	b.Completion.Text, b.Completion.Usage, b.Completion.Meta = *b.Text, *b.Usage, meta
	return &b.Completion
}

func (p CompletionParams) request(path string) (request, error) {
	if p.Model != "" && p.Quality != "" {
		return request{}, misconfigured("Model", "excludes Quality: set a model or a quality")
	}
	r, err := modelRequest(path, p.CacheControl, p.Strict)
	if err != nil {
		return r, err
	}
	return withBody(r, p)
}

// completion is like request, for an endpoint that takes idempotency keys.
func (p CompletionParams) completion(path string) (request, error) {
	r, err := p.request(path)
	r.completion = true
	return r, err
}

func modelRequest(path, cacheControl string, strict bool) (request, error) {
	r := request{method: http.MethodPost, path: path, header: http.Header{}, governed: true}
	if cacheControl != "" {
		if !isHeaderValue(cacheControl) {
			return r, misconfigured("CacheControl", "must be a valid header value")
		}
		r.header.Set("cache-control", cacheControl)
	}
	if strict {
		r.header.Set("x-postern-strict", "true")
	}
	return r, nil
}
