package blake2b_test

import (
	"encoding/hex"
	"testing"

	"github.com/postern-ai/postern/core/blake2b"
)

// TestSum256 compares with Python's hashlib.blake2b(digest_size=32) on the bytes i*31+i>>8 for i < n.
func TestSum256(t *testing.T) {
	for n, want := range map[int]string{
		0:      "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8",
		1:      "03170a2e7597b7b7e3d84c05391d139a62b157e78786d8c082f29dcf4c111314",
		3:      "537d510eb075f5f8030341bcc9d432ffe7ae61b5142870e4ae59baf3cfc1ffc2",
		127:    "516693c5614b0f3d2f117154f241dd7cd48771cdeecbf8fe692ac430fd6cbec4",
		128:    "21de38dbacffafd405d945fee83b22d833abeca561f5367b5fece93a478dc912",
		129:    "f50c922a2b3018f3131015a4adfc7619ed0cc0bf45b0a5d5e296f518f0d2ecab",
		255:    "89c9253bf76ef7a08695028ceb6b80d6c51698c749ba01e1fa5e06a484b8bda9",
		256:    "1eab4f89d20ce8d6705619d1b110ce70757d32cbd4461df973a79a9ef12c37fd",
		257:    "d664f6c44ddc7e87e674ffdff84186ad691ce77aa0a4f77422e378b7bc926fe7",
		1000:   "2731b2304c27bbf824057c6d40f720febc6147854a9e9894b3362c31cccc5a3a",
		100000: "c42a0f71c3c44ea3ea0fc5ce3bb70de23883c33312b3a067305e20218d3e2554",
	} {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(i*31 + i>>8)
		}
		if sum := blake2b.Sum256(data); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%d bytes: %x, want %s", n, sum, want)
		}
	}
}
