package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"

	"hexapla/layers/scrub"
	"hexapla/session"
)

// admission scrubs decoded parameters in place and counts what was found, by
// family.
type admission func(ctx context.Context, params any) map[string]int

type admissionKey struct{}

// admissionOf returns what parameters pass before a handler of Typed sees them;
// nil for nothing.
func admissionOf(ctx context.Context) admission {
	admit, _ := ctx.Value(admissionKey{}).(admission)
	return admit
}

// atDoor has the parameters of every handler pass the sessions' door.
func (b *backend) atDoor(handlers map[string]Handler) map[string]Handler {
	var admit admission = func(ctx context.Context, params any) map[string]int {
		if found := b.service.Admit(ctx, params); len(found) > 0 {
			return familiesToWire(found)
		}
		return nil
	}
	for name, handler := range handlers {
		handlers[name] = func(ctx context.Context, params json.RawMessage) (any, error) {
			return handler(context.WithValue(session.WithVisit(ctx), admissionKey{}, admit), params)
		}
	}
	return handlers
}

func familiesToWire(families []scrub.FamilyCount) map[string]int {
	counts := make(map[string]int, len(families))
	for _, f := range families {
		counts[f.Family] = f.Count
	}
	return counts
}

// tellScrubbed puts the counts into a result that has a place for them.
func tellScrubbed(result any, counts map[string]int) {
	if f := reflect.ValueOf(result).Elem().FieldByName("Scrubbed"); f.IsValid() && f.Type() == reflect.TypeOf(counts) {
		f.Set(reflect.ValueOf(counts))
	}
}

// readSecrets reads initializationOptions.secrets; nil stands for the default
// settings.
func readSecrets(raw json.RawMessage) (rules *scrub.Rules, err error) {
	if raw == nil {
		return nil, nil
	}
	settings, err := scrub.ParseSettings(raw)
	if err == nil {
		rules, err = scrub.Compile(settings)
	}
	var bad *scrub.SettingError
	if errors.As(err, &bad) {
		e := InvalidParams("initializationOptions."+bad.Path, "initializationOptions."+bad.Error())
		e.Data.Limit = bad.Limit
		return nil, e
	}
	return rules, err
}
