package openai

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/wire"
)

const (
	// maxCallBytes limits the size of a stream's tool calls in the state, in bytes.
	maxCallBytes = 64 << 10
	// invalidCalls, in wire.State.Flags, means that a call has no name or that two calls wait for their names.
	invalidCalls = 1
)

// toolDeltas parses a piece of a tool call. The first piece has the ID and the name. Pieces that arrive before the
// name are held. Some providers send a call in one piece. Some give every call the index 0. Some omit the index (see
// findCall).
//
// wire.State.Calls has a line for each call: its choice, its index if there is one, and its ID, separated by spaces.
// If a call's name is missing, wire.State.Held has the call's ID and, on a second line, its arguments.
func toolDeltas(s *wire.State, out []chat.Delta, choice uint64, call gjson.Result) []chat.Delta {
	f, custom, counted := jsonvalue.Get(call.Raw, "function"), jsonvalue.Get(call.Raw, "custom"), ""
	if custom.IsObject() {
		f, counted = custom, chat.Counted
	}
	args := jsonvalue.Text(f.Raw, "arguments")
	if counted != "" {
		args = jsontext.Escape(string(jsonvalue.Text(f.Raw, "input")))
	}
	id, name := jsonvalue.Text(call.Raw, "id"), jsonvalue.Text(f.Raw, "name")
	own := strconv.FormatUint(choice, 10) + " "
	place := own
	if index := jsonvalue.Get(call.Raw, "index"); index.Type == gjson.Number {
		place += index.Raw + " "
	}
	index, found := findCall(s.Calls, own, place, id, name)
	if !found {
		if id, args = hold(s, id, args); name == "" {
			return wire.Other(out, custom)
		}
		s.Held = ""
		s.Calls += place + string(id) + "\n"
		out = append(out, chat.Delta{Kind: chat.DeltaTool, Choice: choice, Index: index, ID: id, Name: name, JSON: counted})
		if counted != "" { // the end of the arguments has no event and does not need one; see chat.Input
			args = `{\"input\":\"` + args
		}
	}
	if args != "" {
		out = append(out, chat.Delta{Kind: chat.DeltaArgs, Choice: choice, Index: index, Text: args, JSON: counted})
	}
	return wire.Other(out, custom)
}

// hold keeps a piece of a call whose name has not arrived. It returns all pieces of the call so far.
func hold(s *wire.State, id, args jsontext.Escaped) (jsontext.Escaped, jsontext.Escaped) {
	heldID, heldArgs, _ := strings.Cut(s.Held, "\n")
	if id == "" {
		id = jsontext.Escaped(heldID)
	} else if heldID != "" && heldID != string(id) {
		s.Flags = invalidCalls
	}
	if args = jsontext.Escaped(heldArgs) + args; id != "" || args != "" {
		s.Held = string(id + "\n" + args)
	}
	return id, args
}

// findCall returns the number, within its choice, of the call that a piece continues. If the piece has an ID, it is
// the call with this ID. If the piece has no name, it can also be the last call at the piece's place, unless both
// have IDs. In all other cases, the piece starts a new call, and index is the next number.
func findCall(calls, own, place string, id, name jsontext.Escaped) (index uint64, found bool) {
	n := uint64(0)
	for calls != "" {
		var line string
		line, calls, _ = strings.Cut(calls, "\n")
		switch {
		case !strings.HasPrefix(line, own):
			continue
		case id != "" && line == place+string(id):
			return n, true
		case name == "" && (line == place || id == "" && strings.HasPrefix(line, place)):
			index, found = n, true
		}
		n++
	}
	if !found {
		index = n
	}
	return index, found
}
