package digest

import "strings"

// maxCommandBytes bounds a command line as it is shown.
const maxCommandBytes = 80

// shell reads a shell command: what it does, and its significant part without
// change of directory, environment, redirections and filters behind it.
func (c *call) shell(script string) {
	c.kind = kindShell
	script = strings.TrimSpace(script)
	if strings.Contains(script, "*** Begin Patch") {
		c.patch(script)
		return
	}
	if c.action(script) {
		return
	}
	if target, body, ok := hereDocument(script); ok {
		c.kind, c.change, c.text = kindWrite, "modify", clip(body)
		c.addFile(target)
		c.command = oneLine(strings.SplitN(script, "\n", 2)[0])
		return
	}
	best, weight := "", -1
	var checks []string
	for _, segment := range segments(script) {
		w := segmentWeight(segment)
		if w > weight {
			best, weight = segment, w
		}
		if w >= 5 && len(checks) < 3 {
			checks = append(checks, shown(segment))
		}
		c.changesOf(segment)
	}
	c.command = shown(best)
	if len(checks) > 1 {
		c.command = cutWords(strings.Join(checks, " && "), maxCommandBytes)
	}
	if weight <= 0 {
		c.command = shown(script)
	}
	kind := kindOfCommand(best)
	if kind == kindSearch {
		if c.pattern, c.where = searchArguments(best); c.pattern == "" {
			kind = kindShell
		}
	}
	if kind == kindShell && c.change != "" && len(c.files) > 0 {
		c.kind = kindEdit
		if c.change == "delete" {
			c.kind = kindDelete
		}
		return
	}
	c.kind = kind
	words := commandWords(best)
	switch kind {
	case kindRead:
		for _, w := range words[1:] {
			if isFile(strings.Trim(w, `'"`), 0, true) {
				c.addFile(strings.Trim(w, `'"`))
			}
		}
		if len(words) > 2 && words[0] == "sed" && words[1] == "-n" {
			c.from, _, _ = strings.Cut(strings.Trim(words[2], `'"`), ",")
			c.from = strings.TrimRight(c.from, "p")
		}
	case kindList:
		if last := words[len(words)-1]; len(words) > 1 && !strings.HasPrefix(last, "-") {
			c.pattern = strings.Trim(last, `'"`)
		}
	case kindWeb:
		for _, w := range words[1:] {
			if w = strings.Trim(w, `'"`); strings.Contains(w, "://") {
				c.url = w
			}
		}
	}
}

// action reads the commands of SWE-agent's shell, which are no programs.
func (c *call) action(script string) bool {
	first, rest, _ := strings.Cut(script, "\n")
	words := strings.Fields(first)
	if len(words) == 0 {
		return false
	}
	arg := func(i int) string {
		if len(words) > i {
			return words[i]
		}
		return ""
	}
	switch words[0] {
	case "open":
		c.kind, c.from = kindRead, arg(2)
		c.addFile(arg(1))
		return true
	case "goto", "scroll_up", "scroll_down", "set_cursors":
		c.kind, c.from = kindRead, arg(1)
		return true
	case "create":
		c.kind, c.change, c.created = kindWrite, "create", true
		c.addFile(arg(1))
		return true
	case "edit":
		if !strings.Contains(rest, "end_of_edit") && arg(1) != "" && !strings.Contains(arg(1), ":") {
			return false
		}
		c.kind, c.change = kindEdit, "modify"
		c.text, _, _ = strings.Cut(clip(rest), "end_of_edit")
		return true
	case "find_file", "search_dir", "search_file":
		c.kind = kindSearch
		c.pattern, c.where = strings.Trim(arg(1), `"'`), arg(2)
		return true
	case "str_replace_editor":
		c.addFile(arg(2))
		switch arg(1) {
		case "view":
			c.kind = kindRead
		case "create":
			c.kind, c.change, c.created = kindWrite, "create", true
		default:
			c.kind, c.change = kindEdit, "modify"
		}
		return true
	}
	return false
}

// hereDocument matches "cat > file <<'EOF'".
func hereDocument(script string) (target, body string, ok bool) {
	first, rest, _ := strings.Cut(script, "\n")
	if !strings.Contains(first, "<<") || !(strings.Contains(first, "cat ") || strings.Contains(first, "tee ")) {
		return "", "", false
	}
	head := first
	if i := strings.Index(first, ">"); i >= 0 {
		head = strings.TrimLeft(first[i:], "> ")
	} else if _, after, found := strings.Cut(first, "tee "); found {
		head = strings.TrimPrefix(after, "-a ")
	}
	words := strings.Fields(head)
	if len(words) == 0 || !isFile(strings.Trim(words[0], `'"`), 0, true) {
		return "", "", false
	}
	return strings.Trim(words[0], `'"`), rest, true
}

