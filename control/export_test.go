package control

import "github.com/postern-ai/postern/control/kernel"

// What the tests of the whole table use.
var HasHash = hasHash

// Table is the service's table of routes, to which tests may add some.
func Table(s *Service) *[]kernel.Route { return &s.routes }
