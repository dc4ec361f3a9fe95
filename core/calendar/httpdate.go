package calendar

import (
	"strconv"
	"strings"
)

// months are the month names in HTTP dates.
const months = "JanFebMarAprMayJunJulAugSepOctNovDec"

// weekdays are the names of the weekdays in HTTP dates. They start with Thursday, because 1970-01-01 was a Thursday.
const weekdays = "ThuFriSatSunMonTueWed"

// AppendHTTPDate appends a time in Unix milliseconds in the form "Sun, 06 Nov 1994 08:49:37 GMT". Format: RFC 9110,
// section 5.6.7.
func AppendHTTPDate(dst []byte, ms uint64) []byte {
	day := Day(ms)
	year, month, dayOfMonth := Date(day)
	text := AppendTimestamp(nil, ms) // 1994-11-06T08:49:37.000Z
	dst = append(dst, weekdays[day%7*3:day%7*3+3]...)
	dst = append(dst, ',', ' ', byte('0'+dayOfMonth/10), byte('0'+dayOfMonth%10), ' ')
	dst = append(append(dst, months[month*3-3:month*3]...), ' ')
	dst = append(strconv.AppendUint(dst, year, 10), ' ')
	return append(append(dst, text[11:19]...), " GMT"...)
}

// ParseHTTPDate converts a date in any of HTTP's three formats to Unix milliseconds. ok is false for anything else.
// Two-digit years from 50 to 99 are in the 1900s, and the others are in the 2000s. Formats: RFC 9110, section 5.6.7.
func ParseHTTPDate(text string) (ms uint64, ok bool) {
	_, rest, comma := strings.Cut(text, ",")
	if !comma {
		return parseAsctime(text)
	}
	// Sun, 06 Nov 1994 08:49:37 GMT or Sunday, 06-Nov-94 08:49:37 GMT
	fields := strings.Fields(rest)
	if len(fields) == 3 {
		fields = append(strings.Split(fields[0], "-"), fields[1:]...)
	}
	if len(fields) != 5 || fields[4] != "GMT" {
		return 0, false
	}
	return instant(fields[2], fields[1], fields[0], fields[3])
}

// parseAsctime parses the asctime format: Sun Nov  6 08:49:37 1994.
func parseAsctime(text string) (ms uint64, ok bool) {
	fields := strings.Fields(text)
	if len(fields) != 5 {
		return 0, false
	}
	return instant(fields[4], fields[1], fields[2], fields[3])
}

// instant combines a date and a time of day into Unix milliseconds.
func instant(year, month, day, clock string) (ms uint64, ok bool) {
	y, d, m := number(year), number(day), strings.Index(months, month)
	if len(year) == 2 && y >= 0 {
		y += 1900
		if y < 1950 {
			y += 100
		}
	}
	parts := strings.Split(clock, ":")
	if len(month) != 3 || m < 0 || m%3 != 0 || y < 1970 || y > 9999 || len(parts) != 3 {
		return 0, false
	}
	h, min, s := number(parts[0]), number(parts[1]), number(parts[2])
	if h < 0 || h > 23 || min < 0 || min > 59 || s < 0 || s > 60 {
		return 0, false
	}
	n := uint64((y-1970)*12 + m/3)
	days := MonthStart(n) + uint64(d) - 1
	if d < 1 || days >= MonthStart(n+1) {
		return 0, false
	}
	return days*DayMs + uint64((h*60+min)*60+s)*SecondMs, true
}

// number parses one to four digits. It returns -1 for anything else.
func number(text string) int {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || len(text) > 4 {
		return -1
	}
	return int(n)
}
