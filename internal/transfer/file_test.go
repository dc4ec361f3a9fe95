package transfer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

const goodHeader = `{"format":"postern-deployment","version":1,"source":"","exportedAt":"","postern":""}`

// signed returns a file that consists of lines and the correct last line.
func signed(lines ...string) string {
	text := strings.Join(lines, "\n") + "\n"
	objects, rows := map[string]bool{}, 0
	for _, line := range lines[1:] {
		var p page
		if json.Unmarshal([]byte(line), &p) == nil {
			objects[p.Object] = true
			rows += len(p.Rows)
		}
	}
	sum := sha256.Sum256([]byte(text))
	last, _ := json.Marshal(end{len(objects), rows, hex.EncodeToString(sum[:])})
	return text + string(last) + "\n"
}

func line(object, project string, last bool, keys ...string) string {
	p := page{Object: object, Project: project, Last: last, Rows: []row{}}
	for _, key := range keys {
		p.Rows = append(p.Rows, row{Key: key, Value: []byte{1}})
	}
	text, _ := json.Marshal(p)
	return string(text)
}

// TestHostileFiles checks that a malformed file is refused before anything is sent, and that the error names the
// fault.
func TestHostileFiles(t *testing.T) {
	directory := `{"object":"directory","rows":[{"key":"d/p/proj_1","value":"AQEx"}],"last":true}`
	meter := meterPrefix + strings.Repeat("0", 64)
	for name, c := range map[string]struct{ file, want string }{
		"empty":               {"", "truncated"},
		"not a file of ours":  {"PK\x03\x04\n", "not the header"},
		"another format":      {signed(`{"format":"postern-export","version":1}`), "not the header"},
		"newer":               {signed(strings.Replace(goodHeader, `"version":1`, `"version":2`, 1), directory), "format version 2"},
		"no directory":        {signed(goodHeader, line("ledger/proj_1", "proj_1", true, "b")), "line 2 of the file must begin the directory"},
		"no last line":        {goodHeader + "\n" + directory + "\n", "truncated"},
		"cut in a line":       {signed(goodHeader, directory)[:200], "truncated"},
		"unknown class":       {signed(goodHeader, directory, line("kv/key", "proj_1", true, "b")), "line 3 of the file has an object of an unknown kind"},
		"unknown member":      {signed(goodHeader, directory, `{"object":"ledger/proj_1","run":"x","rows":[],"last":true}`), "line 3"},
		"no base64":           {signed(goodHeader, `{"object":"directory","rows":[{"key":"a","value":"?"}],"last":true}`), "line 2"},
		"no rows":             {signed(goodHeader, directory, line("ledger/proj_1", "proj_1", true)), "has no rows"},
		"duplicate object":    {signed(goodHeader, directory, directory), "out of order"},
		"duplicate row":       {signed(goodHeader, directory, line("ledger/proj_1", "proj_1", true, "b", "b")), "row out of order"},
		"rows out of order":   {signed(goodHeader, directory, line("ledger/proj_1", "proj_1", false, "u"), line("ledger/proj_1", "proj_1", true, "b")), "row out of order"},
		"meter before ledger": {signed(goodHeader, directory, line(meter, "proj_1", true, "h"), line("ledger/proj_1", "proj_1", true, "b")), "out of order"},
		"unfinished object":   {signed(goodHeader, directory, line("ledger/proj_1", "proj_1", false, "b")), "altered"},
		"interrupted object":  {signed(goodHeader, directory, line("ledger/proj_1", "proj_1", false, "b"), line(meter, "proj_1", true, "h")), "out of order"},
		"foreign project":     {signed(goodHeader, directory, line(meter, "proj_2", true, "h")), "a project or group that the file does not have"},
		"foreign ledger":      {signed(goodHeader, directory, line("ledger/proj_2", "proj_1", true, "h")), "a project or group that the file does not have"},
		"foreign group":       {signed(goodHeader, directory, line("ledger/grp_1", "", true, "h")), "a project or group that the file does not have"},
		"more after the end":  {signed(goodHeader, directory) + "\n", "follow"},
		"end twice":           {signed(goodHeader, directory) + signed(goodHeader, directory), "follow"},
		"wrong number":        {strings.Replace(signed(goodHeader, directory), `"rows":1,`, `"rows":2,`, 1), "altered"},
		"very long line":      {goodHeader + "\n" + strings.Repeat("x", maxLineBytes+1) + "\n", "longer than"},
	} {
		to := newFake()
		to.before = func(path string) error { return fmt.Errorf("%s was called", path) }
		if _, err := Import(t.Context(), to, strings.NewReader(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestAltered changes or removes single bytes of a file. The file must be refused before anything is sent.
func TestAltered(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 1))
	file, err := exported(t, populated(random))
	if err != nil {
		t.Fatal(err)
	}
	whole := content(t, file)
	for range 150 {
		at := random.IntN(len(whole))
		changed, cut := bytes.Clone(whole), append(bytes.Clone(whole[:at]), whole[at+1:]...)
		changed[at] ^= 1 << random.IntN(8)
		for _, bad := range [][]byte{changed, cut, whole[:at]} {
			if _, err := check(bytes.NewReader(bad)); err == nil {
				t.Fatalf("accepted with a change at byte %d of %d", at, len(whole))
			}
		}
	}
}
