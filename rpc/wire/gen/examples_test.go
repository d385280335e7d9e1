package gen_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"hexapla/rpc/wire"
	"hexapla/rpc/wire/gen"
)

func readExamples(t *testing.T) []gen.Example {
	t.Helper()
	examples, err := gen.ReadExamples(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	return examples
}

// part is the parameters, the result or the error data of an example.
type part struct {
	name string
	raw  json.RawMessage
	typ  reflect.Type
}

// parts returns the parts of an example that are of a type of the wire.
func parts(ex gen.Example) []part {
	var out []part
	if ex.Error != nil {
		out = append(out, part{ex.Name() + " error", ex.Error.Data, reflect.TypeFor[wire.ErrorData]()})
	}
	methods := wire.Methods()
	at := slices.IndexFunc(methods, func(m wire.Method) bool { return m.Name == ex.Method })
	if at < 0 {
		return out
	}
	if ex.WellFormed() {
		out = append(out, part{ex.Name() + " params", ex.Params, methods[at].Params})
	}
	if ex.Result != nil {
		out = append(out, part{ex.Name() + " result", ex.Result, methods[at].Result})
	}
	return out
}

// validator checks values against the definitions of schema.json.
type validator struct {
	t     *testing.T
	text  []byte
	known map[string]*jsonschema.Resolved
}

func newValidator(t *testing.T) validator {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(gen.SchemaFile)))
	if err != nil {
		t.Fatal(err)
	}
	return validator{t, text, map[string]*jsonschema.Resolved{}}
}

func (v validator) definition(name string) *jsonschema.Resolved {
	v.t.Helper()
	if resolved := v.known[name]; resolved != nil {
		return resolved
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(v.text, &schema); err != nil {
		v.t.Fatal(err)
	}
	if schema.Defs[name] == nil {
		v.t.Fatalf("schema.json does not define %s", name)
	}
	schema.Ref = "#/$defs/" + name
	resolved, err := schema.Resolve(nil)
	if err != nil {
		v.t.Fatal(err)
	}
	v.known[name] = resolved
	return resolved
}

// TestExamplesMatchSchema: every example is valid, and one that leaves out a
// required member is not.
func TestExamplesMatchSchema(t *testing.T) {
	t.Parallel()
	v := newValidator(t)
	for _, ex := range readExamples(t) {
		for _, p := range parts(ex) {
			var value any
			if err := json.Unmarshal(p.raw, &value); err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
			definition := v.definition(p.typ.Name())
			if err := definition.Validate(value); err != nil {
				t.Errorf("%s is not a %s: %v", p.name, p.typ.Name(), err)
			}
			members := value.(map[string]any)
			for _, required := range definition.Schema().Defs[p.typ.Name()].Required {
				kept := members[required]
				delete(members, required)
				if definition.Validate(value) == nil {
					t.Errorf("%s is valid without %s", p.name, required)
				}
				members[required] = kept
			}
		}
	}
}

// TestExamplesRoundTrip: decoding an example into its Go type, strictly, and
// encoding it again loses and adds nothing.
func TestExamplesRoundTrip(t *testing.T) {
	t.Parallel()
	for _, ex := range readExamples(t) {
		for _, p := range parts(ex) {
			value := reflect.New(p.typ)
			d := json.NewDecoder(bytes.NewReader(p.raw))
			d.DisallowUnknownFields()
			if err := d.Decode(value.Interface()); err != nil {
				t.Errorf("%s: %v", p.name, err)
				continue
			}
			again, err := json.Marshal(value.Interface())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tree(t, p.raw), tree(t, again)); diff != "" {
				t.Errorf("%s changes on its way through %s (-file +encoded):\n%s", p.name, p.typ, diff)
			}
		}
		for _, raw := range packs(t, ex) {
			d := json.NewDecoder(bytes.NewReader(raw))
			d.DisallowUnknownFields()
			var pack wire.Pack
			if err := d.Decode(&pack); err != nil {
				t.Errorf("%s: pack: %v", ex.Name(), err)
				continue
			}
			again, err := json.Marshal(pack)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tree(t, raw), tree(t, again)); diff != "" {
				t.Errorf("%s: pack changes on its way through wire.Pack (-file +encoded):\n%s", ex.Name(), diff)
			}
		}
	}
}

