//go:build js && wasm

package main

import (
	"context"
	"errors"
	"fmt"
	"syscall/js"

	"github.com/postern-ai/postern/core/abi"
)

// bindings are the namespace bindings of the object classes in wrangler.toml.
var bindings = map[abi.Class]string{
	abi.ClassKeyMeter:  "KEY_METER",
	abi.ClassLedger:    "LEDGER",
	abi.ClassDirectory: "DIRECTORY",
}

// objects implements control.Objects with callObject of entry.mjs. The library's own stub does not support location
// hints. An object stays where its first call creates it, and for a project's objects, this code makes that call. The
// stub also leaves callbacks and a buffer behind with each call; see lean.
type objects struct{ call js.Value }

func newObjects() objects { return objects{helper("callObject")} }

// helper returns a function of entry.mjs. If this deployment does not have the function, it returns undefined.
func helper(name string) js.Value { return js.Global().Get("context").Get(name) }

// Call ignores ctx: the platform ends a request's I/O with the request, and entry.mjs sets the timeout of a call.
// This program must not use Go timers. The runtime would set a timer on behalf of any request, and the timer would
// end with that request.
func (o objects) Call(_ context.Context, class abi.Class, name, region string, command []byte) ([]byte, error) {
	binding, ok := bindings[class]
	if !ok {
		return nil, fmt.Errorf("no object class %d", class)
	}
	reply, err := await(o.call.Invoke(binding, name, region, bytesToJS(command)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", binding, err)
	}
	return bytesToGo(reply), nil
}

// await parks the goroutine until a promise is settled. It releases all of its own resources.
func await(promise js.Value) (js.Value, error) {
	var (
		value   js.Value
		err     error
		settled = make(chan struct{})
	)
	fulfilled := js.FuncOf(func(_ js.Value, args []js.Value) any {
		value = args[0]
		close(settled)
		return nil
	})
	defer fulfilled.Release()
	rejected := js.FuncOf(func(_ js.Value, args []js.Value) any {
		err = errors.New(js.Global().Get("String").Invoke(args[0]).String())
		close(settled)
		return nil
	})
	defer rejected.Release()
	promise.Call("then", fulfilled, rejected)
	<-settled
	return value, err
}
