package gemini

import (
	"strings"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

// media writes the field for an image, file or audio part. For bytes, the field is inlineData. For a URL, which the
// API fetches itself, it is fileData.
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

// mediaType returns a part's media type. Audio parts have only a format, and URLs can lack a type. If the type is
// unknown, it returns "".
func mediaType(p *chat.Part) jsontext.Escaped {
	switch {
	case p.Media != "" && p.Kind == chat.Audio && !strings.Contains(string(p.Media), "/"):
		return "audio/" + p.Media
	case p.Media != "":
		return p.Media
	case p.URL != "":
		return typeByExtension(string(p.URL))
	case p.Kind == chat.File:
		return "application/pdf"
	}
	return ""
}

// typeByExtension guesses the media type from the extension of a URL's path.
func typeByExtension(url string) jsontext.Escaped {
	if end := strings.IndexAny(url, "?#"); end >= 0 {
		url = url[:end]
	}
	switch strings.ToLower(url[strings.LastIndexByte(url, '.')+1:]) {
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
