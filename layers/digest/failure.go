package digest

import (
	"strings"
	"unicode/utf8"
)

// failure is a line that reports an error.
type failure struct {
	message  string // without location, time stamp and log prefix
	location string // "path:line" as written, or ""
}

// failureIn recognises the error lines of compilers, linters, test runners,
// interpreters, shells and HTTP tools. It is conservative: prose that merely
// speaks of errors, and source code that handles them, are not failures.
func failureIn(line string) (failure, bool) {
	if len(line) > longestErrorLine {
		line = cutAtRune(line, longestErrorLine)
	}
	l := strings.TrimSpace(line)
	if len(l) < 6 || !mayFail(l) {
		return failure{}, false
	}
	indented := len(line) > 0 && (line[0] == ' ' || line[0] == '\t')
	l = cutLogPrefix(l)
	location, rest, column := cutLocation(l)
	if location != "" {
		switch {
		case rest == "" || hasPrefixFold(rest, "warning") || hasPrefixFold(rest, "note:") || hasPrefixFold(rest, "info"):
			return failure{}, false
		case column, indented && strings.Contains(location, "_test."), cued(rest):
			return failure{trimLead(rest), location}, true
		}
		return failure{}, false
	}
	if cued(l) || systemFailure(l) || httpFailure(l) {
		if codeLine(l) {
			return failure{}, false
		}
		return failure{message: trimLead(l)}, true
	}
	return failure{}, false
}

// mayFail is a cheap filter before the closer look.
func mayFail(l string) bool {
	for i := 0; i < len(l); i++ {
		switch l[i] {
		case 'r', 'R':
			if i > 0 && i+2 < len(l) && (l[i-1]|0x20 == 'r') && (l[i+1]|0x20 == 'o') {
				return true // error, Error, ERROR
			}
			if i+2 < len(l) && l[i+1]|0x20 == 'e' && l[i+2]|0x20 == 'f' {
				return true // refused
			}
		case 'A':
			if strings.HasPrefix(l[i:], "AIL") {
				return true
			}
		case 'a':
			if i+3 < len(l) && (l[i+1:i+3] == "il" || l[i+1:i+4] == "nic" || l[i+1:i+3] == "ta" || l[i+1:i+3] == "us") {
				return true // failed, panic, fatal, caused
			}
			if i+2 < len(l) && l[i+1:i+3] == "l:" {
				return true
			}
		case 'x':
			if strings.HasPrefix(l[i:], "xception") || strings.HasPrefix(l[i:], "xit ") || strings.HasPrefix(l[i:], "xited ") {
				return true
			}
		case 'u':
			if strings.HasPrefix(l[i:], "uch file") {
				return true
			}
		case 'd':
			if strings.HasPrefix(l[i:], "denied") {
				return true
			}
		case 'N':
			if strings.HasPrefix(l[i:], "NFLICT") || strings.HasPrefix(l[i:], "NREFUSED") || strings.HasPrefix(l[i:], "NOENT") {
				return true
			}
		case 'n':
			if strings.HasPrefix(l[i:], "not found") || strings.HasPrefix(l[i:], "not ok ") || strings.HasPrefix(l[i:], "ndefined") || strings.HasPrefix(l[i:], "nhandled") || strings.HasPrefix(l[i:], "no space left") {
				return true
			}
		case 't':
			if strings.HasPrefix(l[i:], "timed out") || strings.HasPrefix(l[i:], "tatus") {
				return true
			}
		case 'T':
			if strings.HasPrefix(l[i:], "TP/") || strings.HasPrefix(l[i:], "TS") {
				return true
			}
		case ':':
			if i > 0 && i+1 < len(l) && isDigit(l[i+1]) {
				return true // path:line
			}
		case 0xe2, 0xc3: // ✕ ✗ ● and ×
			return true
		case '4', '5':
			if i+4 < len(l) && isDigit(l[i+1]) && isDigit(l[i+2]) && l[i+3] == ' ' {
				return true
			}
		}
	}
	return false
}

