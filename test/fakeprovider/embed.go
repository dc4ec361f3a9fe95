package fakeprovider

import (
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"math"

	"github.com/tidwall/gjson"
)

const defaultDimensions = 8

// Vector returns the embedding of a text. The same text always has the same embedding. Its numbers are from -1 to 1,
// and a 32-bit float can represent each of them exactly.
func Vector(text string, dimensions int) []float64 {
	if dimensions <= 0 {
		dimensions = defaultDimensions
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(text))
	state, vector := hash.Sum32(), make([]float64, dimensions)
	for i := range vector {
		state = state*1664525 + 1013904223
		vector[i] = float64(int(state>>20)-2048) / 2048
	}
	return vector
}

// base64Floats returns a vector in OpenAI's base64 format: little-endian 32-bit floats.
func base64Floats(vector []float64) string {
	var b []byte
	for _, v := range vector {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
	}
	return base64.StdEncoding.EncodeToString(b)
}

// texts returns the inputs: one string, several strings, or an array of token IDs as its JSON text.
func texts(input gjson.Result) (list []string) {
	if !input.IsArray() {
		return []string{input.String()}
	}
	items := input.Array()
	if len(items) > 0 && items[0].Type == gjson.Number {
		return []string{input.Raw}
	}
	for _, v := range items {
		list = append(list, v.String())
	}
	return list
}

func vectors(input gjson.Result, dimensions int) (list [][]float64) {
	for _, text := range texts(input) {
		list = append(list, Vector(text, dimensions))
	}
	return list
}
