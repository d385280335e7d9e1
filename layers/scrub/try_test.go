package scrub

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func goSource(t testing.TB, n int) string {
	var b strings.Builder
	filepath.Walk(filepath.Join(runtime.GOROOT(), "src"), func(p string, i os.FileInfo, err error) error {
		if err == nil && strings.HasSuffix(p, ".go") && b.Len() < n {
			d, _ := os.ReadFile(p)
			b.Write(d)
		}
		return nil
	})
	return b.String()[:n]
}
func TestTry(t *testing.T) {
	r, err := Compile(DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	s := r.With([]byte("k"))
	am := 0
	for _, x := range r.rules {
		if x.mode == anchored {
			am++
		}
		if x.mode == inside && x.minRun < 12 {
			fmt.Println("inside", x.id, x.minRun, x.keywords)
		}
		if x.assigns && x.mode != anchored {
			fmt.Println("not anchored", x.id, x.mode)
		}
	}
	fmt.Println(len(r.rules), am, len(r.keywords), len(r.words.next)*4)
	for _, x := range []string{
		"DB_PASSWORD=correcthorse", `"password": "hunter22!"`, "postgres://bob:s3cr3tpw@db.host/x", "the password for staging is Xy!zzy42 ok", "export GH=ghp_" + strings.Repeat("a1B2", 9),
		"Authorization: Bearer abcdef0123456789abcdef", "password: z.string()", "Cookie: sid=abcd1234efgh5678; theme=dark", "machine h login u password pw12345", "card 4111 1111 1111 1111 x", "DE89370400440532013000",
	} {
		c, f := s.Scrub(x)
		fmt.Println(c, f)
	}
	src := goSource(t, 10<<20)
	f := s.Find(src)
	m := map[string]int{}
	for i, x := range f {
		m[x.Family]++
		if i%(len(f)/60+1) == 0 {
			e := min(len(src), x.Offset+40)
			fmt.Printf("%s %q\n", x.Family, src[max(0, x.Offset-30):e])
		}
	}
	fmt.Println(len(f), m, strings.Count(src, "\n"))
}
func BenchmarkGo(b *testing.B) {
	r, _ := Compile(DefaultSettings())
	s := r.With([]byte("k"))
	src := goSource(b, 10<<20)
	s.Find(src)
	b.SetBytes(int64(len(src)))
	b.ResetTimer()
	for b.Loop() {
		s.pass(src)
	}
}
func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		Compile(DefaultSettings())
	}
}
