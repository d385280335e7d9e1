package limits

import (
	"strings"
	"testing"
)

// FuzzSegments: a text taken apart is the text.
func FuzzSegments(f *testing.F) {
	for _, text := range []string{"", "a\n```go\nx\n```\nb", "```\nopen", "~~~~ py\n~~~\n~~~~", "  ```\n  x\n  ```\n", "```a`b```\n", "\n\n```", "```\r\nx\r\n```\r\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var b strings.Builder
		for _, s := range segments(text) {
			if s.text == "" {
				t.Error("an empty segment")
			}
			b.WriteString(s.text)
			if s.code {
				minified(s)
			}
		}
		if b.String() != text {
			t.Errorf("%q became %q", text, b.String())
		}
	})
}
