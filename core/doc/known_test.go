package doc_test

import (
	"testing"

	"github.com/postern-ai/postern/core/doc"
)

// TestSplitKnown: a value in memory is a record, or a record with a policy beside it.
func TestSplitKnown(t *testing.T) {
	rec, policy := doc.Record{Version: 5, KeyID: "k", Policy: 2}, doc.Policy{Version: 2, Models: []string{"m"}}
	for name, c := range map[string]struct{ data, policy []byte }{
		"a record":               {rec.Encode(), nil},
		"a record with a policy": {(&doc.Known{Record: rec.Encode(), Policy: policy.Encode()}).Encode(), policy.Encode()},
	} {
		record, beside := doc.SplitKnown(c.data)
		if got, err := doc.DecodeRecord(record); err != nil || got.Differs(rec) || string(beside) != string(c.policy) {
			t.Errorf("%s: got %+v, %q, %v", name, got, beside, err)
		}
	}
}

// TestSplitMalformed: a damaged value is not a record.
func TestSplitMalformed(t *testing.T) {
	rec := doc.Record{KeyID: "k"}
	known := (&doc.Known{Record: rec.Encode(), Policy: []byte("policy")}).Encode()
	for _, data := range [][]byte{nil, known[:1], known[:len(known)-1], append(known, 0)} {
		record, policy := doc.SplitKnown(data)
		if _, err := doc.DecodeRecord(record); err == nil || policy != nil {
			t.Errorf("%q: got a record, or the policy %q", data, policy)
		}
	}
}
