package postern

import "context"

// EmbedParams are the parameters of Embed. Model and Input are required.
type EmbedParams struct {
	Model      string   `json:"model"`                // an embedding model, or provider/model
	Input      []string `json:"input"`                // up to 2048 texts
	Dimensions int      `json:"dimensions,omitempty"` // length of each vector, if the model offers several lengths

	CacheControl string `json:"-"` // as in CompletionParams
	Strict       bool   `json:"-"` // as in CompletionParams
}

// Embedding has the embedding vectors of texts.
type Embedding struct {
	Embeddings [][]float64 `json:"embeddings"` // one vector for each text, in the same order
	Provider   string      `json:"provider"`   // mock is the built-in provider of development keys
	Model      string      `json:"model"`
	CacheHit   bool        `json:"cacheHit"` // served from the gateway's cache
	Usage      Usage       `json:"usage"`
	Attempts   int         `json:"attempts"`  // number of calls to providers; 0 on a cache hit
	LatencyMs  int         `json:"latencyMs"` // time that the gateway took for the request, in milliseconds
	Governor   *Governance `json:"governor"`  // nil if the project does not use the Governor
	Meta       Meta        `json:"-"`
}

// Embed turns texts into vectors. All errors are of the types that Error lists.
func (s AIService) Embed(ctx context.Context, params EmbedParams, opts ...CallOption) (*Embedding, error) {
	r, err := modelRequest("/api/ai/embed", params.CacheControl, params.Strict)
	if err == nil {
		r, err = withBody(r, params)
	}
	if err != nil {
		return nil, err
	}
	body, response, err := fetch[embeddingBody](ctx, s.client, r, opts)
	if err != nil {
		return nil, err
	}
	body.Meta = response.Meta
	return &body.Embedding, nil
}

type embeddingBody struct{ Embedding }

func (b *embeddingBody) missing() string {
	if b.Embeddings == nil {
		return "embeddings"
	}
	return ""
}
