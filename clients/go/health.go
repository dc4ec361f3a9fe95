package postern

import "context"

// HealthService checks the client's key.
type HealthService struct{ client *Client }

// Health says that the key is active.
type Health struct {
	Status        string `json:"status"` // ok
	Authenticated bool   `json:"authenticated"`
	ProjectID     string `json:"project_id"` // of the key
}

// Get confirms that the key is active and returns its project. Any kind of key works. If the key is unknown, inactive
// or expired, the error is an *AuthenticationError.
func (s HealthService) Get(ctx context.Context, opts ...CallOption) (*Health, error) {
	health, _, err := fetch[Health](ctx, s.client, get("/api/health", nil), opts)
	return health, err
}
