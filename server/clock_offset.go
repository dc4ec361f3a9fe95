//go:build testclock

package server

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// clock is the machine's clock plus an offset. The offset in milliseconds is in the file that TEST_CLOCK names. Crash
// tests change it while the server runs. Only binaries built with the tag testclock contain this clock.
type clock struct{}

func (clock) Now() uint64 {
	now := time.Now().UnixMilli()
	text, err := os.ReadFile(os.Getenv("TEST_CLOCK"))
	if err != nil {
		return uint64(now)
	}
	offset, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		panic("TEST_CLOCK: " + err.Error())
	}
	return uint64(now + offset)
}
