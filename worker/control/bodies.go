//go:build js && wasm

package main

import (
	"bytes"
	"io"
	"net/http"
	"syscall/js"
)

// lean passes bodies between the library and a handler without the library's streams. The streams leave 20 KB of
// callbacks and buffers behind with each request. They were designed for one instance per request, where that does
// not matter. This instance stays. Responses here are small and complete anyway.
func lean(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, ok := r.Body.(interface{ GetRawJSBody() js.Value }); ok {
			r.Body = io.NopCloser(&requestBody{stream: body.GetRawJSBody()})
		}
		whole := &response{ResponseWriter: w}
		next.ServeHTTP(whole, r)
		w.(interface{ WriteRawJSBody(js.Value) }).WriteRawJSBody(whole.value())
	})
}

// response buffers the body.
type response struct {
	http.ResponseWriter
	body bytes.Buffer
}

// Write never fails.
func (r *response) Write(data []byte) (int, error) { return r.body.Write(data) }

// value returns the body as an argument for the JavaScript Response.
func (r *response) value() js.Value {
	if r.body.Len() == 0 {
		return js.Null()
	}
	return bytesToJS(r.body.Bytes())
}

// requestBody reads a ReadableStream on demand.
type requestBody struct {
	stream, reader js.Value
	rest           []byte
}

// Read returns bytes of the last chunk or waits for the next one.
func (b *requestBody) Read(p []byte) (int, error) {
	if b.reader.IsUndefined() {
		b.reader = b.stream.Call("getReader")
	}
	for len(b.rest) == 0 {
		result, err := await(b.reader.Call("read"))
		if err != nil {
			return 0, err
		}
		if result.Get("done").Bool() {
			return 0, io.EOF
		}
		b.rest = bytesToGo(result.Get("value"))
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func bytesToJS(data []byte) js.Value {
	array := js.Global().Get("Uint8Array").New(len(data))
	js.CopyBytesToJS(array, data)
	return array
}

func bytesToGo(array js.Value) []byte {
	data := make([]byte, array.Get("byteLength").Int())
	js.CopyBytesToGo(data, array)
	return data
}
