package digest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hexapla/layers"
	"hexapla/layers/digest"
)

// TestTrimKeepsNamesWhole: where layer 0 is over its cap, files and functions
// leave it one by one; none is cut into the name of something else.
func TestTrimKeepsNamesWhole(t *testing.T) {
	t.Parallel()
	var cc layers.CurrentContext
	for i := range 8 {
		cc.ActiveEntities.Files = append(cc.ActiveEntities.Files, fmt.Sprintf("/home/somebody/src/0d1f7a52-90c4-4d6e-8f1b-5b1f0c9d7e21/project-with-a-long-name/cmd/server/internal/strategy/manual_commit_part_%d_test.go", i))
		cc.ActiveEntities.Functions = append(cc.ActiveEntities.Functions, fmt.Sprintf("TestManualCommitStrategyCondensesTheSessionWithIndex%d", i))
	}
	cc.OverallNarrative = strings.Repeat("The strategy was split into parts and each part has a test of its own. ", 40)
	c := counter(t)
	out, trimmed := digest.TrimCurrentContext(cc, c)
	if n := c.Count(digest.RenderCurrentContext(out)); n > layers.CapCurrentContext || len(trimmed) == 0 {
		t.Errorf("%d tokens, trimmed %v", n, trimmed)
	}
	for _, name := range append(out.ActiveEntities.Files, out.ActiveEntities.Functions...) {
		if !slices.Contains(cc.ActiveEntities.Files, name) && !slices.Contains(cc.ActiveEntities.Functions, name) {
			t.Errorf("%q is no name that was there", name)
		}
	}
}
