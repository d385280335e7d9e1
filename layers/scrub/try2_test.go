package scrub

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTry2(t *testing.T) {
	r, _ := Compile(DefaultSettings())
	s := r.With([]byte("k"))
	src := goSource(t, 60<<20)
	show := func(name, src string) {
		f := s.Find(src)
		m := map[string]int{}
		for i, x := range f {
			m[x.Family]++
			if i%(len(f)/70+1) == 0 {
				e := min(len(src), x.Offset+40)
				fmt.Printf("%s %q\n", x.Family, src[max(0, x.Offset-40):e])
			}
		}
		fmt.Println(name, len(f), m, strings.Count(src, "\n"), len(src))
	}
	show("go", src)
	files, _ := filepath.Glob("/work/shared/data/claude-code/*.jsonl")
	var b strings.Builder
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			b.WriteString(v)
			b.WriteString("\n")
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			for k, x := range v {
				if k != "signature" && k != "uuid" {
					walk(x)
				}
			}
		}
	}
	for _, p := range files {
		d, _ := os.ReadFile(p)
		for _, l := range strings.Split(string(d), "\n") {
			var v any
			if json.Unmarshal([]byte(l), &v) == nil {
				walk(v)
			}
		}
	}
	show("sessions", b.String())
}
