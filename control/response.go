package control

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// write sends a response, without the body to a HEAD. It declares the body's length, so that a host needs no
// stream.
func write(w http.ResponseWriter, r *http.Request, requestID string, result answer) {
	header := w.Header()
	header.Set("X-Request-Id", requestID)
	header.Set("Cache-Control", "private, no-store")
	if result.body == nil {
		w.WriteHeader(result.status)
		return
	}
	contentType, body, err := result.content()
	if err != nil {
		LogFailure(requestID, errInternal.Code, "encode the response: "+err.Error())
		result = errInternal.answer(requestID)
		contentType, body, _ = result.content()
	}
	header.Set("Content-Type", contentType)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(result.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // an error means that the client disconnected
	}
}

// content is the body and its media type.
func (a answer) content() (contentType string, body []byte, err error) {
	if f, ok := a.body.(file); ok {
		return f.contentType, f.data, nil
	}
	body, err = encode(a.body)
	return "application/json", body, err
}

// encode returns JSON without HTML escaping: a < in a name stays as it is.
func encode(v any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}
