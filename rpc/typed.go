package rpc

import (
	"context"
	"encoding/json"
	"reflect"
)

// Typed makes a Handler of a function over a method's parameter and result
// types.
//
// Parameters are decoded strictly: a missing required field (one without
// omitempty), a value of another type, null for a required field and an array
// in place of the object are refused with invalid_params and the field's path.
// A member that comes twice is refused with duplicate_key. Unknown fields are
// ignored and counted; null for an optional field is as if it were absent, and
// so are parameters that are absent where no field is required. Whole numbers
// may be written as 5 or 5.0, never as "5". A field of type any holds what
// encoding/json gives, except that a whole number beyond 2^53 is a json.Number.
func Typed[P, R any](fn func(context.Context, *P) (*R, error)) Handler {
	f := newForm(reflect.TypeFor[P]())
	return func(ctx context.Context, raw json.RawMessage) (any, error) {
		params := new(P)
		if err := f.decode(ctx, raw, reflect.ValueOf(params).Elem()); err != nil {
			return nil, err
		}
		var scrubbed map[string]int
		if admit := admissionOf(ctx); admit != nil {
			scrubbed = admit(ctx, params)
		}
		result, err := fn(ctx, params)
		if err != nil || result == nil {
			return nil, err
		}
		if len(scrubbed) > 0 {
			tellScrubbed(result, scrubbed)
		}
		return result, nil
	}
}
