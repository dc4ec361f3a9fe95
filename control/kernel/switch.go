package kernel

import "fmt"

// ParseSwitch parses a variable that is "on", "off" or empty; empty means off. Any other value is an error, because a
// typo must not affect security.
func ParseSwitch(name, value string) (on bool, err error) {
	if value != "" && value != "on" && value != "off" {
		return false, fmt.Errorf("%s must be on or off%s", name, Got(value))
	}
	return value == "on", nil
}
