package postern

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// readEvents returns all events. It also returns the error that ended them, unless it is io.EOF.
func readEvents(r io.Reader) ([]string, error) {
	reader := newEventReader(r)
	var events []string
	for {
		data, err := reader.next()
		if err == io.EOF {
			return events, nil
		}
		if err != nil {
			return events, err
		}
		events = append(events, string(data))
	}
}

func TestEventsFollowTheStandard(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"LF", "data: a\n\ndata: b\n\n", []string{"a", "b"}},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"a", "b"}},
		{"CR", "data: a\r\rdata: b\r\r", []string{"a", "b"}},
		{"mixed line ends", "data: a\r\ndata: b\n\rdata: c\r\n\n", []string{"a\nb", "c"}},
		{"several lines of data", "data: a\ndata:\ndata: b\n\n", []string{"a\n\nb"}},
		{"empty data", "data\n\ndata:\n\n", []string{"", ""}},
		{"one space is removed", "data:a\n\ndata:  b\n\n", []string{"a", " b"}},
		{"comments and other fields", ": c\nid: 1\nevent: x\nretry: 9\ndatum: y\ndata: a\n\n", []string{"a"}},
		{"an event without data is none", ": c\n\nevent: x\n\n\n\ndata: a\n\n", []string{"a"}},
		{"byte order mark", "\ufeffdata: a\n\n\ufeffdata: b\n\n", []string{"a"}},
		{"an unfinished event is dropped", "data: a\n\ndata: b\n", []string{"a"}},
		{"colons in data", "data: {\"a\":1}\n\n", []string{`{"a":1}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := readEvents(strings.NewReader(c.text)); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

const awkwardEvents = "\ufeff: c\r\ndata: hé€😀\r\n\r\ndata:\rdata: b\r\revent: x\ndata: \r\n\n\r\n\rdata: {\"a\":\"b\"}\n\n"

func TestEventsSplitAnywhere(t *testing.T) {
	want, err := readEvents(strings.NewReader(awkwardEvents))
	if err != nil || len(want) != 4 {
		t.Fatalf("got %q, %v", want, err)
	}
	check := func(name string, r io.Reader) {
		if got, err := readEvents(r); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
	check("byte by byte", iotest.OneByteReader(strings.NewReader(awkwardEvents)))
	check("error with the last bytes", iotest.DataErrReader(strings.NewReader(awkwardEvents)))
	for i := range len(awkwardEvents) {
		check("in two parts", io.MultiReader(strings.NewReader(awkwardEvents[:i]), strings.NewReader(awkwardEvents[i:])))
	}
}

// FuzzEvents compares a text that is read at once with the same text split in two.
func FuzzEvents(f *testing.F) {
	f.Add([]byte(awkwardEvents), 7)
	f.Add([]byte("data: a\r\n\r\n"), 8)
	f.Fuzz(func(t *testing.T, text []byte, split int) {
		want, err := readEvents(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		i := min(max(split, 0), len(text))
		got, err := readEvents(io.MultiReader(bytes.NewReader(text[:i]), iotest.OneByteReader(bytes.NewReader(text[i:]))))
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	})
}

func TestEventTooLarge(t *testing.T) {
	line := "data: " + strings.Repeat("x", 1<<20-6) + "\n"
	for name, text := range map[string]string{
		"one line":   "data: " + strings.Repeat("x", maxEventBytes) + "\n\n",
		"many lines": strings.Repeat(line, 17) + "\n",
		"no line":    strings.Repeat("x", maxEventBytes+1),
	} {
		if _, err := readEvents(strings.NewReader(text)); !errors.Is(err, errEventTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	large := strings.Repeat(line, 15)
	if got, err := readEvents(strings.NewReader(large + "\n" + large + "\n")); err != nil || len(got) != 2 {
		t.Errorf("two events within the limit: %d, %v", len(got), err)
	}
}
