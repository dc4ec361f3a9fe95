package gemini

import (
	"strings"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

// media writes the member that holds an image, a file or a sound: inlineData with its bytes, or fileData with
// its address, which the API fetches itself.
func media(b *jsontext.Builder, p *chat.Part) {
	kind := mediaType(p)
	if p.URL == "" {
		b.Key("inlineData")
		b.Open('{')
		b.TextMember("mimeType", kind)
		b.Key("data")
		b.Text(p.Data)
		b.Close('}')
		return
	}
	b.Key("fileData")
	b.Open('{')
	b.TextMember("mimeType", kind)
	b.Key("fileUri")
	b.Text(p.URL)
	b.Close('}')
}

// mediaType is a part's media type: sounds come with a format only, and files by address with nothing at all.
// Empty: not known.
func mediaType(p *chat.Part) jsontext.Spelled {
	switch {
	case p.Media != "" && p.Kind == chat.Audio && !strings.Contains(string(p.Media), "/"):
		return "audio/" + p.Media
	case p.Media != "":
		return p.Media
	case p.URL != "":
		return typeByEnding(string(p.URL))
	case p.Kind == chat.File:
		return "application/pdf"
	}
	return ""
}

// typeByEnding guesses by how an address ends, before its query.
func typeByEnding(address string) jsontext.Spelled {
	if end := strings.IndexAny(address, "?#"); end >= 0 {
		address = address[:end]
	}
	switch strings.ToLower(address[strings.LastIndexByte(address, '.')+1:]) {
	case "png":
		return "image/png"
	case "jpg", "jpeg":
		return "image/jpeg"
	case "webp":
		return "image/webp"
	case "heic":
		return "image/heic"
	case "heif":
		return "image/heif"
	case "gif":
		return "image/gif"
	case "pdf":
		return "application/pdf"
	}
	return ""
}
