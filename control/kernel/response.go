package kernel

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// Write sends a response. It omits the body for a HEAD request. It declares the length of the body, so a host does
// not need to stream the body.
func Write(w http.ResponseWriter, r *http.Request, requestID string, result Answer) {
	header := w.Header()
	header.Set("X-Request-Id", requestID)
	header.Set("Cache-Control", "private, no-store")
	if result.Body == nil {
		w.WriteHeader(result.Status)
		return
	}
	contentType, body, err := result.content()
	if err != nil {
		LogFailure(requestID, ErrInternal.Code(), "encode the response: "+err.Error())
		result = ErrInternal.Answer(requestID)
		contentType, body, _ = result.content()
	}
	header.Set("Content-Type", contentType)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(result.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // an error means that the client disconnected
	}
}

// content returns the body and its media type.
func (a Answer) content() (contentType string, body []byte, err error) {
	if f, ok := a.Body.(File); ok {
		return f.ContentType, f.Data, nil
	}
	body, err = Encode(a.Body)
	return "application/json", body, err
}

// Encode returns JSON without HTML escaping, so a < in a name is unchanged.
func Encode(v any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}

// File is a response body that is not JSON.
type File struct {
	ContentType string
	Data        []byte
}
