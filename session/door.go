package session

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"hexapla/layers/scrub"
	"hexapla/session/registry"
)

// This file is the door: the one place that all texts of all requests pass on
// their way in, before anything is stored, indexed, audited, logged or answered.

// placeholderKey is the purpose of the store's key that placeholders are made with.
const placeholderKey = "placeholder"

// Admit scrubs the texts of a request in place and returns what was found, by
// family. params points to a struct of parameters; all strings that can be reached
// from it are texts, also in values of JSON and as names of members, except
//
//   - the member session of the struct itself, because the workspace is found by
//     it (OpenSession refuses one that is a secret), and
//   - fields with the tag scrub:"-".
//
// So the parameters of a new method are scrubbed unless somebody says otherwise.
// What a client reads with passes the same door as what it writes, so that a
// query finds, and an input that is not recorded yet shows, what is stored.
//
// The key is that of the workspace that the request is for, which is opened if it
// names one by its URI. Where there is none nothing is stored either; placeholders
// are then of this process alone.
func (s *Service) Admit(ctx context.Context, params any) []scrub.FamilyCount {
	root := reflect.ValueOf(params).Elem()
	a := admission{scrubber: s.scrubberOf(ctx, root)}
	if root.Kind() != reflect.Struct {
		a.walk(root)
		return scrub.Families(a.findings)
	}
	a.root(root)
	return scrub.Families(a.findings)
}

// root scrubs the fields of the parameters themselves.
func (a *admission) root(v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Type().Field(i); {
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			a.root(v.Field(i))
		case f.Name == "Session" && f.Type.Kind() == reflect.String:
		case f.Tag.Get("scrub") != "-" && f.IsExported():
			a.walk(v.Field(i))
		}
	}
}

// scrubberOf finds the workspace that a request is for.
func (s *Service) scrubberOf(ctx context.Context, root reflect.Value) *scrub.Scrubber {
	if root.Kind() == reflect.Struct {
		var session, uri string
		if f := root.FieldByName("Session"); f.IsValid() && f.Kind() == reflect.String {
			session = f.String()
		}
		if f := root.FieldByName("Workspace"); f.IsValid() {
			if f = reflect.Indirect(f); f.Kind() == reflect.Struct {
				if f = f.FieldByName("URI"); f.IsValid() && f.Kind() == reflect.String {
					uri = f.String()
				}
			}
		}
		if checkURI(uri) == nil && validSessionID(session) == nil {
			if ws, found, err := s.openWorkspace(ctx, uri); err == nil {
				noteVisit(ctx, uri, found)
				return s.scrubberFor(ws)
			}
		}
		if open, err := s.Session(session); err == nil {
			return s.scrubberFor(open.Workspace)
		}
	}
	return s.foreign()
}

// visit is what the door learned of the folder of a request, which the request
// need not find out again: a folder is new once.
type visit struct {
	uri   string
	found registry.Found
}

type visitKey struct{}

// WithVisit lets one request remember what the door learned.
func WithVisit(ctx context.Context) context.Context {
	return context.WithValue(ctx, visitKey{}, &visit{})
}

func noteVisit(ctx context.Context, uri string, found registry.Found) {
	if v, ok := ctx.Value(visitKey{}).(*visit); ok {
		v.uri, v.found = uri, found
	}
}

func visitOf(ctx context.Context, uri string) (registry.Found, bool) {
	v, ok := ctx.Value(visitKey{}).(*visit)
	if !ok || v.found.ID == "" || v.uri != uri {
		return registry.Found{}, false
	}
	return v.found, true
}

// scrubberFor is the client's rules with the key of a workspace: what one client
// names as a secret, it alone need know.
func (s *Service) scrubberFor(ws *Workspace) *scrub.Scrubber {
	s.mu.Lock()
	defer s.mu.Unlock()
	scrubber := s.scrubbers[ws.store]
	if scrubber == nil {
		scrubber = s.rules().With(ws.store.Key(placeholderKey))
		s.scrubbers[ws.store] = scrubber
	}
	return scrubber
}

// rules are what the client has scrubbed.
func (s *Service) rules() *scrub.Rules {
	if s.client.Secrets != nil {
		return s.client.Secrets
	}
	return s.shared.rules()
}

