package postern

import "context"

// TokenCount is the number of input tokens that a completion would have.
type TokenCount struct {
	PromptTokens int    `json:"promptTokens"`
	Estimated    bool   `json:"estimated"` // the number is an estimate, because the provider cannot count or failed, or because the key is for development
	Provider     string `json:"provider"`  // the provider that would serve the completion; mock for development keys
	Model        string `json:"model"`
	Meta         Meta   `json:"-"`
}

// CountTokens counts the input tokens of Complete with the same parameters. It costs nothing, but counts toward the
// request limits. It is retried like a read. All errors are of the types that Error lists.
func (s AIService) CountTokens(ctx context.Context, params CompletionParams, opts ...CallOption) (*TokenCount, error) {
	r, err := params.request("/api/ai/count-tokens")
	if err != nil {
		return nil, err
	}
	body, response, err := fetch[tokenCountBody](ctx, s.client, r, opts)
	if err != nil {
		return nil, err
	}
	body.TokenCount.PromptTokens, body.Meta = *body.PromptTokens, response.Meta
	return &body.TokenCount, nil
}

type tokenCountBody struct {
	TokenCount
	PromptTokens *int `json:"promptTokens"`
}

func (b *tokenCountBody) missing() string {
	if b.PromptTokens == nil {
		return "promptTokens"
	}
	return ""
}
