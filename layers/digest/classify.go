package digest

import (
	"strings"
)

// token files one token of a line under what it is.
func (s *scanner) token(line string, start, end int) {
	prev, prevEnd := s.prev, s.prevEnd
	adjacent := prev != "" && start == prevEnd+1 && line[prevEnd] == ' '
	raw := line[start:end]
	s.prev, s.prevEnd = raw, end
	if end-start > longestToken {
		return
	}
	s.command(line, raw, start, end, prev, adjacent)
	name := strings.TrimRight(raw, "./-+%@$~\\")
	for name != "" && (name[0] == '-' || name[0] == '+' || name[0] == '%' || (name[0] == '@' && !strings.Contains(name, "/"))) {
		name = name[1:]
	}
	if len(name) < 2 {
		return
	}
	next := byte(0)
	if end < len(line) && len(raw) == len(strings.TrimRight(raw, "./-+%@$~\\")) {
		next = line[end]
	}
	if isFile(name, next, s.code) && !callOf(line, end, next) {
		name = strings.TrimPrefix(name, "./")
		s.found(&s.files, name)
		s.pointer(line, name, end)
		return
	}
	if s.branch(name, prev, adjacent) {
		return
	}
	if strings.ContainsRune(name, '/') || strings.ContainsRune(name, '\\') {
		return
	}
	if brand(name) {
		s.found(&s.concepts, name)
		return
	}
	if issueKey(name) {
		s.found(&s.concepts, name)
		return
	}
	s.identifier(line, name, end, next, prev, adjacent)
}

// callOf tells that what looks like a file is called: "context.go(" but not
// TypeScript's "a.ts(12,5)".
func callOf(line string, end int, next byte) bool {
	return next == '(' && (end+1 >= len(line) || !isDigit(line[end+1]))
}

// pointer notes "path:12" behind a file's name.
func (s *scanner) pointer(line, name string, end int) {
	if s.pointers.full() || end >= len(line) || (line[end] != ':' && line[end] != '(') {
		return
	}
	n := end + 1
	for n < len(line) && n < end+8 && isDigit(line[n]) {
		n++
	}
	if n == end+1 {
		return
	}
	s.pointers.add(name + ":" + line[end+1:n])
}

// command notes a tool with its subcommand, such as "go test" or
// "npm run build".
func (s *scanner) command(line, raw string, start, end int, prev string, adjacent bool) {
	if s.tool != "" && start == s.toolAt+1 && line[s.toolAt] == ' ' {
		tool := s.tool
		s.tool = ""
		target := end
		for target < len(line) && (line[target] == ':' || isLetter(line[target]) || isDigit(line[target]) || line[target] == '-') {
			target++
		}
		if (s.code || strings.Contains(line[start:target], ":") || oneOf(raw, "test", "build", "lint", "dev", "start", "check")) && isLetter(raw[0]) {
			s.found(&s.concepts, tool+" "+strings.TrimRight(line[start:target], ".:-"))
			return
		}
	}
	s.tool = ""
	word := strings.TrimRight(raw, ".")
	if !adjacent || !program(prev) || !subcommand(prev, word) {
		return
	}
	if !s.code && ambiguousCommand(prev, word) {
		return
	}
	if (word == "run" || word == "-m") && word == raw {
		s.tool, s.toolAt = prev+" "+word, end
		return
	}
	s.found(&s.concepts, prev+" "+word)
}

// ambiguousCommand reads as plain English outside of code: "go get", "make all".
func ambiguousCommand(tool, word string) bool {
	switch tool {
	case "make", "just", "task":
		return word != "test" && word != "lint"
	case "go":
		return !oneOf(word, "test", "build", "vet", "mod", "generate")
	case "swift":
		return true
	}
	return false
}

// branch notes names of branches.
func (s *scanner) branch(name, prev string, adjacent bool) bool {
	if strings.HasPrefix(name, "origin/") && len(name) > 8 {
		s.found(&s.concepts, name)
		return true
	}
	if !adjacent || len(name) < 4 || len(name) > 80 {
		return false
	}
	switch strings.ToLower(prev) {
	case "branch", "-b", "-c":
		if strings.ContainsAny(name, "/-") && isLetter(name[0]) && !strings.Contains(name, "..") {
			s.found(&s.concepts, name)
			return true
		}
	}
	return false
}

// issueKey matches "ENT-98".
func issueKey(s string) bool {
	key, number, ok := strings.Cut(s, "-")
	if !ok || len(key) < 2 || len(key) > 10 || len(number) < 1 || len(number) > 6 {
		return false
	}
	for i := 0; i < len(key); i++ {
		if !isUpper(key[i]) {
			return false
		}
	}
	for i := 0; i < len(number); i++ {
		if !isDigit(number[i]) {
			return false
		}
	}
	return !oneOf(key, "UTF", "SHA", "ISO", "RFC", "HTTP", "TLS", "SSL", "AES", "RSA", "MD", "GPT", "CVE", "UTC", "GMT", "IP", "PEP", "CRC", "BM", "TOP", "FY", "US", "EU", "OPTION", "PHASE", "STEP", "TASK", "LINE", "P")
}

