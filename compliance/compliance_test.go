package compliance_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/compliance"
	"github.com/postern-ai/postern/core/chain"
)

var rewrite = flag.Bool("rewrite", false, "write the golden vectors")

const vectorsFile = "../testdata/compliance/checkpoints.json"

// vector is a key pair and a checkpoint that it signed.
type vector struct {
	Seed       string                `json:"seed"`
	PublicKey  string                `json:"publicKey"`
	Checkpoint compliance.Checkpoint `json:"checkpoint"`
}

func vectors(t *testing.T) (list []vector) {
	t.Helper()
	for i, reason := range []string{compliance.Daily, compliance.Prune} {
		seed := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(rune('a'+i)), 32)))
		keys, err := compliance.ParseSigningKeys(seed)
		if err != nil {
			t.Fatal(err)
		}
		c := compliance.Checkpoint{
			Project: "proj_019a", Object: chain.Ledger, Seq: uint64(1000 * i), Hash: strings.Repeat("0a", 32), Time: "2026-11-22T00:17:00.000Z", Reason: reason,
		}
		keys[0].Sign(&c)
		list = append(list, vector{seed, keys[0].Public().String(), c})
	}
	return list
}

func TestCheckpointVectors(t *testing.T) {
	if *rewrite {
		text, _ := json.MarshalIndent(vectors(t), "", "  ")
		if err := os.WriteFile(vectorsFile, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	var want []vector
	if err := json.Unmarshal(text, &want); err != nil || !slices.Equal(vectors(t), want) {
		t.Errorf("%v: %+v, want %+v", err, vectors(t), want)
	}
}

// Every field of a checkpoint is signed.
func TestCheckpointSignature(t *testing.T) {
	v := vectors(t)
	first, err := compliance.ParsePublicKey(v[0].PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	second, _ := compliance.ParsePublicKey(v[1].PublicKey)
	genuine := v[0].Checkpoint
	if err := genuine.Verify([]compliance.PublicKey{second, first}); err != nil {
		t.Error(err)
	}
	if err := genuine.Verify([]compliance.PublicKey{second}); !errors.Is(err, compliance.ErrUnknownKey) {
		t.Error(err)
	}
	for i := range reflect.TypeFor[compliance.Checkpoint]().NumField() {
		changed := genuine
		switch field := reflect.ValueOf(&changed).Elem().Field(i); field.Kind() {
		case reflect.Uint64:
			field.SetUint(field.Uint() + 1)
		default:
			field.SetString("A" + field.String()[1:])
		}
		if changed == genuine {
			t.Fatalf("field %d did not change", i)
		}
		if changed.Verify([]compliance.PublicKey{first}) == nil {
			t.Errorf("%s is not signed", reflect.TypeFor[compliance.Checkpoint]().Field(i).Name)
		}
	}
	other := genuine
	other.KeyID = v[1].Checkpoint.KeyID // names the other key but has the first key's signature
	if err := other.Verify([]compliance.PublicKey{first, second}); !errors.Is(err, compliance.ErrBadSignature) {
		t.Error(err)
	}
}

func TestParseSigningKeys(t *testing.T) {
	good := base64.StdEncoding.EncodeToString(make([]byte, 32))
	for text, want := range map[string]int{"": 0, good: 1, good + "," + good: 2, " " + good + " , " + good + "\n": 2} {
		if keys, err := compliance.ParseSigningKeys(text); err != nil || len(keys) != want {
			t.Errorf("%q: %d keys, %v", text, len(keys), err)
		}
	}
	for _, text := range []string{"x", good + ",", good[:40], base64.StdEncoding.EncodeToString(make([]byte, 64)), "dev:" + good} {
		if _, err := compliance.ParseSigningKeys(text); err == nil || strings.Contains(err.Error(), good) || !strings.Contains(err.Error(), "openssl") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"", "x", good + "AAAA"} {
		if _, err := compliance.ParsePublicKey(text); err == nil {
			t.Errorf("%q is a public key", text)
		}
	}
}

// Hostile files are refused with a message. They never crash the verifier.
func FuzzVerify(f *testing.F) {
	e := chain.Append(chain.ID{Project: "p", Object: "directory"}, nil, 1_763_712_487_006, "key.create", []byte("{}"))
	line := string(compliance.AppendEvent(nil, &e, "2025-11-21T08:08:07.006Z", true))
	page, err := compliance.Page(&compliance.Header{
		Format: compliance.Format, Version: compliance.FormatVersion, Type: compliance.Audit, Project: "p",
		Records: []compliance.Record{{Record: compliance.EventRecord, Chained: true}},
		Chain:   &compliance.ChainRange{Object: chain.Directory, Oldest: 1, First: 1, Last: 1, Head: 1},
	}, [][]byte{[]byte(line)}, nil)
	if err != nil {
		f.Fatal(err)
	}
	header := strings.TrimSuffix(string(page), line+"\n")
	f.Add(header + line)
	f.Add(header)
	f.Add(header + strings.Replace(line, `"seq":1`, `"seq":18446744073709551615`, 1))
	f.Add(strings.Replace(header, `"last":1`, `"last":18446744073709551615`, 1) + line)
	f.Add(strings.Replace(header, `"first":1`, `"first":0`, 1) + line)
	f.Add(strings.Replace(line, e.Hash.String(), "00", 1))
	f.Add(`{"format":"postern-export"}`)
	f.Fuzz(func(t *testing.T, text string) {
		report, err := compliance.Verify(&compliance.Input{Files: []compliance.File{{Name: "f", Data: strings.NewReader(text)}}, Unsigned: true})
		if err == nil && report.Last >= report.First && !strings.Contains(text, line) && report.Project == "p" && report.Last == 1 && strings.Count(text, "\n") < 2 && len(text) < len(header)+len(line) {
			t.Errorf("accepted %q", text)
		}
	})
}
