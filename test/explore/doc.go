// Package explore checks the exchange exhaustively. A scenario declares a request, a deployment and the possible
// replies to each action. The tests follow every order of replies, timers and client disconnects until they find no
// new state. They do this twice: on a host whose memory replies immediately, and on a slow host. The length of a path
// is not limited. If a scenario has more than maxStates states, it fails.
//
// check_test.go has the invariants of every path. testdata/ends has the outcomes for caller, meter and cache. Each
// family of scenarios has a file there. Scenarios of a family that have the same outcomes share a section of the
// file.
//
//	go test ./test/explore             all scenarios; -v prints each one's alphabet and numbers
//	go test ./test/explore -rewrite    also rewrites testdata/ends; review the diff
//	go test ./test/explore -found DIR  also writes a transcript of the shortest path to each violation
//	go test ./test/explore -hurry      stops at the first violation
//
// TestFound replays the transcripts in testdata/found. Lines that begin with ">" are choices. The other lines are for
// the reader.
//
// The package has only test files.
package explore