// segments splits a script at ";", "&&", "||" and line feeds outside of quotes;
// pipes stay. Here-documents end it.
func segments(script string) []string {
	var out []string
	start, quote := 0, byte(0)
	cut := func(i int) {
		if s := strings.TrimSpace(script[start:i]); s != "" && len(out) < 32 {
			out = append(out, s)
		}
	}
	for i := 0; i < len(script); i++ {
		ch := script[i]
		switch {
		case quote != 0:
			if ch == quote {
				quote = 0
			} else if ch == '\\' && quote == '"' {
				i++
			}
		case ch == '\\':
			i++
		case ch == '\'' || ch == '"':
			quote = ch
		case ch == '<' && strings.HasPrefix(script[i:], "<<"):
			cut(i)
			return out
		case ch == ';' || ch == '\n':
			cut(i)
			start = i + 1
		case (ch == '&' || ch == '|') && i+1 < len(script) && script[i+1] == ch:
			cut(i)
			start = i + 2
			i++
		}
	}
	cut(len(script))
	return out
}

// commandWords returns the words of a segment without environment assignments
// and wrappers.
func commandWords(segment string) []string {
	segment, _, _ = cutPipe(segment)
	words := strings.Fields(cutAtRune(segment, 2000))
	for len(words) > 1 {
		w := words[0]
		switch {
		case strings.IndexByte(w, '=') > 0 && !strings.ContainsAny(w, `'"/(`), w == "sudo", w == "time", w == "nohup", w == "exec", w == "command", w == "env", w == "!", w == "(":
			words = words[1:]
		case w == "timeout" && len(words) > 2:
			words = words[2:]
		default:
			return words
		}
	}
	if len(words) == 0 {
		return []string{""}
	}
	return words
}

// cutPipe splits at the first pipe outside of quotes.
func cutPipe(s string) (head, tail string, ok bool) {
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\\':
			i++
		case c == '\'' || c == '"':
			quote = c
		case c == '|':
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// segmentWeight tells how much a segment says about what a script does.
func segmentWeight(segment string) int {
	switch commandWords(segment)[0] {
	case "cd", "export", "set", "source", ".", "pwd", "sleep", "true", "unset", "pushd", "popd", "shopt", "#", "":
		return 0
	case "echo", "printf", "mkdir", "which", "touch", "chmod", "date", "wait":
		return 1
	}
	switch kindOfCommand(segment) {
	case kindTest:
		return 6
	case kindCheck:
		return 5
	case kindGit:
		if words := commandWords(segment); len(words) > 1 && oneOf(words[1], "add", "status", "fetch", "branch") {
			return 3
		}
		return 4
	case kindShell:
		return 3
	}
	return 2
}

// changesOf notes the files that a segment deletes or edits in place.
func (c *call) changesOf(segment string) {
	words := commandWords(segment)
	change := ""
	switch words[0] {
	case "rm":
		change = "delete"
	case "git":
		switch {
		case len(words) < 2:
		case words[1] == "rm":
			change = "delete"
		case words[1] == "mv":
			change = "modify"
			c.moved(words[2:], "rename")
		case words[1] == "restore", words[1] == "checkout" && contains(words, "--"):
			for _, w := range words[2:] {
				if w = strings.Trim(w, `'"`); !strings.HasPrefix(w, "-") && isFile(w, 0, true) && !strings.ContainsAny(w, "*$") {
					c.edited("modify", w, "")
				}
			}
		}
	case "mv":
		change = "modify"
		c.moved(words[1:], "rename")
	case "cp":
		c.moved(words[1:], "create")
	case "touch":
		for _, w := range words[1:] {
			if w = strings.Trim(w, `'"`); isFile(w, 0, true) && !outside(w) && !strings.ContainsAny(w, "*$") {
				c.edited("create", w, "")
			}
		}
	case "echo", "printf", "cat":
		c.written(segment)
	case "sed":
		if contains(words, "-i") || contains(words, "-i.bak") {
			change = "modify"
		}
	}
	if change == "" {
		return
	}
	for _, w := range words[1:] {
		w = strings.Trim(w, `'"`)
		if !strings.HasPrefix(w, "-") && !strings.ContainsAny(w, "*$") && isFile(w, 0, true) && !strings.HasPrefix(w, ".git/") && !strings.Contains(w, "/.git/") {
			c.addFile(w)
			c.change = change
			if words[0] != "mv" && (words[0] != "git" || words[1] != "mv") && !outside(w) {
				c.edited(change, w, "")
			}
		}
	}
}

// shown is a segment as it stands in summaries: without pipes behind it,
// redirections and quoted bodies, on one line.
func shown(segment string) string {
	head, _, _ := cutPipe(segment)
	head, _, _ = strings.Cut(head, "$(cat <<")
	head, _, _ = strings.Cut(head, "\n")
	if strings.HasSuffix(head, `"`) && strings.Count(head, `"`)%2 == 1 {
		head = head[:len(head)-1]
	}
	words := commandWords(head)
	out := words[:0]
	for _, w := range words {
		if strings.HasPrefix(w, "2>") || strings.HasPrefix(w, ">") || w == "&" {
			continue
		}
		out = append(out, w)
	}
	s := strings.ReplaceAll(strings.Join(out, " "), "`", "'")
	if len(s) <= maxCommandBytes {
		return s
	}
	s = cutAtRune(s, maxCommandBytes)
	if i := strings.LastIndexByte(s, ' '); i > maxCommandBytes/3 {
		s = s[:i]
	}
	return s + " …"
}