// admission is one request at the door.
type admission struct {
	scrubber *scrub.Scrubber
	findings []scrub.Finding
}

func (a *admission) text(s string) string {
	if doorOpen {
		return s
	}
	clean, found := a.scrubber.Scrub(s)
	a.findings = append(a.findings, found...)
	return clean
}

// walk scrubs every text that can be reached from a value.
func (a *admission) walk(v reflect.Value) { walkTexts(v, a.text, a.tree) }

// walkTexts maps every text that can be reached from a value, with tree for values
// of JSON.
func walkTexts(v reflect.Value, text func(string) string, tree func(any) any) {
	switch v.Kind() {
	case reflect.String:
		if v.Len() > 0 {
			if clean := text(v.String()); clean != v.String() {
				v.SetString(clean)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Tag.Get("scrub") != "-" && (f.IsExported() || f.Anonymous) {
				walkTexts(v.Field(i), text, tree)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			walkTexts(v.Elem(), text, tree)
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			if raw := v.Bytes(); len(raw) > 0 {
				v.SetBytes(walkRaw(raw, text, tree))
			}
			return
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if clean := text(string(v.Bytes())); clean != string(v.Bytes()) {
				v.SetBytes([]byte(clean))
			}
			return
		}
		for i := range v.Len() {
			walkTexts(v.Index(i), text, tree)
		}
	case reflect.Array:
		for i := range v.Len() {
			walkTexts(v.Index(i), text, tree)
		}
	case reflect.Map:
		walkMap(v, text, tree)
	case reflect.Interface:
		if !v.IsNil() {
			v.Set(reflect.ValueOf(tree(v.Elem().Interface())))
		}
	}
}

// walkMap maps the keys of a map as well as its values.
func walkMap(v reflect.Value, text func(string) string, tree func(any) any) {
	if v.Type().Key().Kind() != reflect.String {
		return
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range keys {
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(v.MapIndex(key))
		walkTexts(value, text, tree)
		if clean := text(key.String()); clean != key.String() {
			v.SetMapIndex(key, reflect.Value{})
			key = reflect.ValueOf(clean).Convert(v.Type().Key())
		}
		v.SetMapIndex(key, value)
	}
}

// walkRaw maps the texts of raw JSON, which stays as it is if none changes. What
// is no JSON is text.
func walkRaw(raw json.RawMessage, text func(string) string, tree func(any) any) json.RawMessage {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil || decoder.More() {
		return json.RawMessage(text(string(raw)))
	}
	before, err := encodePlain(value)
	if err != nil {
		return json.RawMessage(text(string(raw)))
	}
	after, err := encodePlain(tree(value))
	if err != nil || bytes.Equal(before, after) {
		return raw
	}
	return after
}

// encodePlain encodes JSON as it came: without escapes for HTML.
func encodePlain(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// tree scrubs a value of JSON. The name of a member says what its value is, as in
// {"password": "x"}.
func (a *admission) tree(value any) any { return a.member("", value) }

func (a *admission) member(name string, value any) any {
	switch v := value.(type) {
	case string:
		return a.named(name, v)
	case []any:
		for i := range v {
			v[i] = a.member(name, v[i])
		}
	case map[string]any:
		names := make([]string, 0, len(v))
		for n := range v {
			names = append(names, n)
		}
		slices.Sort(names)
		for _, n := range names {
			clean := a.member(n, v[n])
			if key := a.text(n); key != n {
				delete(v, n)
				n = key
			}
			v[n] = clean
		}
	case json.RawMessage:
		return walkRaw(v, a.text, a.tree)
	}
	return value
}

// maxNamedValue bounds the values that are looked at together with their names, in
// bytes.
const maxNamedValue = 512

// named scrubs a text that is the value of a member.
func (a *admission) named(name, value string) string {
	clean := a.text(value)
	if clean != value || name == "" || len(name) > 64 || len(value) > maxNamedValue || strings.ContainsAny(value, "\"\n\r\\") {
		return clean
	}
	before := `"` + name + `": "`
	both, found := a.scrubber.Scrub(before + value + `"`)
	rest, ok := strings.CutPrefix(both, before)
	if rest, tail := strings.CutSuffix(rest, `"`); ok && tail && rest != value {
		a.findings = append(a.findings, found...)
		return rest
	}
	return value
}
