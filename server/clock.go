//go:build !testclock

package server

import "time"

type clock struct{}

func (clock) Now() uint64 { return uint64(time.Now().UnixMilli()) }
