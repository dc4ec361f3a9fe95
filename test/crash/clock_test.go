package crash

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/postern-ai/postern/test/fakeprovider"
)

const (
	perDay    = 40
	perSecond = 5
)

// stepped is a deployment under load. Its clock is moved forward and back in steps.
type stepped struct {
	*deployment
	main                  *project
	steady, daily, second *account
	stop                  chan struct{}
	callers               sync.WaitGroup
}

// TestClockSteps moves the clock of a server under load by an hour, past midnight and back.
func TestClockSteps(t *testing.T) {
	s := &stepped{deployment: deploy(t), stop: make(chan struct{})}
	s.step(23*time.Hour + 30*time.Minute - virtualStart.Sub(virtualStart.Truncate(24*time.Hour)))
	s.main = s.newProject("main", "")
	s.steady = s.newAccount(s.main, "steady", "")
	s.daily = s.newAccount(s.main, "daily", fmt.Sprintf(`,"limits":{"requestsPerSecond":null,"requestsPerDay":%d,"tokensPerMinute":null}`, perDay))
	s.second = s.newAccount(s.main, "second", fmt.Sprintf(`,"limits":{"requestsPerSecond":%d,"requestsPerDay":null,"tokensPerMinute":null}`, perSecond))
	started := time.Now()
	s.load()
	for i, want := range []int{perDay, 2 * perDay, 2 * perDay, 2 * perDay} { // admissions of the daily key so far
		if i > 0 {
			s.stepInFlight([]time.Duration{0, time.Hour, -time.Hour, time.Hour}[i])
		}
		s.untilRefused()
		if got := s.daily.now().served; got != want {
			t.Errorf("%d admissions after step %d, want %d", got, i, want)
		}
	}
	close(s.stop)
	s.callers.Wait()
	took := time.Since(started)
	if most := perSecond * (int(took.Seconds()) + 2 + 2); s.second.now().served > most { // each step forward opens a window
		t.Errorf("%d admissions in %v with two steps forward, want at most %d", s.second.now().served, took, most)
	}
	s.checkBooks()
}

// load sends requests with all keys until stop is closed.
func (s *stepped) load() {
	for _, caller := range []func(n int){
		func(n int) { s.complete(s.steady, s.prompt(n, false)) },
		func(n int) { s.complete(s.steady, s.prompt(n, true)) },
		func(n int) { s.complete(s.daily, s.prompt(n, false), 429) },
		func(n int) { s.complete(s.second, s.prompt(n, n%2 == 0), 429) },
	} {
		s.callers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-s.stop:
					return
				default:
					caller(n)
				}
			}
		})
	}
}

func (s *stepped) prompt(n int, stream bool) prompt {
	return prompt{text: fmt.Sprint("count to 20, ", time.Now().UnixNano(), n), maxTokens: pick(amounts), stream: stream}
}

// stepInFlight moves the clock while a response is held back. If it moves forward, the reservation expires. The late
// settlement must then replace the charge for the expired reservation.
func (s *stepped) stepInFlight(by time.Duration) {
	s.Helper()
	s.upstream.Next(fakeprovider.Behavior{Kind: "hold", Family: "anthropic"})
	var held sync.WaitGroup
	held.Go(func() {
		s.complete(s.steady, prompt{anthropic: true, text: fmt.Sprint("held ", time.Now().UnixNano()), maxTokens: amounts[0]})
	})
	s.eventually("the response is held", func() error {
		if s.upstream.Held() == 0 {
			return errors.New("it is not held")
		}
		return nil
	})
	s.step(by)
	s.eventually("the reservation expires", func() error {
		f := readFigures(s.mustAdmin("GET", "projects/"+s.main.id+"/usage?by=model", "").body)
		if by > 0 && f.expired == 0 {
			return fmt.Errorf("%+v", f)
		}
		return nil
	})
	s.upstream.Release()
	held.Wait()
}

// untilRefused waits until the daily key has reached its limit. In the meantime, requests of the other keys are
// served.
func (s *stepped) untilRefused() {
	s.Helper()
	daily, steady, second := s.daily.now(), s.steady.now(), s.second.now()
	s.eventually("the day is full", func() error {
		d, o, n := s.daily.now(), s.steady.now(), s.second.now()
		if d.refused < daily.refused+5 || o.served < steady.served+10 || n.served < second.served+perSecond {
			return fmt.Errorf("daily %+v, steady %+v, second %+v", d, o, n)
		}
		return nil
	})
}

// checkBooks compares the usage with the provider's count. Nothing was interrupted, so they must be equal.
func (s *stepped) checkBooks() {
	s.Helper()
	s.collect()
	served := s.steady.now().served + s.daily.now().served + s.second.now().served
	s.eventually("the usage equals what the provider counted", func() error {
		f := readFigures(s.mustAdmin("GET", "projects/"+s.main.id+"/usage?by=model", "").body)
		answered := int64(s.main.answered)
		if f.requests != answered || int64(served) != answered || f.expired+f.estimated != 0 || f.prompt != 100*answered ||
			!near(f.cost, answerCost*float64(answered)) || !near(f.cost, f.used) {
			return fmt.Errorf("%+v, answered %d, served %d", f, answered, served)
		}
		return nil
	})
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }
