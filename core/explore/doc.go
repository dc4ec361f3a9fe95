// Package explore tries everything on an exchange. A scenario declares a request, a deployment and what may
// answer each action; the tests follow every order of those answers, of timers and of the caller's leaving, on a
// host that answers from memory at once and on one that does not, until no state is new. There is no bound on
// the length of a path: a scenario with more than maxStates fails.
//
// What must hold on every path is in check_test.go. What callers, meters and caches are told at the ends of the
// paths is in testdata/ends, a line for each different end:
//
//	go test ./core/explore             all scenarios; -v prints each one's alphabet and numbers
//	go test ./core/explore -rewrite    and testdata/ends anew: read what changes
//	go test ./core/explore -found DIR  and writes a transcript for each violation; the shortest path to it
//	go test ./core/explore -hurry      ends with the first violation
//
// A transcript that is put into testdata/found is replayed ever after (TestFound): its lines that begin with ">"
// are the choices, the others are for reading.
//
// The package has no code of its own, only tests.
package explore
