package digest

import (
	"sort"
	"strings"

	"hexapla/layers"
)

// Trim returns text in at most max tokens and whether something was left out.
//
// It follows requirement H11: first whole sentences go, from the end; when not
// even the first sentence fits, the sentences and clauses that say most
// (decisions, results, names) are kept in their order; when none fits, the
// first words are. Cut words end in "…". Code spans and runes stay whole. A
// text that fits is returned as it is.
func Trim(text string, max int, c layers.Counter) (string, bool) {
	if max <= 0 {
		return "", strings.TrimSpace(text) != ""
	}
	if c.Count(text) <= max {
		return text, false
	}
	window := text
	if limit := max*32 + 1024; len(window) > limit {
		window = cutAtRune(window, limit)
	}
	list := sentencesToKeep(window)
	if s := bySentences(list, max, c); s != "" {
		return s, true
	}
	if s := byKeyPoints(list, max, c); s != "" {
		return s, true
	}
	return byWords(oneLine(window), max, c), true
}

// sentencesToKeep splits a text for trimming: everything that is said, headings
// too, but no code blocks unless there is nothing else.
func sentencesToKeep(text string) []string {
	var out []string
	for _, s := range sentences(text) {
		out = append(out, s.text)
	}
	return out
}

// bySentences keeps the longest prefix of whole sentences.
func bySentences(list []string, max int, c layers.Counter) string {
	if len(list) < 2 {
		return ""
	}
	// The sum over sentences is close to the count of the whole and costs less.
	n, sum := 0, 0
	for n < len(list) && sum <= max {
		sum += c.Count(list[n])
		n++
	}
	for ; n > 0; n-- {
		s := strings.TrimRight(strings.Join(list[:n], " "), " ")
		if strings.HasSuffix(list[n-1], ":") {
			continue // what it announces is gone
		}
		if c.Count(s) <= max {
			return s
		}
	}
	return ""
}

// byKeyPoints keeps the sentences and clauses of most weight that fit, in
// order.
func byKeyPoints(list []string, max int, c layers.Counter) string {
	var points []string
	for _, s := range list {
		points = append(points, clauses(s)...)
	}
	if len(points) > 64 {
		points = points[:64]
	}
	if len(points) < 2 {
		return ""
	}
	order := make([]int, len(points))
	for i := range order {
		order[i] = i
	}
	weight := make([]int, len(points))
	for i, p := range points {
		weight[i] = weightOf(p)*100 - i // earlier is better among equals
	}
	sort.SliceStable(order, func(a, b int) bool { return weight[order[a]] > weight[order[b]] })
	taken := make([]bool, len(points))
	best := ""
	for _, i := range order {
		taken[i] = true
		s := joinPoints(points, taken)
		if c.Count(s) > max {
			taken[i] = false
			continue
		}
		best = s
	}
	if len(strings.Fields(best)) < 2 {
		return "" // a word alone is no point; the words stage says more
	}
	return best
}

// joinPoints joins the taken points; a gap inside a sentence becomes " …".
func joinPoints(points []string, taken []bool) string {
	var b strings.Builder
	for i, p := range points {
		if !taken[i] {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(p)
	}
	return strings.TrimRight(b.String(), " ,;:–—-(")
}

// clauses splits a sentence at commas, semicolons, colons and dashes outside of
// code spans and parentheses, if the parts are long enough to stand alone.
func clauses(s string) []string {
	var out []string
	start, depth, code := 0, 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '`':
			code = !code
		case code:
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth <= 0 && (c == ',' || c == ';' || c == ':') && i+1 < len(s) && s[i+1] == ' ',
			depth <= 0 && c == '-' && i > 0 && s[i-1] == ' ' && i+1 < len(s) && s[i+1] == ' ':
			if strings.Count(s[start:i], " ") >= 2 {
				out = append(out, strings.TrimSpace(s[start:i+1]))
				start = i + 1
			}
		}
	}
	if rest := strings.TrimSpace(s[start:]); rest != "" {
		out = append(out, rest)
	}
	return out
}

// weightOf tells how much a sentence says: decisions and results first, then
// names in it.
func weightOf(s string) int {
	w := 2 * decisionCue(s)
	if resultCue(s) {
		w += 2
	}
	w += min(strings.Count(s, "`")/2, 3)
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '.' && isLetter(s[i+1]) || s[i] == '_' || s[i] == '/' && isLetter(s[i+1]) {
			w++
			break
		}
	}
	if strings.HasSuffix(s, ":") {
		w -= 2
	}
	return w
}

// byWords keeps the longest prefix of whole words, without half a code span or
// a loose end, and marks the cut.
func byWords(s string, max int, c layers.Counter) string {
	ends := wordEnds(s)
	const mark = "…"
	fit := func(n int) string {
		if n == len(ends) {
			return s
		}
		head := looseEnd(s[:ends[n-1]])
		if head == "" {
			return ""
		}
		return head + mark
	}
	// A cut falls within a few bytes per token; look there first.
	near := sort.SearchInts(ends, max*6+16)
	if near < len(ends) && c.Count(s[:ends[near]]) < max {
		near = len(ends)
	}
	n := sort.Search(near, func(n int) bool { return c.Count(s[:ends[n]]) >= max })
	for n = min(n+1, len(ends)); n > 0; n-- {
		if t := fit(n); t != "" && c.Count(t) <= max {
			return t
		}
	}
	// Not even one word fits: whole runes of it, then, unless the cut would
	// run through a code span.
	runes := []rune(cutAtRune(strings.TrimLeft(s, "`"), max*8+16))
	for k := len(runes); k > 0; k-- {
		if runes[k-1] == '`' {
			continue
		}
		if t := string(runes[:k]); strings.IndexByte(t, '`') < 0 && c.Count(t) <= max {
			return strings.TrimSpace(t)
		}
	}
	return ""
}

// wordEnds returns the offsets behind the words of s that lie outside of code
// spans.
func wordEnds(s string) []int {
	var ends []int
	code := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '`':
			if !code && strings.IndexByte(s[i+1:], '`') < 0 {
				continue // a lone backtick opens nothing
			}
			code = !code
		case s[i] == ' ' && !code && i > 0:
			ends = append(ends, i)
		}
	}
	return append(ends, len(s))
}

// looseEnd takes off a beginning that leads nowhere: articles, conjunctions,
// an opened parenthesis, punctuation.
func looseEnd(s string) string {
	for {
		t := strings.TrimRight(s, " ,;:-–—([{\"'“‘/&=+→…")
		if i := strings.LastIndexByte(t, '('); i > 0 && strings.IndexByte(t[i:], ')') < 0 && len(t)-i < 24 {
			t = t[:i]
		} else if i := strings.LastIndexByte(t, '"'); i > 0 && strings.Count(t, `"`)%2 == 1 && len(t)-i < 40 {
			t = t[:i]
		} else if i := strings.LastIndexByte(t, ' '); i > 0 && danglingWord(strings.ToLower(t[i+1:])) {
			t = t[:i]
		}
		if t == s {
			return s
		}
		s = t
	}
}

func danglingWord(w string) bool {
	return oneOf(w, "a", "an", "the", "and", "or", "but", "of", "to", "in", "on", "at", "by", "for", "from", "with", "as", "is", "are", "was", "were", "that", "which", "when", "if", "so", "because", "than", "into", "where", "not", "be", "it", "its", "this", "we", "i", "how", "e.g.", "i.e.", "via", "using", "should", "would", "will", "can", "has", "have", "also", "&", "our", "my", "your", "their", "does", "do", "like", "between", "instead")
}
