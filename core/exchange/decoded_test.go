package exchange_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"unsafe"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/exchange"
	"github.com/postern-ai/postern/core/governor"
)

// TestStateKeepsWhatIsEncoded: a state that is kept decoded is equal to one that is encoded and decoded between two
// steps. This must hold for any values of its fields, so a field that is not encoded must not last longer than a step.
func TestStateKeepsWhatIsEncoded(t *testing.T) {
	cfg := configured(t, "")
	for seed := range uint64(1000) {
		f := filler{rand.New(rand.NewPCG(seed, 1)), cfg}
		kept, decoded := exchange.Between(cfg, func(state any) { f.fill(reflect.ValueOf(state).Elem(), "state") })
		dropEmpty(reflect.ValueOf(kept).Elem())
		dropEmpty(reflect.ValueOf(decoded).Elem())
		if diff := firstDifference(reflect.ValueOf(kept).Elem(), reflect.ValueOf(decoded).Elem(), "state"); diff != "" {
			t.Fatalf("seed %d: kept and decoded states differ: %s", seed, diff)
		}
	}
}

// filler fills values at random. A third of them stay empty.
type filler struct {
	*rand.Rand
	config *config.Config
}

var sampleRecord = doc.Record{Version: 3, KeyID: "key_1", ProjectID: "prj_1", Plan: "free", Models: []string{"alpha"}}

// settable returns the field, even if it is unexported.
func settable(v reflect.Value) reflect.Value {
	return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
}

func (f *filler) model() *config.Model { return &f.config.Models[f.IntN(len(f.config.Models))] }

func (f *filler) fill(v reflect.Value, path string) {
	switch {
	case v.Type() == reflect.TypeFor[doc.Record]():
		v.Set(reflect.ValueOf(sampleRecord))
		return
	case path == "state.encoded":
		v.SetBytes(sampleRecord.Encode())
		return
	case v.Type() == reflect.TypeFor[config.Target]():
		v.Set(reflect.ValueOf(config.Target{Model: f.model(), Weight: f.Uint64N(3)}))
		return
	case f.IntN(3) == 0, v.Type() == reflect.TypeFor[*governor.Scanner](): // the scanner becomes the field state
		return
	}
	switch v.Interface().(type) {
	case *config.Model:
		v.Set(reflect.ValueOf(f.model()))
		return
	case calendar.Period:
		v.Set(reflect.ValueOf(calendar.NewPeriod(calendar.Monthly, 0, 20778+f.Uint64N(90))))
		return
	case governor.Finding:
		v.Set(reflect.ValueOf(governor.Finding{Rule: governor.ID(f.IntN(9)), Start: 3, End: 3 + f.IntN(9)}))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(settable(v.Field(i)), path+"."+v.Type().Field(i).Name)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), f.IntN(3), 4))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i), path)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), path)
	case reflect.Bool:
		v.SetBool(f.IntN(2) == 0)
	case reflect.String:
		v.SetString(fmt.Sprint("text ", f.IntN(99)))
	case reflect.Int, reflect.Int64:
		v.SetInt(f.Int64N(90))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint64:
		v.SetUint(f.Uint64N(3))
	default:
		panic(path + ": a field of kind " + v.Kind().String())
	}
}

// dropEmpty turns empty slices into nil, because an encoding cannot tell them apart.
func dropEmpty(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			dropEmpty(settable(v.Field(i)))
		}
	case reflect.Slice:
		if v.Len() == 0 {
			v.SetZero()
		}
		for i := range v.Len() {
			dropEmpty(v.Index(i))
		}
	}
}

// firstDifference returns the path of a field in which two values differ, and its values. If there is none, it is empty.
func firstDifference(a, b reflect.Value, path string) string {
	if a.Kind() == reflect.Struct {
		for i := range a.NumField() {
			if d := firstDifference(settable(a.Field(i)), settable(b.Field(i)), path+"."+a.Type().Field(i).Name); d != "" {
				return d
			}
		}
		return ""
	}
	if reflect.DeepEqual(a.Interface(), b.Interface()) {
		return ""
	}
	return fmt.Sprintf("%s: %+v, %+v", path, a.Interface(), b.Interface())
}
