// Package azure implements the client side of Azure OpenAI. It has OpenAI's dialect, other URLs, and another header
// for the API key. Source: Azure OpenAI in Microsoft Foundry Models REST API reference and "Azure OpenAI v1 API"
// (learn.microsoft.com/azure/ai-foundry/openai).
package azure

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Carries lists the parameters that chat completions support.
const Carries = openai.Carries

// settingVersion is the setting for the API version, such as 2024-10-21. If the setting has a value, the base URL is
// https://NAME.openai.azure.com. Otherwise, requests use the v1 API, and the base URL is
// https://NAME.openai.azure.com/openai/v1.
const settingVersion = "apiVersion"

// Request builds a chat completion request from a conversation.
func Request(c *wire.Call) abi.Action {
	return wire.Post(url(c.Model, "/chat/completions"), []abi.Part{{Data: openai.Body(c)}}, auth(c.Model)...)
}

// Direct builds a chat completion request from a body in OpenAI's dialect.
func Direct(c *wire.Call, members abi.Part) abi.Action {
	return wire.Post(url(c.Model, "/chat/completions"), openai.DirectBody(c, members), auth(c.Model)...)
}

// url returns the URL of a model's operation. Model.Upstream is the name of the operator's deployment. It is in the
// body for the v1 API, and in the path for older versions.
func url(m *config.Model, operation string) string {
	version := m.Provider.Setting(settingVersion)
	if version == "" {
		return m.Provider.BaseURL + operation
	}
	return m.Provider.BaseURL + "/openai/deployments/" + escape(m.Upstream) + operation + "?api-version=" + escape(version)
}

func auth(m *config.Model) []abi.Header {
	return wire.KeyHeader(m.Provider, "api-key")
}

// escape percent-encodes every byte except letters, digits and "-._~" (RFC 3986, section 2.3).
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