// packs returns the pack in a result, if there is one.
func packs(t *testing.T, ex gen.Example) []json.RawMessage {
	t.Helper()
	if ex.Result == nil || !strings.HasPrefix(ex.Method, "hexapla/pack/") {
		return nil
	}
	var result struct {
		Pack json.RawMessage `json:"pack"`
	}
	if err := json.Unmarshal(ex.Result, &result); err != nil {
		t.Fatal(err)
	}
	if result.Pack == nil {
		return nil // it tells of packs and shows none
	}
	return []json.RawMessage{result.Pack}
}

// TestExamplePacksAddUp: what protocol.md promises of a pack holds for those
// that it shows.
func TestExamplePacksAddUp(t *testing.T) {
	t.Parallel()
	for _, ex := range readExamples(t) {
		for _, raw := range packs(t, ex) {
			var p wire.Pack
			if err := json.Unmarshal(raw, &p); err != nil {
				t.Fatal(err)
			}
			if got := p.Branches.SystemPrompt + p.Branches.ContextPrompt + p.Branches.UserInput; got != p.Text {
				t.Errorf("%s: text is not its three branches", ex.Name())
			}
			var text strings.Builder
			tokens := 0
			for _, s := range p.Sections {
				text.WriteString(s.Text)
				tokens += s.Tokens
				items := 0
				for _, item := range s.Items {
					items += item.Tokens
				}
				if items != s.Tokens {
					t.Errorf("%s: section %s has %d tokens, its items %d", ex.Name(), s.Name, s.Tokens, items)
				}
			}
			if text.String() != p.Text {
				t.Errorf("%s: text is not its sections", ex.Name())
			}
			if tokens != p.Tokens.Used || p.Tokens.System+p.Tokens.Context+p.Tokens.Input != p.Tokens.Used {
				t.Errorf("%s: sections have %d tokens, branches %d+%d+%d, used is %d", ex.Name(),
					tokens, p.Tokens.System, p.Tokens.Context, p.Tokens.Input, p.Tokens.Used)
			}
			if p.Tokens.Used+p.Tokens.Reserved > p.Tokens.Total {
				t.Errorf("%s: over budget", ex.Name())
			}
		}
	}
}

// TestExampleErrors: errors of examples are as the table of kinds says.
func TestExampleErrors(t *testing.T) {
	t.Parallel()
	for _, ex := range readExamples(t) {
		if ex.Error == nil {
			continue
		}
		rows := wire.Kinds()
		at := slices.IndexFunc(rows, func(row wire.KindRow) bool { return row.Kind == ex.Kind() })
		if at < 0 || rows[at].Code != ex.Error.Code {
			t.Errorf("%s: code %d with kind %q is not in the table", ex.Name(), ex.Error.Code, ex.Kind())
		}
	}
}

func tree(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestFormatJSON: laying JSON out changes its white space and nothing else,
// and a second time changes nothing at all.
func TestFormatJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(anyJSON(t, 3))
		if err != nil {
			t.Fatal(err)
		}
		laid := gen.FormatJSON(raw)
		var back bytes.Buffer
		if err := json.Compact(&back, laid); err != nil {
			t.Fatalf("%s: %v", laid, err)
		}
		if !bytes.Equal(back.Bytes(), raw) {
			t.Fatalf("%s became %s", raw, laid)
		}
		if again := gen.FormatJSON(laid); !bytes.Equal(again, laid) {
			t.Fatalf("laid out twice:\n%s\n%s", laid, again)
		}
	})
}

func anyJSON(t *rapid.T, depth int) any {
	kinds := 3
	if depth > 0 {
		kinds = 5
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.String().Draw(t, "string")
	case 1:
		return rapid.Int().Draw(t, "int")
	case 2:
		return rapid.SampledFrom([]any{nil, true, false, "", `a "b", {c: [d]} \`}).Draw(t, "word")
	case 3:
		list := make([]any, rapid.IntRange(0, 6).Draw(t, "length"))
		for i := range list {
			list[i] = anyJSON(t, depth-1)
		}
		return list
	}
	members := map[string]any{}
	for range rapid.IntRange(0, 6).Draw(t, "members") {
		members[rapid.String().Draw(t, "name")] = anyJSON(t, depth-1)
	}
	return members
}
