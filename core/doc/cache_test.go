package doc_test

import (
	"testing"

	"github.com/postern-ai/postern/core/doc"
)

var scopes = []doc.CacheScope{doc.CacheColo, doc.CacheOff, doc.CacheGlobal}

// A key's record has its project's scope, and only CacheOff or a TTL of 0 turns the cache off.
func TestCacheOfRecords(t *testing.T) {
	for _, scope := range scopes {
		for _, ttl := range []uint64{0, 1, 3600} {
			p := doc.Project{CacheTTLSeconds: ttl, Cache: scope}
			rec := doc.NewRecord(&doc.Key{}, 1, &p, 1)
			stored, err := doc.DecodeRecord(rec.Encode())
			if err != nil || stored.Cache != scope || stored.CacheTTLSeconds != ttl {
				t.Errorf("scope %d, TTL %d: got %+v, %v", scope, ttl, stored, err)
			}
			if want := scope != doc.CacheOff && ttl > 0; stored.Caches() != want {
				t.Errorf("scope %d, TTL %d: caches is %v", scope, ttl, !want)
			}
		}
	}
}

// In the last format without a scope, documents end before the scope. Their responses are cached unless the TTL is 0.
func TestDocumentsWithoutScope(t *testing.T) {
	for ttl, want := range map[uint64]doc.CacheScope{0: doc.CacheOff, 1: doc.CacheColo, 59: doc.CacheColo, 3600: doc.CacheColo} {
		p := doc.Project{ID: "p", CacheTTLSeconds: ttl, Cache: doc.CacheGlobal}
		rec := doc.Record{KeyID: "k", CacheTTLSeconds: ttl, Cache: doc.CacheGlobal}
		gotProject, err := doc.DecodeProject(withoutScope(p.Encode()))
		if p.Cache = want; err != nil || string(gotProject.Encode()) != string(p.Encode()) {
			t.Errorf("project with TTL %d: got %+v, %v", ttl, gotProject, err)
		}
		gotRecord, err := doc.DecodeRecord(withoutScope(rec.Encode()))
		if rec.Cache = want; err != nil || gotRecord.Differs(rec) {
			t.Errorf("record with TTL %d: got %+v, %v", ttl, gotRecord, err)
		}
	}
}

// withoutScope turns a document without a contact into one that is two formats older. The scope and the contact are
// its last fields, with one byte each.
func withoutScope(data []byte) []byte {
	return append([]byte{data[0] - 2}, data[1:len(data)-2]...)
}

func TestUnknownScope(t *testing.T) {
	p, rec := doc.Project{}, doc.Record{}
	project, record := p.Encode(), rec.Encode()
	project[len(project)-2], record[len(record)-2] = 3, 3 // before the contact
	if got, err := doc.DecodeProject(project); err == nil {
		t.Errorf("project: got %+v", got)
	}
	if got, err := doc.DecodeRecord(record); err == nil {
		t.Errorf("record: got %+v", got)
	}
}
