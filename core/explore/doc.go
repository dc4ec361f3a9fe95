// Package explore tries everything on an exchange: a scenario declares a request, a deployment and what every
// action may be answered with, and the tests of this package follow every order of those answers, of timers and
// of the caller's leaving, until no state is new. It has no code of its own, only tests.
package explore
