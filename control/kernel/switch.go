package kernel

import "fmt"

// ParseSwitch parses a variable that is on, off or empty, which is off. Any other value is an error: a typing
// error must not decide about security.
func ParseSwitch(name, value string) (on bool, err error) {
	if value != "" && value != "on" && value != "off" {
		return false, fmt.Errorf("%s must be on or off%s", name, Got(value))
	}
	return value == "on", nil
}
