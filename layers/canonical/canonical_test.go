package canonical_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
	"pgregory.net/rapid"

	"hexapla/layers/canonical"
)

func TestAppendString(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"", `""`},
		{"plain ASCII of more than eight bytes", `"plain ASCII of more than eight bytes"`},
		{"a\"b\\c/d", `"a\"b\\c/d"`},
		{"\b\t\n\f\r", `"\b\t\n\f\r"`},
		{"\x00\x01\x0b\x1f\x7f", `"\u0000\u0001\u000b\u001f` + "\x7f\""},
		{"<>&\u2028\u2029", "\"<>&\u2028\u2029\""},
		{"€ 🎉 é", `"€ 🎉 é"`},
		{"1234567\"", `"1234567\""`},
		{"12345678\n", `"12345678\n"`},
		{"\xff", "\"\uFFFD\""},
		{"a\xff\xfeb", "\"a\uFFFD\uFFFDb\""},
		{"é\xe4\xb8\"中\n", "\"é\uFFFD\uFFFD\\\"中\\n\""},
		{"\xed\xa0\xbd", "\"\uFFFD\uFFFD\uFFFD\""},
		{"\uFFFD", "\"\uFFFD\""},
	} {
		if got := string(canonical.AppendString(nil, c.in)); got != c.want {
			t.Errorf("AppendString(%q) = %s, want %s", c.in, got, c.want)
		}
	}
	if got := string(canonical.AppendString([]byte("x"), "y")); got != `x"y"` {
		t.Errorf("what stood in dst: %s", got)
	}
}

// The table of RFC 8785, appendix B, and borders of the two notations.
func TestAppendFloat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bits uint64
		want string
	}{
		{0x0000000000000000, "0"}, {0x8000000000000000, "0"},
		{0x0000000000000001, "5e-324"}, {0x8000000000000001, "-5e-324"},
		{0x7fefffffffffffff, "1.7976931348623157e+308"}, {0xffefffffffffffff, "-1.7976931348623157e+308"},
		{0x4340000000000000, "9007199254740992"}, {0xc340000000000000, "-9007199254740992"},
		{0x4430000000000000, "295147905179352830000"},
		{0x44b52d02c7e14af5, "9.999999999999997e+22"}, {0x44b52d02c7e14af6, "1e+23"}, {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
		{0x444b1ae4d6e2ef4e, "999999999999999700000"}, {0x444b1ae4d6e2ef4f, "999999999999999900000"}, {0x444b1ae4d6e2ef50, "1e+21"},
		{0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"}, {0x3eb0c6f7a0b5ed8d, "0.000001"},
		{0x41b3de4355555553, "333333333.3333332"}, {0x41b3de4355555554, "333333333.33333325"}, {0x41b3de4355555555, "333333333.3333333"},
		{0xbecbf647612f3696, "-0.0000033333333333333333"}, {0x43143ff3c1cb0959, "1424953923781206.2"},
		{0x7ff8000000000000, "null"}, {0x7ff0000000000000, "null"}, {0xfff0000000000000, "null"},
	} {
		if got := string(canonical.AppendFloat(nil, math.Float64frombits(c.bits))); got != c.want {
			t.Errorf("%016x = %s, want %s", c.bits, got, c.want)
		}
	}
}

func TestFloatsAsTheOracle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.OneOf(
			rapid.Map(rapid.Uint64(), math.Float64frombits), rapid.Float64(),
			rapid.Map(rapid.Int64(), func(i int64) float64 { return float64(i) }),
		).Draw(t, "v")
		want, err := jcs.NumberToJSON(v)
		if err != nil {
			want = "null"
		}
		if got := string(canonical.AppendFloat(nil, v)); got != want {
			t.Fatalf("%v = %s, want %s", v, got, want)
		}
	})
}

