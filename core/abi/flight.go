package abi

// A flight is a request to a provider that several exchanges of one isolate share. Its leader sends the request and
// publishes the response; the followers read it. A host keeps the flights by name, and knows for each its leader, the
// bytes published so far and each follower's position in them. It decides nothing: the core says what to join, publish
// and end.
//
// A flight ends when its leader issues ActionLand, when the leader's exchange ends for any reason, or, on a platform that
// can end an exchange without notice, when the host finds that the leader's exchange does not respond any more.

// Code of EventFlight.
const (
	// FlightMore: Data is everything published since the follower's last read, at least one byte. What one step of the
	// leader published is never split.
	FlightMore = 0
	// FlightLanded: the response is complete. This code and the following ones are those of the leader's ActionLand.
	FlightLanded = 1
	// FlightFailed: the flight has ended without ActionLand.
	FlightFailed = 2
	// FlightRetry: the leader ended for a reason of its own, or the response is in memory by now.
	FlightRetry = 3
	// FlightAlone: the response cannot be shared.
	FlightAlone = 4
)
