package config

import (
	"slices"
	"strings"
)

// ParseMasterKeys parses the value of EnvMasterKeys. IDs must be different.
func ParseMasterKeys(text string) (parsed []MasterKey, ok bool) {
	for text != "" {
		var entry string
		entry, text, _ = strings.Cut(text, ",")
		id, key, _ := strings.Cut(strings.TrimSpace(entry), ":")
		if !isLabel(id) || id == "" || len(id) > maxMasterID || !isKey(key) {
			return nil, false
		}
		if slices.ContainsFunc(parsed, func(k MasterKey) bool { return k.ID == id }) {
			return nil, false
		}
		parsed = append(parsed, MasterKey{id, key})
	}
	return parsed, true
}

const (
	maxMasterID    = 16
	masterKeyChars = 44 // 32 bytes in base64, with one character of padding
)

func isKey(text string) bool {
	for i := 0; i < len(text)-1; i++ {
		c := text[i]
		if !(c == '+' || c == '/' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			return false
		}
	}
	return len(text) == masterKeyChars && text[len(text)-1] == '='
}
