package postern

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
)

// streamOf returns a stream whose text is output, in two deltas.
func streamOf(output string) string {
	half := len(output) / 2
	return fmt.Sprintf("data: {\"type\":\"delta\",\"text\":%q}\n\ndata: {\"type\":\"delta\",\"text\":%q}\n\n"+
		"data: {\"type\":\"done\",\"usage\":{\"costCents\":0.5}}\n\ndata: [DONE]\n\n", output[:half], output[half:])
}

func TestChatJSON(t *testing.T) {
	for output, want := range map[string]string{
		`{"price": 2.5, "more": 1}`: "",
		`{"price": -1}`:             "postern: output does not match: price must not be negative",
		`{"cost": 1}`:               "postern: output does not match: price: is required",
		`Sorry!`:                    "postern: output does not match: is not JSON",
	} {
		client := newScripted(t, http.StatusOK, streamOf(output))
		stream := ChatJSON[priced](context.Background(), client, hello)
		events := 0
		for _, err := range stream.Events() {
			if events++; err != nil {
				t.Errorf("%s: %v", output, err)
			}
		}
		final, err := stream.Final()
		data, again := stream.Data()
		usage, usageErr := stream.Usage()
		if events != 3 || usage.CostCents != 0.5 || usageErr != nil {
			t.Errorf("%s: %d events, %+v", output, events, usage)
		}
		if want == "" {
			if err != nil || again != nil || data.Price != 2.5 || final.Data != data || final.Text != output {
				t.Errorf("%+v %v %v", final, err, again)
			}
			continue
		}
		var invalid *OutputValidationError
		if !errors.As(err, &invalid) || err.Error() != want || again.Error() != want || invalid.Completion.Usage.CostCents != 0.5 || data != (priced{}) {
			t.Errorf("%s: %v", output, err)
		}
	}
}

// TestChatJSONOfOtherErrors checks that all errors except an OutputValidationError are the same as for a ChatStream.
func TestChatJSONOfOtherErrors(t *testing.T) {
	client := newScripted(t, http.StatusUnauthorized, `{"error":"No","code":"unauthorized"}`)
	var unknown *AuthenticationError
	if _, err := ChatJSON[priced](context.Background(), client, hello).Data(); !errors.As(err, &unknown) {
		t.Errorf("%T %v", err, err)
	}
	client = newScripted(t, http.StatusOK, streamOf(`{"price": 1}`))
	stream := ChatJSON[priced](context.Background(), client, hello)
	if err := stream.Close(); err != nil {
		t.Error(err)
	}
	if _, err := stream.Data(); !errors.Is(err, context.Canceled) {
		t.Errorf("closed: %T %v", err, err)
	}
}