func TestAppendInt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   int64
		want string
	}{
		{0, "0"}, {-1, "-1"}, {1 << 53, "9007199254740992"}, {-1 << 53, "-9007199254740992"},
		{1<<53 + 1, "9007199254740992"}, {math.MaxInt64, "9223372036854776000"}, {math.MinInt64, "-9223372036854776000"},
	} {
		got := string(canonical.AppendInt(nil, c.in))
		if got != c.want {
			t.Errorf("%d = %s, want %s", c.in, got, c.want)
		}
		if err := canonical.Check([]byte(got)); err != nil {
			t.Error(err)
		}
	}
}

func TestAppendKeys(t *testing.T) {
	t.Parallel()
	b := []byte{'{'}
	b = canonical.AppendKey(b, "a")
	b = append(b, '[')
	for i := range 3 {
		b = canonical.AppendNext(b)
		b = append(b, '{')
		b = canonical.AppendKey(b, "i")
		b = canonical.AppendInt(b, int64(i))
		b = append(b, '}')
	}
	b = append(b, ']')
	b = canonical.AppendKey(b, "b{")
	b = canonical.AppendString(b, "{[")
	b = canonical.AppendKey(b, "c")
	b = canonical.AppendBool(b, true)
	b = append(b, '}')
	if want := `{"a":[{"i":0},{"i":1},{"i":2}],"b{":"{[","c":true}`; string(b) != want {
		t.Fatalf("got  %s\nwant %s", b, want)
	}
	if err := canonical.Check(b); err != nil {
		t.Fatal(err)
	}
}

func TestCheckFindsEachDeparture(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, at string }{
		{`{"b":1,"a":2}`, "offset 2"},
		{`{"a": 1}`, "offset 5"},
		{`["\u000a"]`, "offset 3"},
		{`["\/"]`, "offset 2"},
		{`[1.0]`, "offset 2"},
		{`[1E3]`, "offset 2"},
		{`[-0]`, "offset 1"},
		{`[1] `, "offset 3"},
		{`[1`, "offset 2"},
	} {
		if err := canonical.Check([]byte(c.in)); err == nil || !strings.Contains(err.Error(), c.at) {
			t.Errorf("%s: %v, want %s", c.in, err, c.at)
		}
	}
}

func TestTransform(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{` { "b" : [ 1 , 2.50, -0, 1e2 , 1E-7,123456789012345678 ] , "a" : { } , "" : [ ] , "ab":null, "\u0061a":true}`,
			`{"":[],"a":{},"aa":true,"ab":null,"b":[1,2.5,0,100,1e-7,123456789012345680]}`},
		// The keys of RFC 8785 §3.2.3 in the order of their UTF-16 code units.
		{`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji","\u0080":"Control","\u00f6":"Latin o"}`,
			`{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control","ö":"Latin o","€":"Euro Sign","😀":"Emoji","` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`},
		{`"\ud83d"`, "\"\uFFFD\""},
		{`"\ud83dx"`, "\"\uFFFDx\""},
		{`"\ud83d\ud83d\ude00"`, "\"\uFFFD😀\""},
		{`"\ude00\n"`, "\"\uFFFD\\n\""},
		{"\"a\xffb\"", "\"a\uFFFDb\""},
		{`{"d":{"z":1,"y":[{"q":1,"p":2}]},"c":3}`, `{"c":3,"d":{"y":[{"p":2,"q":1}],"z":1}}`},
	} {
		got, err := canonical.Transform(nil, []byte(c.in))
		if err != nil || string(got) != c.want {
			t.Errorf("%s\n got %s %v\nwant %s", c.in, got, err, c.want)
		}
	}
}

func TestTransformRefuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", " ", "{", "[", "]", `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `[1,]`, `[,1]`, `[1 2]`, `{"a":1 "b":2}`, `{a:1}`,
		`"`, `"a`, `"\"`, `"\x"`, `"\u12"`, `"\u12g4"`, "\"\n\"", "\"\x00\"", "nul", "tru", "falsy", "True", "NaN", "Infinity",
		"01", "-", "-a", "1.", ".1", "1e", "1e+", "+1", "0x1", "1 2", "[1]]", "1e400", "-1e400", `{"a":1,"a":2}`, `{"a":1,"b":0,"\u0061":2}`,
		"\ufeff1", "//", strings.Repeat("[", 20000) + strings.Repeat("]", 20000),
	} {
		before := []byte("kept")
		got, err := canonical.Transform(before, []byte(in))
		if err == nil {
			t.Errorf("%.40q: no error, got %.40s", in, got)
		}
		if string(got) != "kept" {
			t.Errorf("%.40q: dst is %.40q", in, got)
		}
	}
}

