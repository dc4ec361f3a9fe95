package api_test

import (
	"slices"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/jsontext"
)

// FuzzMembers compares Members with gjson's ForEach for every object that passes the check.
func FuzzMembers(f *testing.F) {
	for _, text := range []string{
		`{}`, `{ }`, `{"a":1}`, `{ "a" : 1 , "b" : [ 2 , {"c":"]}"} ] }`, `{"a":"\\","b":"\"","\u0063":"\u0022"}`,
		`{"a":{"b":{}},"c":[],"d":"é\\\"","e":null,"f":true,"g":-1.5e3}`, `{"é\\":"—naïve \n \\\\"}`, "{\n\"a\"\t:\r1}\n",
		`{"a":"xxxxxxx\"yyyyyyy","b":"xxxxxxxé","c":"éxxxxxxx\\"}`, `{"":""}`, `{"a":[[],[[]],"[",{"]":"{"}]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if jsontext.Check(data) != jsontext.OK {
			return
		}
		root := gjson.ParseBytes(data)
		if !root.IsObject() {
			return
		}
		var want, got []string
		root.ForEach(func(key, value gjson.Result) bool {
			want = append(want, key.String(), value.Raw)
			return true
		})
		api.Members(root, func(key, raw string) bool {
			got = append(got, key, raw)
			if v := api.Undecoded(raw); v.Type != gjson.Parse(raw).Type || v.Raw != raw {
				t.Errorf("%s: Undecoded is %v", raw, v)
			}
			return true
		})
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, gjson has %q", data, got, want)
		}
	})
}

func TestMembersStop(t *testing.T) {
	calls := 0
	api.Members(gjson.Parse(`{"a":1,"b":2}`), func(string, string) bool { calls++; return false })
	if calls != 1 {
		t.Errorf("%d calls", calls)
	}
}
