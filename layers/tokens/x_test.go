package tokens_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"hexapla/internal/shareddata"
	"hexapla/layers/tokens"
)

func TestX(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(shareddata.Dir(t), "claude-code", "*.jsonl"))
	f2, _ := filepath.Glob(filepath.Join(shareddata.Dir(t), "claude-code-bulk/sessions", "*.gz"))
	files = append(files, f2...)
	e := encoding(t, tokens.O200k)
	type pt struct{ r float64; d, n int }
	by := map[string][]pt{}
	reasons := map[string]int{}
	for _, f := range files {
		fh, _ := os.Open(f)
		var rd io.Reader = fh
		if strings.HasSuffix(f, "gz") { rd, _ = gzip.NewReader(fh) }
		sc := bufio.NewScanner(rd)
		sc.Buffer(nil, 64<<20)
		lastID, lastIn, pend := "", 0, 0
		bad := ""
		think := false
		for sc.Scan() {
			var l struct {
				Type        string
				IsSidechain bool
				Message     struct {
					ID, Model string
					Content   json.RawMessage
					Usage     *struct {
						Input_tokens, Cache_creation_input_tokens, Cache_read_input_tokens, Output_tokens int
					}
				}
			}
			if json.Unmarshal(sc.Bytes(), &l) != nil || l.IsSidechain { continue }
			if l.Type != "user" && l.Type != "assistant" { continue }
			if l.Type == "assistant" && l.Message.Usage != nil && l.Message.ID != lastID {
				u := l.Message.Usage
				in := u.Input_tokens + u.Cache_creation_input_tokens + u.Cache_read_input_tokens
				if lastIn > 0 && pend > 1000 {
					if bad != "" { reasons[bad]++ } else if in <= lastIn { reasons["shrunk"]++ } else {
						k := "plain"; if think { k = "think" }
						by[k] = append(by[k], pt{float64(in-lastIn) / float64(pend), in - lastIn, pend})
					}
				}
				lastID, lastIn, pend, bad, think = l.Message.ID, in, 0, "", false
			}
			var str string
			if json.Unmarshal(l.Message.Content, &str) == nil { pend += e.Count(str); continue }
			var bl []struct {
				Type, Text, Thinking, Name string
				Input                json.RawMessage
				Content              json.RawMessage
			}
			json.Unmarshal(l.Message.Content, &bl)
			for _, b := range bl {
				switch b.Type {
				case "text": pend += e.Count(b.Text)
				case "thinking": think = true; pend += e.Count(b.Thinking)
				case "tool_use": pend += e.Count(b.Name) + e.Count(string(b.Input))
				case "tool_result":
					var s string
					var cs []struct{ Type, Text string }
					if json.Unmarshal(b.Content, &s) == nil { pend += e.Count(s) } else if json.Unmarshal(b.Content, &cs) == nil {
						for _, c := range cs { if c.Type != "text" { bad = "image" }; pend += e.Count(c.Text) }
					}
				default:
					bad = b.Type
				}
			}
		}
		fh.Close()
	}
	fmt.Println(reasons)
	for m, p := range by {
		sort.Slice(p, func(i, j int) bool { return p[i].r < p[j].r })
		sd, sn := 0, 0
		for _, x := range p[len(p)/10 : len(p)*9/10+1] { sd += x.d; sn += x.n }
		q := func(f float64) float64 { return p[int(f*float64(len(p)-1))].r }
		fmt.Printf("%s n=%d p10 %.3f p25 %.3f p50 %.3f p75 %.3f p90 %.3f trimmed-mean %.3f\n", m, len(p), q(.1), q(.25), q(.5), q(.75), q(.9), float64(sd)/float64(sn))
	}
}
