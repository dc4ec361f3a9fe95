package inspect

// member is the meaning of a field. It depends on the field's name.
type member uint8

const (
	textMember      member = iota // a text, or a value that contains texts
	skipMember                    // a string that is not a text
	ignoreMember                  // contains no text
	typeMember                    // the type of a part
	partMember                    // the text of a part; adjacent parts of a message are one text
	thinkingMember                // thinking, which may be signed
	signatureMember               // a signature: the signed text in its object must not change
	dataMember                    // encoded media or a text, depending on the type
	idMember                      // an identifier
	urlMember                     // a URL; if it belongs to media, it is not a text
	mediumMember                  // an object with media, or the URL of media
	sourceMember                  // an object with media or a document, or a string that is a text
	audioMember                   // an object; it has media if it has an ID or data
	fileMember                    // an object with a file
	fileDataMember                // a data: URL
	documentMember                // an object or array that is checked as one text
	argumentsMember               // an object or array that is checked as one text, or a string that contains JSON
	inputMember                   // an object that is checked as one text, or token IDs
	tokensMember                  // may be token IDs
	logProbsMember                // repeats a text, token by token
	repeatMember                  // repeats texts
	opaqueMember                  // encrypted
)

// word is a name with the code of its meaning.
type word struct {
	text string
	code uint8
}

// members lists the field names that have a special meaning in the APIs of OpenAI, Anthropic and Postern.
var members = [...]word{
	{"text", uint8(partMember)},
	{"type", uint8(typeMember)},
	{"id", uint8(idMember)},
	{"requestId", uint8(idMember)},
	{"toolCallId", uint8(idMember)},
	{"thinking", uint8(thinkingMember)},
	{"signature", uint8(signatureMember)},
	{"data", uint8(dataMember)},
	{"result", uint8(dataMember)},
	{"url", uint8(urlMember)},
	{"image_url", uint8(mediumMember)},
	{"imageUrl", uint8(mediumMember)},
	{"video_url", uint8(mediumMember)},
	{"file_url", uint8(mediumMember)},
	{"source", uint8(sourceMember)},
	{"audio", uint8(audioMember)},
	{"input_audio", uint8(audioMember)},
	{"file", uint8(fileMember)},
	{"file_data", uint8(fileDataMember)},
	{"fileData", uint8(fileDataMember)},
	{"metadata", uint8(documentMember)},
	{"parameters", uint8(documentMember)},
	{"input_schema", uint8(documentMember)},
	{"output_schema", uint8(documentMember)},
	{"schema", uint8(documentMember)},
	{"responseSchema", uint8(documentMember)},
	{"input_examples", uint8(documentMember)},
	{"arguments", uint8(argumentsMember)},
	{"input", uint8(inputMember)},
	{"prompt", uint8(tokensMember)},
	{"logprobs", uint8(logProbsMember)},
	{"logit_bias", uint8(ignoreMember)},
	{"embedding", uint8(ignoreMember)},
	// Credentials for a provider's own connectors are meant only for the provider. The connectors do not work without
	// them.
	{"headers", uint8(ignoreMember)},
	{"authorization", uint8(skipMember)},
	{"authorization_token", uint8(skipMember)},
	{"role", uint8(skipMember)},
	{"model", uint8(skipMember)},
	{"object", uint8(skipMember)},
	{"status", uint8(skipMember)},
	{"phase", uint8(skipMember)},
	{"media_type", uint8(skipMember)},
	{"mime_type", uint8(skipMember)},
	{"format", uint8(skipMember)},
	{"detail", uint8(skipMember)},
	{"effort", uint8(skipMember)},
	{"quality", uint8(skipMember)},
	{"encoding_format", uint8(skipMember)},
	{"encrypted_content", uint8(opaqueMember)},
	{"encrypted_index", uint8(skipMember)},
	{"thought_signature", uint8(skipMember)},
	{"finish_reason", uint8(skipMember)},
	{"finishReason", uint8(skipMember)},
	{"stop_reason", uint8(skipMember)},
	{"service_tier", uint8(skipMember)},
	{"system_fingerprint", uint8(skipMember)},
	{"b64_json", uint8(skipMember)},
}

// echoes lists the fields of a Responses response that repeat other fields. Code 1 marks fields of the request, which
// were checked as input. Code 2 marks the texts of the output.
var echoes = [...]word{
	{"instructions", 1}, {"tools", 1}, {"tool_choice", 1}, {"metadata", 1}, {"text", 1}, {"prompt", 1}, {"user", 1},
	{"safety_identifier", 1}, {"prompt_cache_key", 1}, {"reasoning", 1}, {"output_text", 2},
}

// part is the type of an object. Only some types matter to this package.
type part uint8

const (
	otherPart part = iota
	imagePart
	audioPart
	filePart
	base64Part
	remotePart // a source by URL
	opaquePart // encrypted
	compactionPart
)

var parts = [...]word{
	{"image", uint8(imagePart)},
	{"image_url", uint8(imagePart)},
	{"input_image", uint8(imagePart)},
	{"image_generation_call", uint8(imagePart)},
	{"computer_screenshot", uint8(imagePart)},
	{"audio", uint8(audioPart)},
	{"input_audio", uint8(audioPart)},
	{"output_audio", uint8(audioPart)},
	{"file", uint8(filePart)},
	{"input_file", uint8(filePart)},
	{"container_upload", uint8(filePart)},
	{"video_url", uint8(filePart)},
	{"base64", uint8(base64Part)},
	{"url", uint8(remotePart)},
	{"redacted_thinking", uint8(opaquePart)},
	{"compaction", uint8(compactionPart)},
}

// lookUp returns the code of a name, or 0 if the name has none.
func lookUp(words []word, name []byte) uint8 {
	for i := range words {
		if w := &words[i]; len(w.text) == len(name) && equal(name, w.text) {
			return w.code
		}
	}
	return 0
}

// equal compares texts of the same length. It avoids a conversion, because a conversion would allocate memory.
func equal(a []byte, b string) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// memberOf returns the meaning of a field's name. If the name ends in _id, the field is an identifier.
func memberOf(name []byte) member {
	if m := member(lookUp(members[:], name)); m != textMember {
		return m
	}
	if n := len(name); n > 3 && equal(name[n-3:], "_id") {
		return idMember
	}
	return textMember
}

// maxName is greater than the length of every name in members.
const maxName = 40

// name returns the decoded name of a field. If the name is too long to be in members, the result is empty.
func (w *walker) name(s span) []byte {
	inside := w.body[s.start:s.end]
	if !s.escaped {
		return inside[:len(inside)*bit(len(inside) <= maxName)]
	}
	if len(inside) > len(w.decoded) {
		return nil
	}
	one := s.segment()
	c := newCursor(w.body, &one)
	return c.decode(w.decoded[:0])
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
