package chain_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chain"
	"github.com/postern-ai/postern/test/testobject"
)

var rewrite = flag.Bool("rewrite", false, "write the golden vectors")

const vectorsFile = "../../testdata/compliance/chain.json"

// vector is an entry as text. Another implementation of the chain must compute the same hashes.
type vector struct {
	Project     string `json:"project"`
	Object      string `json:"object"`
	Seq         uint64 `json:"seq"`
	Time        string `json:"time"`
	Kind        string `json:"kind"`
	Payload     string `json:"payload"`
	PayloadHash string `json:"payloadHash"`
	Previous    string `json:"previous"`
	Hash        string `json:"hash"`
}

var inputs = []struct {
	atMs          uint64
	kind, payload string
}{
	{1_763_712_487_006, "project.create", `{"id":"aud_1","after":{"name":"Test"}}`},
	{1_763_712_487_006, "key.create", `{"text":"é \" \\ <b>","number":100.000000000001}`},
	{1_763_712_486_000, "violations.change", `{"changes":[]}`}, // the clock went back
	{1_763_798_887_999, "usage.day", `{}`},
}

var id = chain.ID{Project: "proj_019a", Object: chain.Directory}

func vectors() (list []vector) {
	var head *chain.Entry
	for _, in := range inputs {
		e := chain.Append(id, head, in.atMs, in.kind, []byte(in.payload))
		list = append(list, vector{
			id.Project, id.Object, e.Seq, time.UnixMilli(int64(e.TimeMs)).UTC().Format("2006-01-02T15:04:05.000Z"),
			e.Kind, in.payload, e.PayloadHash.String(), e.Previous.String(), e.Hash.String(),
		})
		head = &e
	}
	return list
}