// cutLogPrefix takes off what loggers and runners put before a message.
func cutLogPrefix(l string) string {
	for range 4 {
		before := l
		if l[0] == '[' {
			if n := strings.IndexByte(l, ']'); n > 0 && n < 40 {
				l = strings.TrimLeft(l[n+1:], " :")
			}
		}
		if l == "" {
			return before
		}
		if isDigit(l[0]) { // a time stamp
			n := 0
			for n < len(l) && (isDigit(l[n]) || strings.IndexByte("-:.TZ/+,", l[n]) >= 0) {
				n++
			}
			if n >= 8 && n < len(l) && l[n] == ' ' {
				l = strings.TrimLeft(l[n:], " ")
			}
		}
		for _, p := range [...]string{"npm ERR! ", "npm error ", "E   ", "> ", "| "} {
			if rest, ok := strings.CutPrefix(l, p); ok {
				l = strings.TrimLeft(rest, " ")
				break
			}
		}
		if l == before || l == "" {
			break
		}
	}
	return l
}

// cutLocation splits "path:12:5: message", "path:12: message" and
// "path(12,5): message".
func cutLocation(l string) (location, rest string, column bool) {
	end := 0
	for end < len(l) && l[end] != ':' && l[end] != '(' && l[end] != ' ' && l[end] != '"' {
		end++
	}
	if end+1 < len(l) && end == 1 && l[end] == ':' && l[end+1] == '\\' { // a drive letter
		for end++; end < len(l) && l[end] != ':' && l[end] != '(' && l[end] != ' '; {
			end++
		}
	}
	if end == 0 || end+2 >= len(l) || !isDigit(l[end+1]) || !isFile(l[:end], 0, false) {
		return "", l, false
	}
	i := end + 1
	for i < len(l) && isDigit(l[i]) {
		i++
	}
	location = l[:end] + ":" + l[end+1:i]
	if l[end] == '(' {
		if i < len(l) && l[i] == ',' {
			for i++; i < len(l) && isDigit(l[i]); i++ {
			}
		}
		if i+1 >= len(l) || l[i] != ')' || l[i+1] != ':' {
			return "", l, false
		}
		return location, strings.TrimSpace(l[i+2:]), true
	}
	if i < len(l) && l[i] == ':' && i+1 < len(l) && isDigit(l[i+1]) {
		column = true
		for i++; i < len(l) && isDigit(l[i]); i++ {
		}
	}
	// A search tool that prints columns puts no space behind the colon.
	if i+2 >= len(l) || l[i] != ':' || l[i+1] != ' ' || l[i+2] == ' ' {
		return "", l, false
	}
	return location, strings.TrimSpace(l[i+2:]), column
}

// cued tells whether a message begins as errors do.
func cued(l string) bool {
	switch {
	case hasPrefixFold(l, "error:"), hasPrefixFold(l, "error["), hasPrefixFold(l, "error ts"), hasPrefixFold(l, "fatal:"),
		hasPrefixFold(l, "fatal error:"), hasPrefixFold(l, "panic:"), hasPrefixFold(l, "caused by:"), hasPrefixFold(l, "undefined:"),
		hasPrefixFold(l, "conflict ("), hasPrefixFold(l, "exception in thread"), strings.HasPrefix(l, "Uncaught "), strings.HasPrefix(l, "Unhandled "):
		return len(l) > 12
	case strings.HasPrefix(l, "ERROR ") && !strings.HasPrefix(l, "ERROR HANDLING"), strings.HasPrefix(l, "FATAL "):
		return len(l) > 8
	case strings.HasPrefix(l, "--- FAIL: "), strings.HasPrefix(l, "FAIL\t"), strings.HasPrefix(l, "FAILED "), strings.HasPrefix(l, "not ok "),
		strings.HasPrefix(l, "✕ "), strings.HasPrefix(l, "✗ "), strings.HasPrefix(l, "× "):
		return true
	case strings.HasPrefix(l, "● "):
		return strings.Contains(l, " › ")
	case strings.HasPrefix(l, "FAIL "):
		_, after, _ := strings.Cut(l, " ")
		first, _, _ := strings.Cut(strings.TrimSpace(after), " ")
		return isFile(first, 0, true) || strings.HasPrefix(first, "Test")
	case strings.HasPrefix(l, "test ") && strings.HasSuffix(l, " FAILED"):
		return true
	case strings.HasPrefix(l, "thread '") && strings.Contains(l, "panicked at"):
		return true
	case isDigit(l[0]): // eslint: "12:5  error  message  rule"
		place, rest, ok := strings.Cut(l, "  ")
		return ok && len(place) < 12 && strings.IndexByte(place, ':') > 0 && strings.HasPrefix(strings.TrimSpace(rest), "error ")
	}
	return exceptionName(l) || exitStatus(l)
}

