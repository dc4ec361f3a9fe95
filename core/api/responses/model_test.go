package responses_test

import "github.com/postern-ai/postern/core/config"

func model() *config.Model {
	return &config.Model{Name: "m", Upstream: "up", Provider: &config.Provider{Name: "p", BaseURL: "https://up.example/v1"}}
}
