package host

import "time"

func (x *exchange) now() uint64 {
	if x.host.MachineClock {
		return x.startMs + uint64(time.Since(x.began).Milliseconds())
	}
	return x.host.Clock.Now()
}
