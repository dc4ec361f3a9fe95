package anthropic

import "strconv"

// AppendCount appends the response to POST /v1/messages/count_tokens.
func AppendCount(dst []byte, tokens uint64) []byte {
	return append(strconv.AppendUint(append(dst, `{"input_tokens":`...), tokens, 10), '}')
}
