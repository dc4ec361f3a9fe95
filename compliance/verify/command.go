// Package verify is the command that checks exported compliance data offline.
package verify

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/postern-ai/postern/compliance"
)

// Exit codes.
const (
	Valid   = 0
	Broken  = 1 // the export or a checkpoint is not as Postern wrote it
	Misused = 2 // wrong arguments, or a file that cannot be read
)

const usage = `Usage: %s -key PUBLIC_KEY [-checkpoint FILE]… [-partial] [-unsigned] [-json] EXPORT…

Checks files from GET /api/compliance/export without a running gateway. Pass them in the order of their pages. The public key
and earlier checkpoints must come from a copy that you keep, not from the export itself. "-" reads standard input.

Exit codes: 0 valid, 1 invalid or incomplete, 2 wrong arguments or unreadable files.

`

// Run runs the command and returns its exit code. name is how the command was called.
func Run(name string, arguments []string, stdin io.Reader, stdout, stderr io.Writer) int {
	in, asJSON, err := arrange(name, arguments, stdin, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return Valid
	case errors.Is(err, errFlags): // already reported
		return Misused
	case err != nil:
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return Misused
	}
	report, err := compliance.Verify(in)
	var invalid *compliance.Invalid
	switch {
	case errors.As(err, &invalid):
		if asJSON {
			writeJSON(stdout, result{Problem: invalid.Error()})
		} else {
			fmt.Fprintf(stdout, "%s: %v\n", verdict(invalid), invalid)
		}
		return Broken
	case err != nil:
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return Misused
	}
	if asJSON {
		view := reportView(report)
		writeJSON(stdout, result{Valid: true, Report: &view})
	} else {
		write(stdout, &report)
	}
	return Valid
}

func verdict(invalid *compliance.Invalid) string {
	if invalid.Incomplete {
		return "INCOMPLETE"
	}
	return "INVALID"
}

var errFlags = errors.New("wrong flags")

func arrange(name string, arguments []string, stdin io.Reader, stderr io.Writer) (in *compliance.Input, asJSON bool, err error) {
	in = &compliance.Input{}
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintf(stderr, usage, name)
		flags.PrintDefaults()
	}
	flags.Func("key", "public `key` in base64, as GET /api/compliance/summary shows it; repeat the flag for former keys", func(text string) error {
		key, err := compliance.ParsePublicKey(text)
		in.Keys = append(in.Keys, key)
		return err
	})
	flags.Func("checkpoint", "`file` with earlier checkpoints, one JSON object per line, or a response from GET /api/compliance/checkpoints", func(path string) error {
		found, err := readCheckpoints(path)
		in.Checkpoints = append(in.Checkpoints, found...)
		return err
	})
	flags.BoolVar(&in.Partial, "partial", false, "accept an export that from or to limits; entries outside that range are not checked")
	flags.BoolVar(&in.Unsigned, "unsigned", false, "accept an export that no checkpoint covers, or that is not signed; then only its hashes are checked")
	flags.BoolVar(&asJSON, "json", false, "print the result as JSON")
	switch err := flags.Parse(arguments); {
	case errors.Is(err, flag.ErrHelp):
		return nil, false, err
	case err != nil:
		return nil, false, errFlags
	case flags.NArg() == 0:
		return nil, false, errors.New("name at least one export file; -help explains the arguments")
	case len(in.Keys) == 0 && !in.Unsigned:
		return nil, false, errors.New("pass the public key with -key, or -unsigned to check the hashes only")
	}
	for _, path := range flags.Args() {
		data, err := readFile(path, stdin)
		if err != nil {
			return nil, false, err
		}
		in.Files = append(in.Files, compliance.File{Name: path, Data: bytes.NewReader(data)})
	}
	return in, asJSON, nil
}

type result struct {
	Valid   bool        `json:"valid"`
	Problem string      `json:"problem"` // empty if valid
	Report  *reportView `json:"report"`  // null if invalid
}

type reportView struct {
	Type        string         `json:"type"`
	Project     string         `json:"project"`
	Object      string         `json:"object"`
	First       uint64         `json:"first"`
	Last        uint64         `json:"last"`
	Omitted     int            `json:"omitted"`
	Others      map[string]int `json:"others"`
	Signed      uint64         `json:"signed"`
	Checkpoints int            `json:"checkpoints"`
	SignedPages int            `json:"signedPages"`
}

func writeJSON(w io.Writer, r result) {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(r)
}

func readFile(path string, stdin io.Reader) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(path)
}

// readCheckpoints reads checkpoints, one per line, or in the field "checkpoints" of an object.
func readCheckpoints(path string) (found []compliance.Checkpoint, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for decoder := json.NewDecoder(bytes.NewReader(data)); decoder.More(); {
		var value struct {
			compliance.Checkpoint
			Checkpoints []compliance.Checkpoint `json:"checkpoints"`
		}
		if err := decoder.Decode(&value); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if found = append(found, value.Checkpoints...); value.Checkpoints == nil {
			found = append(found, value.Checkpoint)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no checkpoints", path)
	}
	return found, nil
}

func write(w io.Writer, r *compliance.Report) {
	fmt.Fprintf(w, "VALID: export of type %s of project %s\n", r.Type, r.Project)
	if r.Last < r.First {
		fmt.Fprintf(w, "The chain %s has no entries in this export.\n", r.Object)
	} else {
		fmt.Fprintf(w, "Entries %d to %d of the chain %s are complete, in order and unchanged.\n", r.First, r.Last, r.Object)
	}
	if r.Omitted > 0 {
		fmt.Fprintf(w, "Entries without payload, because the export is about something else: %d.\n", r.Omitted)
	}
	switch {
	case r.Signed >= r.Last && r.Signed > 0:
		fmt.Fprintf(w, "A signed checkpoint covers them all (%d checked).\n", r.Checkpoints)
	case r.Signed > 0:
		fmt.Fprintf(w, "Signed checkpoints (%d checked) cover them up to entry %d; later ones are not signed yet.\n", r.Checkpoints, r.Signed)
	default:
		fmt.Fprintln(w, "No checkpoint whose signature was checked covers them.")
	}
	covered := "only the page's hash covers"
	if r.SignedPages > 0 {
		fmt.Fprintf(w, "Signed pages: %d.\n", r.SignedPages)
		covered = "are in no chain, and only the page's signature covers"
	}
	for _, record := range slices.Sorted(maps.Keys(r.Others)) {
		fmt.Fprintf(w, "Lines of record %q, which %s: %d.\n", record, covered, r.Others[record])
	}
}
