package digest_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"hexapla/layers"
	"hexapla/layers/digest"
)

var look = flag.String("look", "", "print the digests of recorded sessions whose name contains this; \"tools:\" before it prints tool results")

// TestLook prints digests for a person to read. It checks nothing.
func TestLook(t *testing.T) {
	if *look == "" {
		t.Skip("give -look")
	}
	name, tools := strings.CutPrefix(*look, "tools:")
	c := counter(t)
	for _, path := range sessions(t) {
		if !strings.Contains(filepath.Base(path), name) {
			continue
		}
		fmt.Println("=====", filepath.Base(path))
		var trios []digest.Trio
		for _, raw := range recorded(t, path) {
			conv := compressed(raw, c)
			if tools {
				for _, turn := range conv.Turns {
					for _, r := range turn.Results {
						fmt.Printf("[%d] %s\n", c.Count(r.Compressed.Summary), r.Compressed.Summary)
						if len(r.Compressed.ErrorPatterns) > 0 {
							fmt.Println("      errors:", strings.Join(r.Compressed.ErrorPatterns, " | "))
						}
						fmt.Printf("      names: %.200s\n      files: %.200s\n      places: %.200s\n", strings.Join(r.Compressed.Entities, " "), strings.Join(r.Compressed.KeyFiles, " "), strings.Join(r.Compressed.Pointers, " "))
					}
				}
				continue
			}
			for _, turn := range conv.Turns {
				if turn.Role == layers.RoleUser && turn.Text != "" {
					fmt.Printf("\nUSER %.160q\n", turn.Text)
					break
				}
			}
			x := digest.Exchange{Conversation: conv, Tokens: 1000}
			h, s := digest.Header(x, c), digest.Summary(x, c)
			fmt.Printf("[%d] %s[%d] %s", c.Count(digest.RenderHeader(h)), digest.RenderHeader(h), c.Count(digest.RenderSummary(s, h.ID)), digest.RenderSummary(s, h.ID))
			fmt.Println("   key:", strings.Join(h.KeyEntities, " | "))
			if len(trios) > 0 && len(trios)%6 == 0 {
				cc := digest.CurrentContext(digest.Story{Trios: trios, Ongoing: &x}, c)
				fmt.Printf("--- layer 0 [%d]\n%s---\n", c.Count(digest.RenderCurrentContext(cc)), digest.RenderCurrentContext(cc))
			}
			trios = append(trios, digest.Trio{Header: h, Summary: s})
		}
		cc := digest.CurrentContext(digest.Story{Trios: trios}, c)
		fmt.Printf("--- layer 0 at the end [%d]\n%s---\n", c.Count(digest.RenderCurrentContext(cc)), digest.RenderCurrentContext(cc))
	}
}