type inner struct {
	Z     float64           `json:"z"`
	A     *int              `json:"a,omitempty"`
	Map   map[string]any    `json:"map"`
	Raw   json.RawMessage   `json:"raw,omitempty"`
	Bytes []byte            `json:"bytes"`
	Names map[int]string    `json:"names"`
	Texts map[string]string `json:"texts"`
}

type outer struct {
	Second inner   `json:"second"`
	First  []inner `json:"first"`
	HTML   string
	skip   int
}

func TestMarshal(t *testing.T) {
	t.Parallel()
	five := 5
	v := outer{
		Second: inner{Z: 1e21, A: &five, Map: map[string]any{"b": nil, "a": []int{2, 1}}, Raw: json.RawMessage(`{ "y":1.0, "x":"\u003c" }`), Bytes: []byte{1, 2}},
		First:  []inner{{Names: map[int]string{10: "ten", 9: "nine"}, Texts: map[string]string{"\U0001F600": "e", "\uFB33": "d"}}},
		HTML:   "<a href=\"x\">&</a> \xff",
		skip:   1,
	}
	want := `{"HTML":"<a href=\"x\">&</a> ` + "\uFFFD" + `","first":[{"bytes":null,"map":null,"names":{"10":"ten","9":"nine"},"texts":{"😀":"e","` + "\uFB33" + `":"d"},"z":0}],` +
		`"second":{"a":5,"bytes":"AQI=","map":{"a":[2,1],"b":null},"names":null,"raw":{"x":"<","y":1},"texts":null,"z":1e+21}}`
	got, err := canonical.Marshal(v)
	if err != nil || string(got) != want {
		t.Fatalf(" got %s %v\nwant %s", got, err, want)
	}
	for _, bad := range []any{math.NaN(), math.Inf(1), []float64{math.Inf(-1)}, make(chan int), map[string]any{"x": func() {}}, json.RawMessage(`{"a":1,"a":1}`), json.Number("1e999")} {
		if got, err := canonical.Marshal(bad); err == nil {
			t.Errorf("%T: no error, got %s", bad, got)
		}
	}
	var unsupported *json.UnsupportedValueError
	if _, err := canonical.Marshal(math.NaN()); !errors.As(err, &unsupported) {
		t.Errorf("NaN: %v does not wrap encoding/json's error", err)
	}
}

// values generates decoded JSON with awkward keys, strings and numbers.
func values() *rapid.Generator[any] {
	runes := rapid.OneOf(
		rapid.SampledFrom([]rune{'a', 'b', '"', '\\', '/', '\n', 0, 0x1f, 0x7f, 0x80, 'é', 0x2028, 0xD7FF, 0xE000, 0xFB33, 0xFFFD, 0xFFFF, 0x10000, 0x1F600, 0x10FFFF}),
		rapid.Rune(),
	)
	text := rapid.StringOf(runes)
	leaf := rapid.OneOf(
		rapid.Map(text, func(s string) any { return s }),
		rapid.Map(rapid.Float64(), func(f float64) any { return f }),
		rapid.Map(rapid.Int64(), func(i int64) any { return i }),
		rapid.SampledFrom([]any{nil, true, false, 0, -1, 1e21, 1e-7, 123456.789}),
	)
	value := leaf
	for range 3 {
		inner := value
		value = rapid.OneOf(leaf,
			rapid.Map(rapid.SliceOfN(inner, 0, 5), func(x []any) any { return x }),
			rapid.Map(rapid.MapOfN(text, inner, 0, 5), func(x map[string]any) any { return x }),
		)
	}
	return value
}

