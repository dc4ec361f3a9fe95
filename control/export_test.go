package control

import "github.com/postern-ai/postern/control/kernel"

// HasHash is hasHash for the tests.
var HasHash = hasHash

// Table returns the service's route table, to which tests may add routes.
func Table(s *Service) *[]kernel.Route { return &s.routes }