func TestVectors(t *testing.T) {
	if *rewrite {
		text, _ := json.MarshalIndent(vectors(), "", "  ")
		if err := os.WriteFile(vectorsFile, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	var want []vector
	if err := json.Unmarshal(text, &want); err != nil || !slices.Equal(vectors(), want) {
		t.Errorf("%v: %+v, want %+v", err, vectors(), want)
	}
}

// The vectors match hashes that are computed as docs/guides/compliance.md describes.
func TestVectorsByTheDescription(t *testing.T) {
	previous := strings.Repeat("0", 64)
	for _, v := range vectors() {
		payload := sha256.Sum256([]byte(v.Payload))
		h := sha256.New()
		for _, field := range []string{
			"postern-chain-1", v.Project, v.Object, fmt.Sprint(v.Seq), v.Time, v.Kind, hex.EncodeToString(payload[:]), previous,
		} {
			_ = binary.Write(h, binary.BigEndian, uint32(len(field)))
			h.Write([]byte(field))
		}
		if previous = hex.EncodeToString(h.Sum(nil)); previous != v.Hash {
			t.Errorf("entry %d: %s, want %s", v.Seq, previous, v.Hash)
		}
	}
}

// Every field is part of the hash, and moving a byte from one field to the next changes the hash.
func TestEveryFieldIsHashed(t *testing.T) {
	e := chain.Append(id, nil, 1000, "key.create", []byte("{}"))
	for name, other := range map[string]chain.Entry{
		"seq": {Seq: 2, TimeMs: 1000, Kind: "key.create", PayloadHash: e.PayloadHash}, "time": {Seq: 1, TimeMs: 1001, Kind: "key.create", PayloadHash: e.PayloadHash},
		"kind": {Seq: 1, TimeMs: 1000, Kind: "key.delete", PayloadHash: e.PayloadHash}, "payload": {Seq: 1, TimeMs: 1000, Kind: "key.create"},
		"previous": {Seq: 1, TimeMs: 1000, Kind: "key.create", PayloadHash: e.PayloadHash, Previous: chain.Hash{1}},
	} {
		if id.Sum(&other) == e.Hash {
			t.Errorf("%s is not hashed", name)
		}
	}
	moved := chain.ID{Project: "proj_019", Object: "adirectory"}
	if moved.Sum(&e) == e.Hash || (chain.ID{Project: id.Project, Object: chain.Ledger}).Sum(&e) == e.Hash {
		t.Error("project and object are not hashed, or not separated")
	}
}

const rows = chain.Rows("ch/")

// object returns an object with a chain. A command starts with 'a' (append the rest), 'p' (Page) or 'x' (Prune).
func object(t *testing.T) *testobject.Object {
	decode := func(command []byte) (page chain.Page, prune chain.Prune) {
		r := abi.Reader{Buf: command[1:]}
		if command[0] == 'p' {
			page.Fields(abi.ReadFrom(&r))
		} else if command[0] == 'x' {
			prune.Fields(abi.ReadFrom(&r))
		}
		return page, prune
	}
	return &testobject.Object{
		Reads: func(in *abi.ObjectInput) ([]abi.Range, error) {
			page, _ := decode(in.Command)
			return append([]abi.Range{{Start: "b"}}, rows.Reads(&page)...), nil
		},
		Apply: func(in *abi.ObjectInput) (out abi.ObjectOutput, err error) {
			page, prune := decode(in.Command)
			switch in.Command[0] {
			case 'p':
				out.Reply, err = rows.Reply(&page, in.Rows)
				return out, err
			case 'x':
				return rows.Prune(&prune, in.Rows)
			}
			head, err := rows.Find(in.Rows)
			out.Puts = []abi.Row{rows.Append(id, head, in.NowMs, "kind", in.Command[1:])}
			return out, err
		},
	}
}

func page(t *testing.T, o *testobject.Object, first, limit uint64) chain.PageReply {
	t.Helper()
	q := chain.Page{First: first, Limit: limit}
	reply, err := o.Call(1, append([]byte{'p'}, abi.EncodeFields(0, 0, q.Fields)...))
	if err != nil {
		t.Fatal(err)
	}
	p, err := chain.DecodePageReply(reply)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Pages are in order, complete and limited in size, regardless of where they begin. Pruning removes the oldest
// entries and never the newest.
func TestPagesAndPruning(t *testing.T) {
	o := object(t)
	if p := page(t, o, 1, 10); p.Oldest != 0 || p.Head.Seq != 0 || len(p.Entries) != 0 {
		t.Errorf("empty: %+v", p)
	}
	const n = 1200
	for i := range uint64(n) {
		if _, err := o.Call(1000+i, fmt.Appendf([]byte{'a'}, `{"i":%d}`, i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ first, limit, from, to uint64 }{
		{1, 10, 1, 10}, {1, 500, 1, 100}, {1195, 100, 1195, n}, {n, 1, n, n}, {n, 100, n, n}, {n + 1, 10, 0, 0}, {5, 0, 0, 0}, {0, 10, 0, 0}, {1 << 60, 5, 0, 0}, {777, 1, 777, 777},
	} {
		p := page(t, o, c.first, c.limit)
		var from, to uint64
		if len(p.Entries) > 0 {
			from, to = p.Entries[0].Seq, p.Entries[len(p.Entries)-1].Seq
		}
		if from != c.from || to != c.to || p.Head.Seq != n || p.Oldest != 1 || len(p.Head.Payload) != 0 {
			t.Errorf("%+v: %d to %d, oldest %d, head %d", c, from, to, p.Oldest, p.Head.Seq)
		}
	}
	for _, c := range []struct{ through, oldest uint64 }{{0, 1}, {1, 2}, {1, 2}, {10, 11}, {2000, 511}, {2000, 1011}, {2000, n}, {2000, n}} {
		q := chain.Prune{Through: c.through}
		reply, err := o.Call(1, append([]byte{'x'}, abi.EncodeFields(0, 0, q.Fields)...))
		if err != nil {
			t.Fatal(err)
		}
		oldest, err := chain.DecodePruned(reply)
		p := page(t, o, c.oldest, 1)
		if err != nil || oldest != c.oldest || p.Oldest != c.oldest || p.Entries[0].Seq != c.oldest || len(o.Rows) != int(n+1-c.oldest) {
			t.Errorf("%+v: oldest %d, %d rows", c, oldest, len(o.Rows))
		}
	}
	if _, err := o.Call(1, []byte("a{}")); err != nil {
		t.Fatal(err)
	}
	p := page(t, o, n, 10)
	w := chain.Walk{ID: id, Seq: n - 1}
	for i := range p.Entries {
		if problem := w.Next(&p.Entries[i]); problem != chain.OK {
			t.Errorf("entry %d: problem %d", p.Entries[i].Seq, problem)
		}
	}
	if w.Seq != n+1 || p.Entries[1].TimeMs < p.Entries[0].TimeMs {
		t.Errorf("%d %+v", w.Seq, p.Entries)
	}
}

// A page with large payloads is limited in bytes, but always has at least one entry.
func TestPageOfLargePayloads(t *testing.T) {
	o := object(t)
	for range 10 {
		if _, err := o.Call(1, append([]byte{'a'}, strings.Repeat("x", 100_000)...)); err != nil {
			t.Fatal(err)
		}
	}
	for first, pages := uint64(1), 0; first <= 10; pages++ {
		p := page(t, o, first, 100)
		if len(p.Entries) == 0 || len(p.Entries) > 2 || p.Entries[0].Seq != first || pages > 10 {
			t.Fatalf("from %d: %d entries", first, len(p.Entries))
		}
		first += uint64(len(p.Entries))
	}
}

// An empty or malformed row is an error, not a new chain.
func TestMalformedHead(t *testing.T) {
	for _, value := range []string{"", "\x02", "\x01\x01"} {
		o := object(t)
		if _, err := o.Call(1, []byte("a{}")); err != nil {
			t.Fatal(err)
		}
		for key := range o.Rows {
			o.Rows[key] = []byte(value)
		}
		if _, err := o.Call(1, []byte("a{}")); err == nil {
			t.Errorf("%q: a second chain was started", value)
		}
	}
}
