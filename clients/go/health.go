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

// Get confirms that the key is active and returns its project. Any kind of key works. An unknown, inactive or expired
// key is an *AuthenticationError.
func (s HealthService) Get(ctx context.Context, opts ...CallOption) (*Health, error) {
	health, _, err := fetch[Health](ctx, s.client, get("/api/health", nil), opts)
	return health, err
}
