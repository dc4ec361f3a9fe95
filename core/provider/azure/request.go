// Package azure speaks Azure OpenAI: OpenAI's dialect at other addresses, with another header for the key.
// Source: Azure OpenAI in Microsoft Foundry Models REST API reference and "Azure OpenAI v1 API"
// (learn.microsoft.com/azure/ai-foundry/openai).
package azure

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Carries is what chat completions have a place for.
const Carries = openai.Carries

// settingVersion is the version of the API, such as 2024-10-21. Without it the base URL is that of the v1 API,
// https://NAME.openai.azure.com/openai/v1; with it, https://NAME.openai.azure.com.
const settingVersion = "apiVersion"

// Request translates a conversation.
func Request(c *wire.Call) abi.Action {
	return wire.Post(url(c.Model, "/chat/completions"), []abi.Part{{Data: openai.Body(c)}}, auth(c.Model)...)
}

// Direct sends a body of OpenAI's dialect.
func Direct(c *wire.Call, members abi.Part) abi.Action {
	return wire.Post(url(c.Model, "/chat/completions"), openai.DirectBody(c, members), auth(c.Model)...)
}

// url is where an operation of a model is. Model.Upstream is the name of the operator's deployment: in the
// body for the v1 API, in the path before it.
func url(m *config.Model, operation string) string {
	version := m.Provider.Setting(settingVersion)
	if version == "" {
		return m.Provider.BaseURL + operation
	}
	return m.Provider.BaseURL + "/openai/deployments/" + escape(m.Upstream) + operation + "?api-version=" + escape(version)
}

func auth(m *config.Model) []abi.Header {
	if m.Provider.Key == "" {
		return nil
	}
	return []abi.Header{{Name: "api-key", Value: m.Provider.Key}}
}

// escape writes every byte but letters, digits and "-._~" as %XX (RFC 3986, section 2.3).
func escape(s string) string {
	const digits = "0123456789ABCDEF"
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9', c == '-' || c == '.' || c == '_' || c == '~':
			out = append(out, c)
		default:
			out = append(out, '%', digits[c>>4], digits[c&15])
		}
	}
	return string(out)
}
