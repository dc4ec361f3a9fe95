//go:build !testclock

package server

import "time"

// clock is the machine's clock.
type clock struct{}

func (clock) Now() uint64 { return uint64(time.Now().UnixMilli()) }