func TestMarshalAsTheOracle(t *testing.T) {
	t.Parallel()
	generator := values()
	rapid.Check(t, func(t *rapid.T) {
		v := generator.Draw(t, "v")
		got, err := canonical.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		want, err := oracle(plain)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf(" got %s\nwant %s", got, want)
		}
		if err := canonical.Check(got); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(got) || !utf8.Valid(got) {
			t.Fatalf("not JSON in UTF-8: %q", got)
		}
	})
}

// oracle is jcs.Transform, which takes only objects and arrays at the top.
func oracle(src []byte) ([]byte, error) {
	got, err := jcs.Transform([]byte("[" + string(src) + "]"))
	if err != nil {
		return nil, err
	}
	return got[1 : len(got)-1], nil
}

func TestStringsDecodeToThemselves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(
			rapid.String(),
			rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 40), func(b []byte) string { return string(b) }),
		).Draw(t, "s")
		quoted := canonical.AppendString(nil, s)
		var back string
		if err := json.Unmarshal(quoted, &back); err != nil {
			t.Fatalf("%q: %v", quoted, err)
		}
		if want := string([]rune(s)); back != want {
			t.Fatalf("%q comes back as %q", s, back)
		}
		if err := canonical.Check(quoted); err != nil {
			t.Fatal(err)
		}
	})
}

// Whatever the input: no panic; where the oracle gives an answer, it is ours;
// and what is given out is canonical.
func FuzzTransform(f *testing.F) {
	for _, seed := range []string{
		`{"b":[1,2.5e3,-0],"a":{"c":null,"":"x"}}`, `["\ud83d\ude00","\u0000\"\\\/"]`, `[1e400]`, `{"a":1,"a":2}`, `["\ud800"]`, "[\"\xff\"]", `[[[[{}]]]]`, `[0.1e1,1E+2,12345678901234567890]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		got, err := canonical.Transform(nil, src)
		if err == nil {
			if err := canonical.Check(got); err != nil {
				t.Fatal(err)
			}
			if !utf8.Valid(got) {
				t.Fatalf("not UTF-8: %q", got)
			}
		}
		valid := json.Valid(src)
		if err == nil && !valid {
			t.Fatalf("%q is not JSON", src)
		}
		want, oracleErr := oracle(src)
		if oracleErr != nil || !valid || !utf8.Valid(src) {
			return // jcs takes some texts that are not JSON
		}
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%q\n got %q %v\nwant %q", src, got, err, want)
		}
	})
}

// items is a pack-like value of about 1 MB.
func items() []item {
	out := make([]item, 500)
	for i := range out {
		out[i] = item{
			ID: fmt.Sprintf("c%d", i), Score: float64(i) / 7, Tokens: int64(i * 37),
			Text: strings.Repeat(fmt.Sprintf("Turn %d: the handler returned \"not found\"; see rpc/dispatch.go:%d and retry with a longer timeout.\n", i, i), 20),
		}
	}
	return out
}

type item struct {
	ID     string  `json:"id"`
	Score  float64 `json:"score"`
	Text   string  `json:"text"`
	Tokens int64   `json:"tokens"`
}

func appendItems(b []byte, list []item) []byte {
	b = append(b, '[')
	for i := range list {
		b = append(canonical.AppendNext(b), '{')
		b = canonical.AppendString(canonical.AppendKey(b, "id"), list[i].ID)
		b = canonical.AppendFloat(canonical.AppendKey(b, "score"), list[i].Score)
		b = canonical.AppendString(canonical.AppendKey(b, "text"), list[i].Text)
		b = canonical.AppendInt(canonical.AppendKey(b, "tokens"), list[i].Tokens)
		b = append(b, '}')
	}
	return append(b, ']')
}

func TestAppendedIsWhatMarshalGives(t *testing.T) {
	t.Parallel()
	list := items()
	want, err := canonical.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	if got := appendItems(nil, list); !bytes.Equal(got, want) {
		t.Fatal("the two ways differ")
	}
}