// exceptionName matches "ValueError: message" and
// "java.lang.NullPointerException".
func exceptionName(l string) bool {
	n := 0
	for n < len(l) && (isLetter(l[n]) || isDigit(l[n]) || l[n] == '.' || l[n] == '_' || l[n] == '$') {
		n++
	}
	name := l[:n]
	if !strings.HasSuffix(name, "Error") && !strings.HasSuffix(name, "Exception") || n < 7 || !compound(name[strings.LastIndexByte(name, '.')+1:]) {
		return false
	}
	return n == len(l) || strings.HasPrefix(l[n:], ": ")
}

// exitStatus matches a line that says no more than that something failed.
func exitStatus(l string) bool {
	if len(l) > 60 {
		return false
	}
	for _, cue := range [...]string{"exit code ", "exit status ", "Exit code ", "exited with code ", "Exit Code: ", "Exit code: "} {
		if _, after, ok := strings.Cut(l, cue); ok && after != "" && isDigit(after[0]) && after[0] != '0' {
			return true
		}
	}
	return false
}

// systemFailure matches what shells and system calls say.
func systemFailure(l string) bool {
	for _, cue := range [...]string{": command not found", ": no such file or directory", ": No such file or directory", ": permission denied", ": Permission denied", "connection refused", "Connection refused", "ECONNREFUSED", "EADDRINUSE", "ENOENT: ", "no space left on device", "No space left on device", ": not a git repository", "operation timed out", "test timed out after"} {
		if strings.Contains(l, cue) {
			return true
		}
	}
	return false
}

// httpFailure matches status lines and reports of status codes from 400 on.
func httpFailure(l string) bool {
	if len(l) > 120 {
		return false
	}
	for _, cue := range [...]string{"HTTP/1.1 ", "HTTP/2 ", "HTTP/1.0 ", "status code ", "status code: ", "Status: "} {
		if _, after, ok := strings.Cut(l, cue); ok && isFailureCode(after) {
			return true
		}
	}
	return isFailureCode(l) && len(l) > 4 && oneOf(l[4:], "Not Found", "Bad Request", "Unauthorized", "Forbidden", "Internal Server Error", "Bad Gateway", "Service Unavailable", "Gateway Timeout", "Conflict", "Too Many Requests", "Unprocessable Entity", "Method Not Allowed")
}

func isFailureCode(s string) bool {
	return len(s) >= 3 && (s[0] == '4' || s[0] == '5') && isDigit(s[1]) && isDigit(s[2]) && (len(s) == 3 || !isDigit(s[3]))
}

// codeLine tells that a line is source text about errors, not an error.
func codeLine(l string) bool {
	switch l[len(l)-1] {
	case '{', ';', '(', ',':
		return true
	}
	return strings.Contains(l, `("`) || strings.Contains(l, "('") || strings.HasPrefix(l, "//") || strings.HasPrefix(l, "#") || strings.Contains(l, " := ") || strings.Contains(l, "${")
}

