//go:build js && wasm

package main

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	"github.com/postern-ai/postern/control"
)

// fetch is control.Config.Fetch. entry.mjs sets its timeout, as it does for calls to objects.
func fetch(_ context.Context, url string) ([]byte, error) {
	body, err := await(helper("fetchSmall").Invoke(url, control.MaxFetchBytes))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	return bytesToGo(body), nil
}

// seal is control.Config.Seal. It uses WebCrypto.
func seal(_ context.Context, key []byte, additionalData string, plaintext []byte) ([]byte, error) {
	sealed, err := await(helper("seal").Invoke(bytesToJS(key), bytesToJS([]byte(additionalData)), bytesToJS(plaintext)))
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	return bytesToGo(sealed), nil
}

// files is control.Config.Files. It reads the deployment's static assets. Without the binding, there are none.
func files() func(context.Context, string) (control.Asset, error) {
	read := helper("readAsset")
	return func(_ context.Context, name string) (control.Asset, error) {
		if read.IsUndefined() {
			return control.Asset{}, fs.ErrNotExist
		}
		data, err := await(read.Invoke(name))
		switch {
		case err != nil:
			return control.Asset{}, fmt.Errorf("asset %s: %w", name, err)
		case data.IsNull():
			return control.Asset{}, fs.ErrNotExist
		}
		return control.NewAsset(bytesToGo(data)), nil
	}
}

// exports returns control.Config.Exports, which writes to the R2 bucket that is bound as EXPORTS. If there is no
// binding, it returns nil.
func exports() func(context.Context, string, []byte) error {
	put := helper("putExport")
	if put.IsUndefined() {
		return nil
	}
	return func(_ context.Context, name string, body []byte) error {
		if _, err := await(put.Invoke(name, bytesToJS(body))); err != nil {
			return fmt.Errorf("export %s: %w", name, err)
		}
		return nil
	}
}

// sleep is control.Config.Sleep. It uses a timer of the request on whose behalf Go runs; see objects.Call.
func sleep(_ context.Context, d time.Duration) error {
	_, err := await(helper("sleep").Invoke(d.Milliseconds()))
	return err
}
