package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
)

// results is a file with one verdict per line, after a line with the digest of the test binaries.
type results struct {
	file *os.File
}

type header struct {
	Digest string `json:"digest"`
}

// openResults opens the file. With resume, it returns the earlier verdicts of the same binaries. Otherwise, or if the
// binaries differ, it clears the file.
func openResults(name, digest string, resume bool) (results, map[string]verdict, error) {
	known := map[string]verdict{}
	if resume {
		var err error
		if known, err = readResults(name, digest); err != nil {
			return results{}, nil, err
		}
	}
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if len(known) == 0 {
		flags |= os.O_TRUNC
	}
	file, err := os.OpenFile(name, flags, 0o644)
	if err != nil {
		return results{}, nil, err
	}
	r := results{file}
	if len(known) == 0 {
		return r, known, r.line(header{digest})
	}
	_, err = file.WriteString("\n") // ends a partial line
	return r, known, err
}

// readResults reads the verdicts. It ignores partial lines, which an interrupted run leaves behind.
func readResults(name, digest string) (map[string]verdict, error) {
	known := map[string]verdict{}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	} else if err != nil {
		return nil, err
	}
	lines := bytes.Split(text, []byte("\n"))
	var h header
	if json.Unmarshal(lines[0], &h) != nil || h.Digest != digest {
		return known, nil
	}
	for _, line := range lines[1:] {
		var v verdict
		if json.Unmarshal(line, &v) == nil {
			known[v.Key] = v
		}
	}
	return known, nil
}

func (r results) line(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = r.file.Write(append(text, '\n'))
	return err
}