// trimLead takes off the word that says that it is an error.
func trimLead(l string) string {
	for _, p := range [...]string{"error:", "Error:", "ERROR:", "ERROR ", "fatal:", "--- "} {
		if rest, ok := strings.CutPrefix(l, p); ok && strings.TrimSpace(rest) != "" {
			return strings.TrimSpace(rest)
		}
	}
	return l
}

// pattern returns the message with everything that changes from run to run
// replaced: "<n>" for numbers, "<hex>" for hashes and addresses, "<time>" for
// time stamps and durations, "<path>" for paths. At most 160 bytes.
func (f failure) pattern() string {
	return normalise(f.message)
}

func normalise(message string) string {
	var b strings.Builder
	keepCode := false // a short number behind "exit code" or "HTTP" says what went wrong
	for i := 0; i < len(message) && b.Len() < maxErrorBytes; {
		c := message[i]
		if c == '\t' || c == ' ' {
			if n := b.Len(); n > 0 && b.String()[n-1] != ' ' {
				b.WriteByte(' ')
			}
			i++
			continue
		}
		if !startsToken(c) && c < utf8.RuneSelf {
			b.WriteByte(c)
			i++
			continue
		}
		end := i
		for end < len(message) && (startsToken(message[end]) || message[end] == '\\' || message[end] == '+' || message[end] >= utf8.RuneSelf || message[end] == ':' && end > i && end+1 < len(message) && isDigit(message[end-1]) && isDigit(message[end+1])) {
			end++
		}
		word := message[i:end]
		tail := strings.TrimRight(word, ".-")
		b.WriteString(placeholder(tail, keepCode))
		b.WriteString(word[len(tail):])
		keepCode = oneOf(strings.ToLower(tail), "code", "status", "http", "http/1.1", "http/2", "signal")
		if end < len(message) && message[end] == ':' && keepCode {
			b.WriteByte(':')
			end++
		}
		i = end
	}
	return strings.TrimSpace(cutAtRune(b.String(), maxErrorBytes))
}

func placeholder(word string, keepCode bool) string {
	if word == "" {
		return ""
	}
	if strings.HasPrefix(word, "0x") && len(word) > 3 {
		return "<hex>"
	}
	digits, letters, colons := 0, 0, 0
	for i := 0; i < len(word); i++ {
		switch c := word[i]; {
		case isDigit(c):
			digits++
		case isLetter(c), c == '_', c >= utf8.RuneSelf:
			letters++
		case c == ':':
			colons++
		}
	}
	switch {
	case digits == 0 && !strings.ContainsAny(word, `/\`):
		return word
	case digits > 0 && letters == 0:
		if keepCode && digits <= 3 && digits == len(word) {
			return word
		}
		if dot := strings.IndexByte(word, '.'); colons > 0 && digits >= 4 && (dot < 0 || dot > strings.IndexByte(word, ':')) || strings.Count(word, "-") == 2 {
			return "<time>"
		}
		return "<n>"
	case duration(word):
		return "<time>"
	case digits >= 8 && strings.IndexByte(word, 'T') > 0 && strings.IndexByte(word, '-') > 0:
		return "<time>"
	case looksLikeHash(word):
		return "<hex>"
	case strings.ContainsAny(word, `/\`) && (isFile(word, 0, true) || word[0] == '/' || word[0] == '~' || word[0] == '.') && len(word) > 1:
		return "<path>"
	}
	return word
}

// duration matches "1.25s", "12ms", "0.00s".
func duration(s string) bool {
	n := 0
	for n < len(s) && (isDigit(s[n]) || s[n] == '.') {
		n++
	}
	return n > 0 && oneOf(s[n:], "s", "ms", "us", "µs", "ns", "m", "h", "sec")
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// cutAtRune returns at most n bytes of s, whole runes only.
func cutAtRune(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
