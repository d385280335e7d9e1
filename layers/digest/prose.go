package digest

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// oneLine folds all white space into single spaces and drops other control
// characters, so that a field can never start a line of a pack.
func oneLine(s string) string {
	clean := true
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < ' ' || c == 0x7f || c >= utf8.RuneSelf || c == ' ' && (i == 0 || i == len(s)-1 || s[i+1] == ' ') {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	space := false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r) || r == '\u2028' || r == '\u2029' || r == '\u0085' || r == '\ufeff':
			space = b.Len() > 0
		case r < ' ' || r == 0x7f || r == utf8.RuneError || r >= 0x80 && r < 0xa0:
		default:
			if space {
				b.WriteByte(' ')
				space = false
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// wrapper is a tag that clients put around what the user did not write.
type wrapper struct {
	tag  string
	keep bool // keep what is inside
}

// wrapperOf tells how to treat a tag; ok is false for tags that users write.
func wrapperOf(tag string) (w wrapper, ok bool) {
	switch tag {
	case "system-reminder", "environment_details", "environment_context", "user_instructions", "local-command-stdout", "local-command-stderr", "local-command-caveat",
		"command-message", "bash-stdout", "bash-stderr", "INSTRUCTIONS", "file_content", "file_contents", "attached_files", "additional_data", "system_reminder", "user_info", "project_layout",
		"ide_opened_file", "ide_selection", "ide_diagnostics", "post-tool-use-hook", "session-start-hook", "user-prompt-submit-hook", "persisted-output", "tool_use_error", "environment", "file", "document", "documents", "open_and_recently_viewed_files", "git_status", "rules", "task-notification", "context":
		return wrapper{tag, false}, true
	case "task", "user_query", "user_message", "feedback", "answer", "command-name", "command-args", "bash-input", "question", "query", "user-prompt", "instructions", "pr_description", "issue", "uploaded_files":
		return wrapper{tag, true}, true
	}
	return wrapper{}, false
}

// maxUserText bounds what is read of one user text: what is asked stands in
// front or at the end, what is pasted lies between.
const maxUserText = 24 << 10

// spoken returns what a person said in a user turn: without wrappers of the
// client, code blocks, quotations and pasted output. When nothing is left it is
// empty.
func spoken(text string) string {
	if len(text) > maxUserText {
		tail := len(text) - maxUserText/3
		for tail < len(text) && !utf8.RuneStart(text[tail]) {
			tail++
		}
		text = cutAtRune(text, maxUserText*2/3) + "\n" + text[tail:]
	}
	text = stripTags(text)
	if summary, ok := continued(text); ok {
		text = summary
	}
	var b strings.Builder
	fenced := false
	for text != "" {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		t := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~"):
			fenced = !fenced
		case fenced, t != "" && pasted(line, t):
			b.WriteByte('\n')
		default:
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return strings.TrimSpace(b.String())
}

// continued finds the user's request in the text that a client puts in front
// after it has compacted a session.
func continued(text string) (string, bool) {
	if !strings.HasPrefix(text, "This session is being continued") {
		return "", false
	}
	for _, heading := range [...]string{"Current Work:", "Primary Request and Intent:", "Summary:"} {
		if _, after, ok := strings.Cut(text, heading); ok {
			return cutAtRune(after, 3000), true
		}
	}
	return "", false
}

// stripTags takes out wrappers.
func stripTags(text string) string {
	if strings.IndexByte(text, '<') < 0 && !strings.Contains(text, "[") {
		return text
	}
	var b strings.Builder
	for text != "" {
		i := strings.IndexAny(text, "<[")
		if i < 0 {
			break
		}
		b.WriteString(text[:i])
		text = text[i:]
		if text[0] == '[' {
			n := bracketNote(text)
			if n == 0 {
				b.WriteByte('[')
				n = 1
			}
			text = text[n:]
			continue
		}
		end := strings.IndexByte(text, '>')
		if end < 2 || end > 60 {
			b.WriteByte('<')
			text = text[1:]
			continue
		}
		tag := strings.TrimPrefix(text[1:end], "/")
		tag, _, _ = strings.Cut(tag, " ")
		w, ok := wrapperOf(tag)
		if !ok {
			b.WriteByte('<')
			text = text[1:]
			continue
		}
		closing := "</" + tag + ">"
		if text[1] == '/' {
			text = text[end+1:]
			b.WriteByte(' ')
			continue
		}
		n := strings.Index(text, closing)
		switch {
		case w.keep:
			text = text[end+1:]
		case n < 0 && (tag == "file" || tag == "context" || tag == "rules" || tag == "environment" || tag == "document"):
			b.WriteByte('<')
			text = text[1:]
			continue
		case n < 0:
			text = ""
		default:
			text = text[n+len(closing):]
		}
		b.WriteByte('\n')
	}
	b.WriteString(text)
	return strings.TrimSpace(b.String())
}

// bracketNote measures a note of the client such as "[Image #1]".
func bracketNote(text string) int {
	for _, p := range [...]string{"[Request interrupted by user", "[Image", "[Pasted text", "[Image: source"} {
		if strings.HasPrefix(text, p) {
			if n := strings.IndexByte(text, ']'); n > 0 && n < 200 {
				return n + 1
			}
		}
	}
	return 0
}

// pasted tells whether a line of a user text is output or code, not speech.
func pasted(line, t string) bool {
	switch {
	case strings.HasPrefix(t, "> ") && len(t) > 2, strings.HasPrefix(line, "    ") && strings.ContainsAny(t, "{}();="), strings.HasPrefix(line, "\t") && strings.ContainsAny(t, "{}();="),
		strings.HasPrefix(t, "❯ "), strings.HasPrefix(t, "$ "), strings.HasPrefix(t, "⏺"), strings.HasPrefix(t, "⎿"), strings.HasPrefix(t, "│"), strings.HasPrefix(t, "├"), strings.HasPrefix(t, "└"), strings.HasPrefix(t, "| "), strings.HasPrefix(t, "✓ "), strings.HasPrefix(t, "✔ "),
		strings.HasPrefix(t, "@@ "), strings.HasPrefix(t, "diff --git"), strings.HasPrefix(t, "=== RUN"), strings.HasPrefix(t, "--- "), strings.HasPrefix(t, "+++ "):
		return true
	case (line[0] == '+' || line[0] == '-') && len(line) > 1 && (line[1] == '\t' || strings.HasPrefix(line[1:], "  ")):
		return true
	case strings.HasSuffix(t, "{") || strings.HasSuffix(t, ";") || t == "}" || t == ")":
		return true
	case len(t) > 2000 && strings.Count(t, " ")*12 < len(t):
		return true
	}
	if _, ok := cutLineNumber(t); ok {
		return true
	}
	if location, _, _ := cutLocation(t); location != "" {
		return true
	}
	return symbolsOnly(t)
}

func symbolsOnly(t string) bool {
	letters := 0
	for _, r := range t {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	return letters*4 < utf8.RuneCountInString(t) && letters < 12 || letters == 0
}

// sentence is one sentence, list item or heading of a text.
type sentence struct {
	text    string
	heading bool
	item    bool // of a list
	lead    bool // ends in a colon: what follows belongs to it
	code    bool // was in or next to a code block, or a table row
	section int  // counts the headings before it
}

// maxSentences bounds the work on one text.
const maxSentences = 400

// sentences splits Markdown prose. Code blocks and tables are left out.
func sentences(text string) []sentence {
	var out []sentence
	fenced, section := false, 0
	var para strings.Builder
	flush := func() {
		if para.Len() > 0 {
			out = appendSentences(out, para.String(), false, section)
			para.Reset()
		}
	}
	for text != "" && len(out) < maxSentences {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		t := strings.TrimSpace(line)
		if strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~") {
			flush()
			fenced = !fenced
			continue
		}
		if fenced {
			continue
		}
		switch {
		case t == "" || strings.HasPrefix(t, "|") || strings.Trim(t, "-=_*─━═ ") == "":
			flush()
		case t[0] == '#':
			flush()
			section++
			if h, _ := listItem(plain(strings.TrimSpace(strings.TrimLeft(t, "#")))); h != "" {
				out = append(out, sentence{text: h, heading: true, section: section})
			}
		default:
			if body, ok := listItem(t); ok {
				flush()
				out = appendSentences(out, body, true, section)
				continue
			}
			if boldHeading(t) && (!strings.HasSuffix(t, "?**") || strings.TrimSpace(text) != "") {
				flush()
				section++
				h, _ := listItem(strings.TrimSuffix(plain(t), ":"))
				out = append(out, sentence{text: h, heading: true, section: section})
				continue
			}
			if para.Len() > 0 {
				para.WriteByte(' ')
			}
			para.WriteString(t)
		}
	}
	flush()
	return out
}

// boldHeading tells whether a line is a heading set in bold.
func boldHeading(t string) bool {
	t = strings.TrimSuffix(t, ":")
	return len(t) > 4 && strings.HasPrefix(t, "**") && strings.HasSuffix(strings.TrimSuffix(t, ":"), "**") && strings.Count(t, "**") == 2 && len(t) < 60
}

// listItem strips the bullet or number of a list item.
func listItem(t string) (string, bool) {
	for _, p := range [...]string{"- [ ] ", "- [x] ", "- [X] ", "- ", "* ", "• ", "+ "} {
		if rest, ok := strings.CutPrefix(t, p); ok {
			return strings.TrimSpace(rest), true
		}
	}
	n := 0
	for n < len(t) && n < 3 && isDigit(t[n]) {
		n++
	}
	if n > 0 && n+1 < len(t) && (t[n] == '.' || t[n] == ')') && t[n+1] == ' ' {
		return strings.TrimSpace(t[n+2:]), true
	}
	return t, false
}

// appendSentences splits one paragraph.
func appendSentences(out []sentence, para string, item bool, section int) []sentence {
	para, _ = listItem(plain(para))
	start, code := 0, false
	add := func(end int) {
		s := strings.TrimSpace(para[start:end])
		start = end
		if s == "" || strings.Trim(s, ".!?…") == "" || len(out) >= maxSentences {
			return
		}
		out = append(out, sentence{text: s, item: item, lead: strings.HasSuffix(s, ":"), section: section})
	}
	for i := 0; i < len(para); i++ {
		c := para[i]
		switch {
		case c == '`':
			code = !code && strings.IndexByte(para[i+1:], '`') >= 0
		case code:
		case c == '.' || c == '!' || c == '?':
			end := i + 1
			for end < len(para) && strings.IndexByte(`.!?)"'`, para[end]) >= 0 {
				end++
			}
			if end < len(para) && para[end] != ' ' {
				continue
			}
			if c == '.' && end == i+1 && abbreviation(para[start:i]) {
				continue
			}
			add(end)
			i = end
		case strings.HasPrefix(para[i:], "。"), strings.HasPrefix(para[i:], "！"), strings.HasPrefix(para[i:], "？"):
			add(i + 3)
			i += 2
		}
	}
	add(len(para))
	return out
}

// abbreviation tells whether the full stop behind s ends a word, not a
// sentence.
func abbreviation(s string) bool {
	word := s[strings.LastIndexByte(s, ' ')+1:]
	word = strings.ToLower(strings.Trim(word, "(["))
	switch word {
	case "e.g", "i.e", "etc", "vs", "cf", "approx", "incl", "resp", "mr", "mrs", "dr", "no", "fig", "eg", "ie", "esp", "st":
		return word != "etc" && word != "no" || len(s) == len(word)
	}
	allDigits := word != ""
	for i := 0; i < len(word); i++ {
		if !isDigit(word[i]) {
			allDigits = false
		}
	}
	return allDigits && len(s) == len(word)
}

// emphasis tells whether the asterisk at i opens or closes emphasis; others are
// part of patterns such as "*.go".
func emphasis(s string, i int) bool {
	opens := (i == 0 || s[i-1] == ' ') && i+1 < len(s) && (isLetter(s[i+1]) || s[i+1] == '`') && strings.IndexByte(s[i+1:], '*') > 0
	closes := i > 0 && (isLetter(s[i-1]) || s[i-1] == '`' || s[i-1] == '.') && (i+1 == len(s) || strings.IndexByte(" .,;:)", s[i+1]) >= 0) && strings.LastIndexByte(s[:i], '*') >= 0
	return opens || closes
}

// plain takes Markdown emphasis and links out of a paragraph; code spans stay.
func plain(s string) string {
	if strings.IndexAny(s, "*_[]") < 0 {
		return oneLine(s)
	}
	var b strings.Builder
	code := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '`':
			code = !code
			b.WriteByte(c)
		case code:
			b.WriteByte(c)
		case c == '*' && i+1 < len(s) && s[i+1] == '*':
			i++
		case c == '*' && emphasis(s, i):
		case c == ']' && i+1 < len(s) && s[i+1] == '(':
			end := strings.IndexByte(s[i:], ')')
			open := strings.LastIndexByte(b.String(), '[')
			if end < 0 || open < 0 {
				b.WriteByte(c)
				continue
			}
			text := b.String()
			b.Reset()
			b.WriteString(text[:open] + text[open+1:])
			i += end
		default:
			b.WriteByte(c)
		}
	}
	return oneLine(b.String())
}