// identifier notes functions, methods, types and other names in code.
func (s *scanner) identifier(line, name string, end int, next byte, prev string, adjacent bool) {
	if s.functions.full() || strings.ContainsRune(name, '-') || strings.ContainsRune(name, '@') || strings.ContainsRune(name, '%') || strings.ContainsRune(name, '+') || strings.ContainsRune(name, '~') {
		return
	}
	receiver := ""
	for {
		part, rest, more := strings.Cut(name, ".")
		last := !more
		if standardReceiver(part) && receiver == "" && more {
			return
		}
		called := last && next == '('
		if s.isName(line, part, end, called, prev, adjacent && receiver == "") {
			s.found(&s.functions, part)
		}
		if last {
			return
		}
		receiver, name = part, rest
	}
}

func (s *scanner) isName(line, name string, end int, called bool, prev string, adjacent bool) bool {
	if len(name) < 3 || len(name) > 64 || isDigit(name[0]) || keyword(name) {
		return false
	}
	if compound(name) {
		return !brandOnly(name) && !looksLikeHash(name)
	}
	if !plainIdentifier(name) {
		return false
	}
	if adjacent && declares(prev) {
		if isUpper(name[0]) {
			return len(name) >= 3 && prev != "func" && hasLower(name) && (s.code || !stopWord(strings.ToLower(name)))
		}
		return called || (end < len(line) && line[end] == '<' && prev == "fn")
	}
	if !called {
		return false
	}
	if isUpper(name[0]) {
		return hasLower(name) // Open(, but not SELECT( or COUNT(
	}
	// A plain word before a parenthesis is a call in code, or when the
	// parentheses are empty; "file(s)" is not.
	return len(name) >= 4 && (s.code || strings.HasPrefix(line[end:], "()"))
}

func hasLower(s string) bool {
	for i := 0; i < len(s); i++ {
		if isLower(s[i]) {
			return true
		}
	}
	return false
}

func declares(word string) bool {
	switch word {
	case "func", "def", "class", "type", "fn", "function", "struct", "interface", "enum", "trait", "impl", "module", "protocol", "record":
		return true
	}
	return false
}

func plainIdentifier(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; !isLetter(c) && !isDigit(c) && c != '_' && c != '$' {
			return false
		}
	}
	return true
}

// compound tells whether s is an identifier of several words: camelCase,
// PascalCase, HTTPServer or snake_case.
func compound(s string) bool {
	humps, under, lower := false, false, 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case isUpper(c):
			if i > 0 && (isLower(s[i-1]) || isDigit(s[i-1]) && i > 1 && isLower(s[i-2])) {
				humps = true
			}
			if i > 1 && i+3 < len(s) && isUpper(s[i-1]) && isLower(s[i+1]) && isLower(s[i+2]) {
				humps = true
			}
		case isLower(c):
			lower++
		case isDigit(c):
		case c == '_':
			if i > 0 && i+1 < len(s) && s[i-1] != '_' && s[i+1] != '_' {
				under = true
			}
		case c == '$' && i == 0:
		default:
			return false
		}
	}
	if under {
		return len(s) >= 5 && (lower >= 2 || len(s) >= 6 && isUpper(s[0]))
	}
	return humps && lower >= 2 && len(s) >= 5
}

// looksLikeHash tells whether s is a digest, an id or other data.
func looksLikeHash(s string) bool {
	if len(s) < 7 {
		return false
	}
	digits, hex, changes := 0, true, 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if isDigit(c) {
			digits++
		} else if (c|0x20 < 'a' || c|0x20 > 'f') && c != '-' {
			hex = false
		}
		if i > 0 && kindOf(c) != kindOf(s[i-1]) {
			changes++
		}
	}
	return hex && digits > 0 || digits*2 > len(s) || len(s) >= 16 && changes*2 > len(s) && digits > 1
}

func kindOf(c byte) int {
	switch {
	case isDigit(c):
		return 0
	case isUpper(c):
		return 1
	}
	return 2
}

// isFile tells whether a token is the path of a file. next is the byte behind
// it.
func isFile(s string, next byte, code bool) bool {
	slash := strings.LastIndexAny(s, `/\`)
	base := s[slash+1:]
	if base == "" || strings.Contains(s, "...") || strings.ContainsAny(base, "%$~+") && slash < 0 {
		return false
	}
	if knownBaseName(base) {
		return slash >= 0 || base[0] == '.' || code || strings.Contains(base, "file") || base == "LICENSE"
	}
	dot := strings.LastIndexByte(base, '.')
	if dot <= 0 || dot == len(base)-1 {
		return false
	}
	stem, ext := base[:dot], strings.ToLower(base[dot+1:])
	if len(ext) > 10 || !knownExtension(ext) {
		return false
	}
	if slash >= 0 {
		return s[0] != '@' || strings.Count(s, "/") > 1
	}
	if next == '(' && weakExtension(ext) {
		return false
	}
	if notAFile(strings.ToLower(base)) || !hasLetter(stem) {
		return false
	}
	if len(stem) == 1 && len(ext) == 1 {
		return false
	}
	if weakExtension(ext) && (len(stem) < 2 || oneOf(stem, "self", "this", "err", "ctx", "req", "res", "cfg", "obj", "tx", "pp", "args", "opts", "options", "response", "request", "result", "data", "r", "w", "app", "settings.local") && (code || next == '.')) {
		return false
	}
	return true
}

func hasLetter(s string) bool {
	for i := 0; i < len(s); i++ {
		if isLetter(s[i]) || s[i] >= 0x80 {
			return true
		}
	}
	return false
}
