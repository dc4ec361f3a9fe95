package postern

import "context"

// AvailableModel is a model or a tier that a key may use.
type AvailableModel struct {
	ID      string `json:"id"`       // a value for CompletionParams.Model
	OwnedBy string `json:"owned_by"` // the provider's name, or postern for a tier
}

// Available returns the models and tiers that the client's key may use, in the gateway's order. Any kind of key with
// the "models" permission works.
func (s ModelService) Available(ctx context.Context, opts ...CallOption) ([]AvailableModel, error) {
	body, _, err := fetch[availableBody](ctx, s.client, get("/v1/models", nil), opts)
	if err != nil {
		return nil, err
	}
	return body.Data, nil
}

type availableBody struct {
	Data []AvailableModel `json:"data"`
}

func (b *availableBody) missing() string {
	for _, m := range b.Data {
		if m.ID == "" {
			return "id of a model"
		}
	}
	return missingList(b.Data, "data")
}
